// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/arrow_columns.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/memory.h"
#include "readers/fields/lacked_names.h"
#include "readers/support/stored_number.h"

namespace millhopper {
namespace {

constexpr int64_t kSliceRows = 1 << 14;  // that are made at once, while they are in the cache
constexpr uint64_t kPartBytes = uint64_t{1} << 20;  // of the columns of a part, at least
constexpr uint64_t kMostParts = 16;                 // of a chunk

template <typename T>
T TakeStored(const char** place) {
  const T number = StoredNumber<T>(*place);
  *place += sizeof(number);
  return number;
}

// Whether rows follow one another.
bool AreConsecutive(const uint32_t* rows, size_t n) {
  bool consecutive = true;
  for (size_t i = 1; i < n; ++i) consecutive &= rows[i] == rows[i - 1] + 1;
  return consecutive;
}

}  // namespace

// ---- ArrowFields ----

ArrowFields::ArrowFields(std::vector<Field> fields)
    : fields_(std::move(fields)), places_(fields_.size(), 0), mask_places_(fields_.size(), 0) {
  for (size_t i = 0; i < fields_.size(); ++i) {
    RefuseCellOptions(fields_[i]);
    if (fields_[i].mask) mask_places_[i] = fixed_bytes_++;
    if (fields_[i].sequence) {
      variable_.push_back(i);
      continue;
    }
    places_[i] = fixed_bytes_;
    fixed_bytes_ += fields_[i].values * fields_[i].value_bytes();
    Require(fixed_bytes_ <= kMaxRecordBytes, "the fields together have more than ", kMaxRecordBytes,
            " bytes");
  }
}

void ArrowFields::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  FieldRows field_rows(fields_, n, rows);
  for (size_t i = 0; i < n;) {
    const Ticket& first = tickets[i];
    const auto other = [&](const Ticket& ticket) {
      return first.bytes != nullptr ? ticket.bytes == nullptr : ticket.owner != first.owner;
    };
    const auto same = static_cast<size_t>(std::find_if(tickets + i, tickets + n, other) - &first);
    if (first.bytes != nullptr) {
      LoadRecords(&first, same, &field_rows);
    } else {
      const RecordHolder& holder = *first.object<Chunk>()->holder;
      static_cast<const ArrowTable&>(holder).Load(&first, same, &field_rows);
    }
    i += same;
  }
}

void ArrowFields::LoadRecords(const Ticket* tickets, size_t n, FieldRows* rows) const {
  for (size_t slot = 0; slot < fields_.size(); ++slot) {
    char* const mask = rows->NextMask(slot);
    for (size_t i = 0; mask != nullptr && i < n; ++i) {
      mask[i] = tickets[i].bytes[mask_places_[slot]];
    }
  }
  for (size_t slot = 0; slot < fields_.size(); ++slot) {
    if (fields_[slot].sequence) continue;
    const size_t size = fields_[slot].values * fields_[slot].value_bytes();
    const size_t offset = places_[slot];
    char* place = rows->NextPlace(slot);
    const auto copy = [&](auto bytes) {
      for (size_t i = 0; i < n; ++i, place += bytes) {
        std::memcpy(place, tickets[i].bytes + offset, bytes);
      }
    };
    if (size == 8) {
      copy(std::integral_constant<size_t, 8>());
    } else if (size == 4) {
      copy(std::integral_constant<size_t, 4>());
    } else {
      copy(size);
    }
    rows->Pass(slot, n * fields_[slot].values);
  }
  if (variable_.empty()) return;
  for (size_t i = 0; i < n; ++i) {
    const char* here = tickets[i].bytes + fixed_bytes_;
    for (const size_t slot : variable_) {
      const Field& field = fields_[slot];
      if (field.nested()) {
        LoadNested(slot, &here, rows);
        continue;
      }
      const size_t count = TakeStored<uint32_t>(&here);
      if (field.bytes) {
        rows->AppendBytes(slot, std::string_view(here, count));
        here += count;
      } else {
        const size_t bytes = count * field.value_bytes();
        char* const place = rows->Take(slot, count);
        if (bytes > 0) std::memcpy(place, here, bytes);
        here += bytes;
      }
    }
  }
}

