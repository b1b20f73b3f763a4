// SPDX-License-Identifier: Apache-2.0
#include "readers/output/json_output.h"

#include <cstdio>
#include <string_view>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr NumberWords kJsonWords = {"NaN", "Infinity"};

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
