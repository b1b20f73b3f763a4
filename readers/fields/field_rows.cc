// SPDX-License-Identifier: Apache-2.0
#include "readers/fields/field_rows.h"

#include <cstring>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/support/byte_records.h"
#include "readers/support/utf8.h"

namespace millhopper {
namespace {

// A thread loads one element after another, so that it needs no new memory for each.
std::vector<char*>& PlacesOfThread() {
  thread_local std::vector<char*> places;
  return places;
}

}  // namespace

FieldRows::FieldRows(const std::vector<Field>& fields, size_t n, Rows* rows)
    : fields_(fields), rows_(rows), places_(PlacesOfThread()) {
  places_.assign(fields.size(), nullptr);
  for (size_t slot = 0; slot < fields.size(); ++slot) {
    if (!fields[slot].sequence) places_[slot] = rows->Append(slot, n);
  }
  size_t next = fields.size();  // the slots of masks come after those of the fields
  for (size_t slot = 0; slot < fields.size(); ++slot) {
    if (!fields[slot].mask) continue;
    masks_.resize(fields.size());
    char* const begin = rows->Append(next++, n);
    std::memset(begin, 1, n);
    masks_[slot] = {begin, places_[slot], 0};
  }
}

char* FieldRows::NextMask(size_t slot) const {
  if (masks_.empty() || masks_[slot].begin == nullptr) return nullptr;
  const Mask& mask = masks_[slot];
  const Field& field = fields_[slot];
  const size_t record = field.sequence ? mask.records
                                       : static_cast<size_t>(places_[slot] - mask.first) /
                                             (field.values * field.value_bytes());
  return mask.begin + record;
}

char* FieldRows::Take(size_t slot, size_t count) {
  const Field& field = fields_[slot];
  if (field.sequence) {
    if (count % field.values != 0) {
      Throw(ErrorCode::kDataLoss, "its ", count, " values are not whole steps of ", field.values);
    }
    CountSequence(slot);
    return rows_->AppendSequence(slot, count / field.values);
  }
  if (count != field.values) {
    Throw(ErrorCode::kDataLoss, "it has ", count, count == 1 ? " value, " : " values, ",
          field.values, field.values == 1 ? " is declared" : " are declared", "; ",
          ToString(field.slot.dtype), "[-1] takes any number");
  }
  char* const place = places_[slot];
  places_[slot] += count * field.value_bytes();
  return place;
}

void FieldRows::AppendBytes(size_t slot, std::string_view value) {
  if (!fields_[slot].bytes_list) {
    CountSequence(slot);
    CheckText(slot, value);
    return millhopper::AppendBytes(value, slot, rows_);
  }
  AppendBytes(slot, std::vector<std::string_view>{value});
}

void FieldRows::AppendBytes(size_t slot, const std::vector<std::string_view>& values) {
  if (!fields_[slot].bytes_list) {
    if (values.size() != 1) {
      const std::string type = fields_[slot].Declared();
      Throw(ErrorCode::kDataLoss, "it has ", values.size(), " values, ", type, " takes one; ", type,
            "[-1] takes any number");
    }
    return AppendBytes(slot, values[0]);
  }
  thread_local std::vector<std::vector<uint64_t>> levels(2);
  levels[0] = {0, values.size()};
  levels[1].assign(1, 0);
  for (const std::string_view value : values) {
    CheckText(slot, value);
    levels[1].push_back(levels[1].back() + value.size());
  }
  char* place = TakeNested(slot, levels);
  for (const std::string_view value : values) {
    if (!value.empty()) std::memcpy(place, value.data(), value.size());
    place += value.size();
  }
}

void FieldRows::CheckText(size_t slot, std::string_view value) const {
  if (!fields_[slot].slot.text) return;
  const size_t wrong = FirstNoUtf8(value);
  if (wrong == value.size()) return;
  constexpr size_t kShown = 20;
  Throw(ErrorCode::kDataLoss, "it is no text in UTF-8: byte ", wrong, " of it begins \"",
        Escaped(std::string(value.substr(wrong, kShown))),
        "\"; bytes in place of str reads it as it is");
}

char* FieldRows::TakeNested(size_t slot, const std::vector<std::vector<uint64_t>>& levels) {
  CountSequence(slot);
  LodLevelView views[kMaxLodLevels];
  for (size_t level = 0; level < levels.size(); ++level) {
    views[level] = LodLevelView(levels[level].data(), levels[level].size());
  }
  const SlotSpec& spec = fields_[slot].slot;
  Dims dims = spec.dims;
  dims[0] = static_cast<int64_t>(levels.back().back());
  return rows_->Append(slot, spec.dtype, dims, views, levels.size());
}

void FieldRows::AppendDefault(size_t slot, const char* problem) {
  const Field& field = fields_[slot];
  if (field.missing != Field::Missing::kDefault) field.ThrowMissing(problem);
  AppendDefault(slot);
}

void FieldRows::AppendDefault(size_t slot) {
  const Field& field = fields_[slot];
  if (char* const mask = NextMask(slot)) *mask = 0;
  if (field.nested()) {
    std::vector<std::vector<uint64_t>> levels(static_cast<size_t>(field.slot.lod_level), {0});
    levels[0].push_back(0);
    TakeNested(slot, levels);
    return;
  }
  const size_t count = !field.sequence || field.has_default ? field.values : 0;
  field.WriteDefault(count, Take(slot, count));
}

}  // namespace millhopper