void ArrowFields::LoadNested(size_t slot, const char** here, FieldRows* rows) const {
  const Field& field = fields_[slot];
  thread_local std::vector<std::vector<uint64_t>> levels;
  levels.resize(static_cast<size_t>(field.slot.lod_level));
  uint64_t lengths = 1;
  for (std::vector<uint64_t>& level : levels) {
    level.assign(1, 0);
    for (uint64_t i = 0; i < lengths; ++i) {
      level.push_back(level.back() + TakeStored<uint32_t>(here));
    }
    lengths = level.back();
  }
  const size_t bytes = lengths * field.values * field.value_bytes();
  char* const place = rows->TakeNested(slot, levels);
  if (bytes > 0) std::memcpy(place, *here, bytes);
  *here += bytes;
  if (!field.slot.text) return;
  for (size_t i = 1; i < levels.back().size(); ++i) {
    const uint64_t begin = levels.back()[i - 1];
    rows->CheckText(slot, {place + begin, static_cast<size_t>(levels.back()[i] - begin)});
  }
}

// ---- Columns of fields ----

FieldColumns FindColumns(const ArrowFields& fields, const ArrowSchema& schema) {
  ArrowNames names(schema);
  FieldColumns columns;
  for (const Field& field : fields.fields()) {
    const bool is_missing = field.missing != Field::Missing::kError && !names.Has(field.name);
    columns.push_back({columns.size(), is_missing ? ArrowColumn() : names.Find(field.name)});
  }
  return columns;
}

void CheckSomeFileHas(
    const ArrowFields& fields, const std::string& path, const std::vector<FileEntry>& files,
    const std::function<void(const std::string& path, ArrowSchema* out)>& read_schema) {
  // A schema with its names, which refer to it.
  struct Known {
    ArrowOwned<ArrowSchema> schema;
    ArrowNames names{*schema};
  };
  const std::vector<Field>& all = fields.fields();
  if (std::all_of(all.begin(), all.end(),
                  [](const Field& field) { return field.missing == Field::Missing::kError; })) {
    return;
  }
  const auto read = [&](const std::string& file) {
    auto known = std::make_shared<Known>();
    read_schema(file, known->schema.out());
    return known;
  };
  const auto has_column = [](const std::shared_ptr<Known>& known) {
    return [known](const Field& field) { return known->names.Has(field.name); };
  };
  const std::shared_ptr<Known> own = read(path);
  const Field* const lacked =
      FirstLackedByAll(all, has_column(own), path, files,
                       [&](const std::string& file) { return has_column(read(file)); });
  if (lacked == nullptr) return;
  try {
    own->names.Find(lacked->name);
  } catch (const Error& error) {
    throw LackedByAll(error);
  }
}

FieldColumns Narrowed(FieldColumns columns, size_t levels) {
  // The children that are gone through, by the way to their parent.
  std::map<ArrowColumn, std::set<size_t>> kept;
  for (const FieldColumn& one : columns) {
    ArrowColumn way;
    for (const size_t child : one.column) {
      if (way.size() == levels) break;
      kept[way].insert(child);
      way.push_back(child);
    }
  }
  for (FieldColumn& one : columns) {
    ArrowColumn way;
    for (size_t& child : one.column) {
      if (way.size() == levels) break;
      const std::set<size_t>& siblings = kept[way];
      way.push_back(child);
      child = static_cast<size_t>(std::distance(siblings.begin(), siblings.find(child)));
    }
  }
  return columns;
}

