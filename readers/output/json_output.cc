// SPDX-License-Identifier: Apache-2.0
#include "readers/output/json_output.h"

#include <cmath>
#include <cstdio>
#include <string_view>
#include <type_traits>

#include "framework/base/error.h"
#include "readers/fields/fields.h"

namespace millhopper {
namespace {

// JSON has no word for what is no number; what is infinite is refused before.
constexpr NumberWords kJsonWords = {"null", ""};

void AppendText(std::string_view text, std::string* out) {
  *out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (c == '\n') {
      *out += "\\n";
    } else if (static_cast<unsigned char>(c) < ' ') {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\u%04x", static_cast<unsigned>(c));
      *out += escape;
    } else {
      *out += c;
    }
  }
  *out += '"';
}

// Appends a list nested as dims[axis...] say, of the values from *at on, and moves *at past them.
void AppendNested(DataType type, const Dims& dims, size_t axis, const char** at, std::string* out) {
  if (axis == dims.size()) {
    AppendNumberText(type, *at, kJsonWords, out);
    *at += SizeOf(type);
    return;
  }
  *out += '[';
  for (int64_t i = 0; i < dims[axis]; ++i) {
    if (i > 0) *out += ',';
    AppendNested(type, dims, axis + 1, at, out);
  }
  *out += ']';
}

// Throws for numbers that are not read back from JSON.
void CheckNumbers(const char* format, const OutputSlot& slot, const LoDTensor& tensor) {
  if (!IsFloat(tensor.dtype())) return;
  VisitNumbers(tensor, 0, tensor.bytes() / SizeOf(tensor.dtype()), [&](auto value) {
    if constexpr (std::is_floating_point_v<decltype(value)>) {
      Require(!std::isinf(value), "slot '", Escaped(slot.name), "': it is infinite, for which ",
              format, " has no number; csv, tsv, recordio, parquet and arrow hold it");
      Require(!slot.mask || !std::isnan(value), "slot '", Escaped(slot.name), "': NaN where '",
              Escaped(slot.name), kMaskEnd, "' says that there is a value, and ", format,
              " has one null for both; csv, tsv, recordio, parquet and arrow tell them apart");
    }
  });
}

void AppendValue(const char* format, const OutputSlot& slot, const LoDTensor& tensor,
                 std::string* out) {
  if (slot.is_text()) {
    CheckIsText(format, slot, TextOf(tensor));
    return AppendText(TextOf(tensor), out);
  }
  if (slot.text_depth() > 0) {
    char before = '[';
    for (const std::string_view text : TextsOf(tensor)) {
      CheckIsText(format, slot, text);
      *out += before;
      AppendText(text, out);
      before = ',';
    }
    *out += before == '[' ? "[]" : "]";
    return;
  }
  CheckNumbers(format, slot, tensor);
  const auto* at = static_cast<const char*>(tensor.raw_data());
  // The leading axis of what is no sequence is that of a batch.
  AppendNested(tensor.dtype(), tensor.dims(), slot.spec.lod_level == 0 ? 1 : 0, &at, out);
}

}  // namespace

void CheckJsonHolds(const char* format, const OutputSlot& slot) {
  RefuseBatches(format, slot);
  if (slot.spec.lod_level - (slot.text_depth() > 0 ? 1 : 0) > 1) {
    RefuseSlot(format, slot,
               "no field of JSON reads lists of lists of any length; recordio, parquet and arrow "
               "hold them");
  }
}

void AppendJsonObject(const char* format, const std::vector<OutputSlot>& slots,
                      const std::vector<LoDTensor>& element, std::string* out) {
  char before = '{';
  for (const OutputSlot& slot : slots) {
    CheckRecord(slot, element);
    *out += before;
    before = ',';
    AppendText(slot.name, out);
    *out += ':';
    if (slot.HasValue(element)) {
      AppendValue(format, slot, element[slot.number], out);
    } else {
      *out += "null";
    }
  }
  *out += '}';
}

std::string JsonFieldName(const std::string& name) {
  if (name.empty() || name[0] != '/') return name;
  std::string pointer = "/";
  for (const char c : name) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

}  // namespace millhopper
