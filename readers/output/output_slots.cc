// SPDX-License-Identifier: Apache-2.0
#include "readers/output/output_slots.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <type_traits>

#include "readers/fields/fields.h"
#include "readers/fields/guessed_type.h"
#include "readers/support/utf8.h"

namespace millhopper {
namespace {

// Where the masks begin: the last slots, if they are those of slots before them, in their order.
// Otherwise readers would give them back in another order than they had.
size_t FirstMask(const std::vector<std::string>& names, const std::vector<SlotSpec>& specs,
                 std::vector<std::optional<size_t>>* masks) {
  size_t first = names.size();
  size_t before = names.size();  // the slot of the mask after this one
  while (first > 0) {
    const std::string& name = names[first - 1];
    const SlotSpec& spec = specs[first - 1];
    if (spec.dtype != DataType::kBool || !(spec.dims == Dims{1}) || spec.lod_level != 0 ||
        name.size() <= kMaskEnd.size() || name.substr(name.size() - kMaskEnd.size()) != kMaskEnd) {
      break;
    }
    const auto found =
        std::find(names.begin(), names.end(), name.substr(0, name.size() - kMaskEnd.size()));
    const auto slot = static_cast<size_t>(found - names.begin());
    if (slot >= before || slot >= first - 1) break;
    (*masks)[slot] = --first;
    before = slot;
  }
  // A mask of a mask is none.
  for (size_t slot = first; slot < names.size(); ++slot) {
    if ((*masks)[slot]) masks->assign(names.size(), std::nullopt);
  }
  const bool some =
      std::any_of(masks->begin(), masks->end(), [](const auto& mask) { return mask; });
  return some ? first : names.size();
}

}  // namespace

bool OutputSlot::is_scalar() const {
  const std::vector<int64_t> lengths = inner();
  return spec.lod_level == 0 &&
         std::all_of(lengths.begin(), lengths.end(), [](int64_t length) { return length == 1; });
}

std::vector<OutputSlot> OutputSlotsOf(const NamedSlots& slots, OutputNulls nulls) {
  const size_t count = slots.slots.size();
  Require(count > 0, "elements without slots cannot be written");
  Require(slots.names.size() == count, slots.names.size(), " names for ", count, " slots");
  std::set<std::string> seen;
  for (const std::string& name : slots.names) {
    Require(!name.empty(), "a slot without a name cannot be written");
    Require(seen.insert(name).second, "two slots are called '", Escaped(name), "'");
  }
  std::vector<std::optional<size_t>> masks(count);
  size_t end = count;
  if (nulls == OutputNulls::kAsNulls) end = FirstMask(slots.names, slots.slots, &masks);
  std::vector<OutputSlot> written;
  for (size_t i = 0; i < end; ++i) {
    written.push_back({slots.names[i], slots.slots[i], i, masks[i]});
  }
  return written;
}

void RefuseSlot(const char* format, const OutputSlot& slot, const std::string& why) {
  Throw(ErrorCode::kInvalidArgument, format, " cannot hold slot '", Escaped(slot.name), "', ",
        ToString(slot.spec), ": ", why);
}

void RefuseBatches(const char* format, const OutputSlot& slot) {
  const Dims& dims = slot.spec.dims;
  const std::vector<int64_t> inner = slot.inner();
  if (slot.spec.lod_level == 0 && dims[0] != 1) {
    RefuseSlot(format, slot,
               dims[0] < 0 ? "it has any number of rows, and no level of detail"
                           : "an element is a batch; unbatch makes records of it, and recordio "
                             "holds batches");
  }
  if (std::any_of(inner.begin(), inner.end(), [](int64_t dim) { return dim < 0; })) {
    RefuseSlot(format, slot, "an axis after the first has any length; recordio holds it");
  }
  if (std::any_of(inner.begin(), inner.end(), [](int64_t dim) { return dim == 0; })) {
    RefuseSlot(format, slot, "an axis of length 0 leaves no values; recordio holds it");
  }
}

void CheckRecord(const OutputSlot& slot, const std::vector<LoDTensor>& element) {
  const LoDTensor& tensor = element[slot.number];
  Require(Fits(slot.spec, tensor.dtype(), tensor.dims(), tensor.lod().size()), "slot '",
          Escaped(slot.name), "': ", ToString(slot.spec), " is written, but this is ",
          Describe(tensor), " with ", tensor.lod().size(), " levels of detail");
  Require(tensor.instances() == 1, "slot '", Escaped(slot.name), "': an element of ",
          tensor.instances(), " records; unbatch makes single ones of it");
}

std::string FieldTypeOf(const OutputSlot& slot) {
  int levels = slot.spec.lod_level;
  std::string type = ToString(slot.spec.dtype);
  if (slot.text_depth() > 0) {
    type = slot.spec.text ? "str" : "bytes";
    if (--levels == 0) return type;
  }
  std::string dims;
  for (int i = 0; i < levels; ++i) dims += dims.empty() ? "-1" : ", -1";
  for (const int64_t dim : slot.inner()) dims += StrCat(dims.empty() ? "" : ", ", dim);
  return StrCat(type, "[", dims, "]");
}

std::string FieldOf(const OutputSlot& slot, const std::string& source, const std::string& options) {
  std::string type = FieldTypeOf(slot);
  if (!options.empty()) type += " " + options;
  if (slot.mask) type += " missing=mask";
  const std::string entry = EntryFor(source, type);
  return source == slot.name ? entry : StrCat(NameInEntry(slot.name), " = ", entry);
}

std::string_view TextOf(const LoDTensor& tensor) {
  return {static_cast<const char*>(tensor.raw_data()), tensor.bytes()};
}

std::vector<std::string_view> TextsOf(const LoDTensor& tensor) {
  const std::string_view all = TextOf(tensor);
  const LodLevel& ends = tensor.lod().back();
  std::vector<std::string_view> texts;
  for (size_t i = 0; i + 1 < ends.size(); ++i) {
    texts.push_back(all.substr(ends[i], ends[i + 1] - ends[i]));
  }
  return texts;
}

void CheckIsText(const char* format, const OutputSlot& slot, std::string_view text) {
  const size_t wrong = FirstNoUtf8(text);
  Require(wrong == text.size(), "slot '", Escaped(slot.name), "': ", format,
          " holds text in UTF-8, and byte ", wrong, " of ", text.size(),
          " is none; recordio, tfrecord, tar, mds, parquet and arrow hold bytes");
}

void AppendNumberText(DataType type, const char* at, const NumberWords& words, std::string* out) {
  VisitNumber(type, at, [&](auto value) {
    using Value = decltype(value);
    if constexpr (std::is_same_v<Value, bool>) {
      *out += value ? "true" : "false";
    } else {
      if constexpr (std::is_floating_point_v<Value>) {
        if (std::isnan(value)) {
          *out += words.nan;
          return;
        }
        if (std::isinf(value)) {
          *out += value < 0 ? "-" : "";
          *out += words.infinity;
          return;
        }
      }
      char text[32];
      const size_t begin = out->size();
      out->append(text, std::to_chars(text, text + sizeof(text), value).ptr);
      if constexpr (std::is_floating_point_v<Value>) {
        // Whoever infers types takes 1 for an integer.
        if (out->find_first_of(".e", begin) == std::string::npos) *out += ".0";
      }
    }
  });
}

}  // namespace millhopper