std::vector<FieldColumns> Divided(FieldColumns columns,
                                  const std::function<uint64_t(const FieldColumns&)>& size_of) {
  std::map<size_t, FieldColumns> outermost;
  for (FieldColumn& one : columns) {
    // What is missing has no size, and so is in a part with others.
    const size_t number = one.column.empty() ? 0 : one.column[0];
    outermost[number].push_back(std::move(one));
  }
  std::vector<uint64_t> sizes;
  sizes.reserve(outermost.size());
  for (const auto& [number, fields] : outermost) sizes.push_back(size_of(fields));
  const uint64_t all = std::accumulate(sizes.begin(), sizes.end(), uint64_t{0});
  const uint64_t enough = std::max(kPartBytes, all / kMostParts);
  std::vector<FieldColumns> parts;
  uint64_t in_part = enough;
  auto size = sizes.begin();
  for (auto& [number, fields] : outermost) {
    if (in_part >= enough) {
      parts.emplace_back();
      in_part = 0;
    }
    std::move(fields.begin(), fields.end(), std::back_inserter(parts.back()));
    in_part += *size++;
  }
  return parts;
}

// ---- ArrowRows ----

// The records of a slice that are being made.
struct ArrowRows::Slice {
  // Calls function(i, row) for the rows that are not left out. The first error ends the slice
  // before its row.
  template <typename Function>
  void ForEachRow(const ArrowView& view, const Function& function) {
    size_t i = 0;
    try {
      InColumn(view.field(), [&] {
        for (; i < rows; ++i) {
          if (left_out[i] == 0) function(i, begin + static_cast<int64_t>(i));
        }
      });
    } catch (const Error& error_of_row) {
      if (error_of_row.interrupts()) throw;
      rows = i;
      error = error_of_row;
    }
  }

  // Marks the rows in which the field is missing. What else is wrong is told when a row is written.
  void LeaveOut(const ArrowView& view) {
    if (!view.LeavesOut()) return;
    for (size_t i = 0; i < rows; ++i) {
      if (left_out[i] != 0) continue;
      try {
        left_out[i] = view.IsMissing(begin + static_cast<int64_t>(i)) ? 1 : 0;
      } catch (const Error& error_of_row) {
        if (error_of_row.interrupts()) throw;
      }
    }
  }

  // Ends the slice before the first record that is too large, alone or with those before it.
  // Returns where its last record ends if `used` bytes lie before them.
  uint64_t CheckSizes(uint64_t used, size_t pieces) {
    uint64_t end = used;
    for (size_t i = 0; i < rows; ++i) {
      if (left_out[i] != 0) continue;
      if (bytes[i] > kMaxRecordBytes || end + bytes[i] > kMaxExpandedChunkBytes ||
          pieces + i >= kMaxChunkRecords) {
        rows = i;
        error = Error(ErrorCode::kResourceLimit,
                      StrCat("a record of ", bytes[i], " bytes after ", pieces + i, " of ", end,
                             " bytes; the limits are ", kMaxRecordBytes, ", ", kMaxChunkRecords,
                             " and ", kMaxExpandedChunkBytes));
        break;
      }
      end += bytes[i];
    }
    return end;
  }

  // Writes the values of a field of known size to `place` in each record.
  void WriteFixed(const ArrowView& view, size_t place) {
    const size_t size = view.field().values * view.field().value_bytes();
    const char* from = rows == 0 ? nullptr : view.InPlace(begin);
    if (from == nullptr) {
      ForEachRow(view, [&](size_t i, int64_t row) { view.WriteFixed(row, records[i] + place); });
      return;
    }
    const auto copy = [&](auto constant) {
      for (size_t i = 0; i < rows; ++i, from += constant) {
        if (left_out[i] == 0) std::memcpy(records[i] + place, from, constant);
      }
    };
    if (size == 8) {
      copy(std::integral_constant<size_t, 8>());
    } else if (size == 4) {
      copy(std::integral_constant<size_t, 4>());
    } else {
      copy(size);
    }
  }

  int64_t begin = 0;            // the first row of the batch
  size_t rows = 0;              // until an error
  std::vector<uint64_t> bytes;  // of each record
  std::vector<char> left_out;   // whether a row is
  std::vector<char*> records;   // where each begins
  std::vector<char*> variable;  // where the next value of unknown size of each is written
  std::optional<Error> error;   // of row `rows`
};

ArrowRows::ArrowRows(const ArrowFields& fields, const ArrowSchema& schema, FieldColumns columns)
    : fields_(fields) {
  std::sort(columns.begin(), columns.end(),
            [](const FieldColumn& a, const FieldColumn& b) { return a.field < b.field; });
  for (const auto& [number, column] : columns) {
    const Field& field = fields.fields().at(number);
    InColumn(field,
             [&, slot = number, &way = column] { paths_.emplace_back(field, slot, schema, way); });
  }
}

std::vector<ArrowView> ArrowRows::ViewsOf(const ArrowArray& batch) const {
  std::vector<ArrowView> views;
  views.reserve(paths_.size());
  for (const ArrowPath& path : paths_) {
    InColumn(path.field(), [&] { views.emplace_back(path, batch); });
  }
  return views;
}

void ArrowRows::AppendRecords(const ArrowArray& batch, int64_t begin, int64_t end,
                              uint64_t first_row, Chunk* chunk) const {
  const std::vector<ArrowView> views = ViewsOf(batch);
  Slice slice;
  for (; begin < end; begin += kSliceRows) {
    const auto rows = static_cast<size_t>(std::min(kSliceRows, end - begin));
    slice.begin = begin;
    slice.rows = rows;
    slice.bytes.assign(rows, fields_.fixed_bytes_);
    slice.left_out.assign(rows, 0);
    for (const ArrowView& view : views) slice.LeaveOut(view);
    for (const ArrowView& view : views) {
      if (!view.field().sequence) continue;
      slice.ForEachRow(view, [&](size_t i, int64_t row) { slice.bytes[i] += view.Measure(row); });
    }

    const bool begins = chunk->pieces.empty();
    const uint64_t used =
        begins ? 0 : uint64_t{chunk->pieces.back().offset} + chunk->pieces.back().size;
    const uint64_t bytes = slice.CheckSizes(used, chunk->pieces.size());
    if (begins || chunk->bytes->capacity() < bytes) {
      const size_t room = begins ? bytes : std::max<uint64_t>(bytes, 2 * chunk->bytes->capacity());
      Ref<Buffer> larger = BufferPool::At(Place()).Take(room);
      if (used > 0) std::memcpy(larger->data(), chunk->bytes->data(), used);
      chunk->bytes = std::move(larger);
    }
    slice.records.resize(rows);
    slice.variable.resize(rows);
    char* place = chunk->bytes->data() + used;
    for (size_t i = 0; i < slice.rows; ++i) {
      slice.records[i] = place;
      slice.variable[i] = place + fields_.fixed_bytes_;
      if (slice.left_out[i] == 0) place += slice.bytes[i];
    }
    for (const ArrowView& view : views) {
      if (view.field().sequence) {
        slice.ForEachRow(
            view, [&](size_t i, int64_t row) { view.WriteVariable(row, &slice.variable[i]); });
      } else {
        slice.WriteFixed(view, fields_.places_[view.slot()]);
      }
      if (!view.field().mask) continue;
      slice.ForEachRow(view, [&, place = fields_.mask_places_[view.slot()]](size_t i, int64_t row) {
        slice.records[i][place] = view.HasValue(row) ? 1 : 0;
      });
    }
    for (size_t i = 0; i < slice.rows; ++i) {
      if (slice.left_out[i] != 0) continue;
      chunk->pieces.push_back({static_cast<uint32_t>(slice.records[i] - chunk->bytes->data()),
                               static_cast<uint32_t>(slice.bytes[i])});
    }
    if (slice.error) {
      throw slice.error->WithMessage(StrCat("row ",
                                            first_row + static_cast<uint64_t>(begin) + slice.rows,
                                            ": ", slice.error->message()));
    }
  }
}

// ---- ArrowPart ----

void ArrowPart::Add(std::unique_ptr<const ArrowOwned<ArrowArray>> batch) {
  const ArrowArray& array = **batch;
  if (array.length < 0) Throw(ErrorCode::kDataLoss, "a batch of ", array.length, " rows");
  std::vector<ArrowView> views = rows_->ViewsOf(array);
  const uint64_t first_row = length_;
  length_ += static_cast<uint64_t>(array.length);
  if (array.length > 0) batches_.push_back({first_row, std::move(batch), std::move(views)});
}

std::vector<char> ArrowPart::LeftOut(uint64_t begin, uint64_t end) const {
  std::vector<char> left_out;
  for (const Batch& batch : batches_) {
    const uint64_t from = std::max(begin, batch.first_row);
    const uint64_t to = std::min(end, batch.first_row + batch.rows());
    for (const ArrowView& view : batch.views) {
      if (!view.LeavesOut()) continue;
      left_out.resize(end - begin);
      for (uint64_t row = from; row < to; ++row) {
        if (left_out[row - begin] != 0) continue;
        try {
          left_out[row - begin] = view.IsMissing(static_cast<int64_t>(row - batch.first_row));
        } catch (const Error& error) {
          if (error.interrupts()) throw;  // what else is wrong is told when the row is loaded
        }
      }
    }
  }
  return left_out;
}

const ArrowPart::Batch& ArrowPart::BatchOf(uint64_t row) const {
  const auto behind =
      std::upper_bound(batches_.begin(), batches_.end(), row,
                       [](uint64_t at, const Batch& batch) { return at < batch.first_row; });
  return *(behind - 1);
}

void ArrowPart::Load(const uint32_t* rows, size_t n, bool consecutive, FieldRows* out) const {
  for (size_t i = 0; i < n;) {
    const Batch& batch = BatchOf(rows[i]);
    const auto is_other = [&](uint32_t row) { return row - batch.first_row >= batch.rows(); };
    const size_t size =
        consecutive ? std::min<uint64_t>(n - i, batch.first_row + batch.rows() - rows[i])
                    : static_cast<size_t>(std::find_if(rows + i, rows + n, is_other) - (rows + i));
    const ArrowRowList list{rows + i, size, static_cast<int64_t>(batch.first_row), consecutive};
    i += size;
    for (const ArrowView& view : batch.views) {
      InColumn(view.field(), [&] { view.Load(list, out); });
    }
  }
}

// ---- ArrowTable ----

void ArrowTable::ListRows(uint64_t begin, uint64_t end, Chunk* chunk) const {
  if (end > UINT32_MAX || end - begin > kMaxChunkRecords) {
    Throw(ErrorCode::kResourceLimit, "rows ", begin, " to ", end, "; the limits are ", UINT32_MAX,
          ", and ", kMaxChunkRecords, " at once");
  }
  std::vector<char> left_out;
  if (parts_.size() == 1) left_out = parts_[0]->LeftOut(begin, end);
  chunk->pieces.resize(end - begin);
  Piece* next = chunk->pieces.data();
  for (uint64_t row = begin; row < end; ++row) {
    if (!left_out.empty() && left_out[row - begin] != 0) continue;
    *next++ = {static_cast<uint32_t>(row), 0};
  }
  chunk->pieces.resize(static_cast<size_t>(next - chunk->pieces.data()));
}

void ArrowTable::Load(const Ticket* tickets, size_t n, FieldRows* out) const {
  thread_local std::vector<uint32_t> rows;
  rows.resize(n);
  for (size_t i = 0; i < n; ++i) rows[i] = tickets[i].index;
  try {
    const bool consecutive = AreConsecutive(rows.data(), n);
    for (const Ref<ArrowPart>& part : parts_) part->Load(rows.data(), n, consecutive, out);
  } catch (const Error& error) {
    if (error.interrupts() || n > 1) throw;  // the caller looks for the row that is wrong
    throw error.WithMessage(StrCat(place_, "row ", rows[0], ": ", error.message()));
  }
}

}  // namespace millhopper
