// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow/arrow_view.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

constexpr char kIsNull[] = "it is null";
constexpr char kHasNull[] = "a value of it is null";

std::string Declared(const Field& field) {
  return field.bytes_list ? "bytes[-1]" : field.bytes ? "bytes" : ToString(field.slot);
}

template <typename T>
void PutNumber(T number, char** to) {
  std::memcpy(*to, &number, sizeof(number));
  *to += sizeof(number);
}

void PutText(std::string_view text, char** to) {
  if (!text.empty()) std::memcpy(*to, text.data(), text.size());
  *to += text.size();
}

// The number of a word in a dictionary.
int64_t WordAt(const ArrowLevel& level, int64_t place) {
  switch (level.kind) {
    case ArrowKind::kInt8:
      return ValueAt<int8_t>(level.values, place);
    case ArrowKind::kUint8:
      return ValueAt<uint8_t>(level.values, place);
    case ArrowKind::kInt16:
      return ValueAt<int16_t>(level.values, place);
    case ArrowKind::kUint16:
      return ValueAt<uint16_t>(level.values, place);
    case ArrowKind::kInt32:
      return ValueAt<int32_t>(level.values, place);
    case ArrowKind::kUint32:
      return ValueAt<uint32_t>(level.values, place);
    case ArrowKind::kUint64:  // one that is too large becomes negative, and is refused
    default:
      return ValueAt<int64_t>(level.values, place);
  }
}

// Copies the values of rows, `bytes` each, from where those of row 0 lie.
template <typename Bytes>
void Gather(const char* from, const ArrowRowList& rows, Bytes bytes, char* to) {
  for (size_t i = 0; i < rows.size; ++i, to += bytes) {
    std::memcpy(to, from + rows[i] * static_cast<int64_t>(bytes), bytes);
  }
}

void CheckSize(uint64_t bytes) {
  if (bytes <= kMaxRecordBytes) return;
  Throw(ErrorCode::kResourceLimit, "it has ", bytes, " bytes; the limit is ", kMaxRecordBytes);
}

}  // namespace

ArrowPath::ArrowPath(const Field& field, size_t slot, const ArrowSchema& schema,
                     const ArrowColumn& column)
    : field_(field), slot_(slot) {
  const ArrowSchema* here = &schema;
  for (const size_t child : column) {
    if (child >= ChildrenOf(*here)) {
      Throw(ErrorCode::kDataLoss, "it is ", ArrowTypeName(*here), " without child ", child);
    }
    steps_.push_back({ArrowTypeOf(*here), child});
    here = here->children[child];
  }
  // A column that the schema lacks is one of nulls, as many as the batch has rows.
  const ArrowType null{ArrowKind::kNull, 0, 0};
  steps_.push_back({column.empty() ? null : ArrowTypeOf(*here), 0});
  if (here->dictionary != nullptr) dictionary_ = ArrowTypeOf(*here->dictionary);
  value_ = dictionary_ ? *dictionary_ : steps_.back().type;
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (IsList(steps_[i].type.kind) || i + 1 == steps_.size()) ends_.push_back(i);
  }
  lists_ = ends_.size() - 1;
  CheckType(*here);
  write_ = WriterOf(value_, field_);
  same_ = IsSame(value_, field_);
}

void ArrowPath::CheckType(const ArrowSchema& found) const {
  const std::string name = ArrowTypeName(found);
  const std::string declared = Declared(field_);
  if (value_.kind == ArrowKind::kOther || value_.kind == ArrowKind::kStruct) {
    Throw(ErrorCode::kDataLoss, "it is ", name, ", which is not read");
  }
  const bool dictionary_of_lists = dictionary_ && IsList(dictionary_->kind);
  const bool is_text = IsText(value_.kind);
  const bool fits =
      is_text ? field_.bytes || field_.from_text() : !field_.bytes && !field_.from_text();
  if (dictionary_of_lists || (!fits && value_.kind != ArrowKind::kNull)) {
    Throw(ErrorCode::kDataLoss, "it is ", lists_ > 0 ? "a list of " : "", name, ", ", declared,
          " is declared",
          is_text ? " (decode=text reads a number from text, decode=timestamp a date or time, "
                    "hash= and vocab= number it)"
                  : "");
  }
  if (value_.kind == ArrowKind::kDecimal && field_.base != 10) {
    Throw(ErrorCode::kDataLoss, "it is ", name, ", which is of base 10");
  }
  // The leading axis of one element is that of the batch, unless it counts the steps.
  const size_t axes = field_.bytes      ? field_.bytes_list ? 1 : 0
                      : field_.sequence ? field_.slot.dims.size()
                                        : field_.slot.dims.size() - 1;
  if (lists_ > axes) {
    Throw(ErrorCode::kDataLoss, "it is a list", lists_ > 1 ? " of lists" : "", " of ", name,
          ", nested deeper than ", declared);
  }
  // One value is a sequence of one, too.
  const bool takes_one = field_.values == 1 && !(field_.sequence && axes > 1);
  if (lists_ == 0 && !field_.bytes && !takes_one && value_.kind != ArrowKind::kNull) {
    Throw(ErrorCode::kDataLoss, "it is ", name, ", one value; ", declared, " is declared");
  }
}

ArrowView::ArrowView(const ArrowPath& path, const ArrowArray& batch)
    : path_(path), field_(path.field_) {
  const ArrowArray* here = &batch;
  for (size_t i = 0; i < path.steps_.size(); ++i) {
    const ArrowPath::Step& step = path.steps_[i];
    levels_.push_back(ArrowLevelOf(step.type, *here));
    has_nulls_ =
        has_nulls_ || levels_.back().valid != nullptr || step.type.kind == ArrowKind::kNull;
    if (i + 1 == path.steps_.size()) break;
    if (static_cast<int64_t>(step.child) >= here->n_children) {
      Throw(ErrorCode::kDataLoss, "the batch does not have it");
    }
    here = here->children[step.child];
  }
  values_ = levels_.back();
  if (!path.dictionary_) {
    FindInPlace(batch.length);
    return;
  }
  if (here->dictionary == nullptr) Throw(ErrorCode::kDataLoss, "it has no dictionary");
  values_ = ArrowLevelOf(*path.dictionary_, *here->dictionary);
}

// Follows the first row, and the end of the last one, to the values. All rows are there if these
// are, because structs and lists of one length keep their order.
void ArrowView::FindInPlace(int64_t rows) {
  if (has_nulls_ || field_.sequence || !path_.same_ || path_.lists_ > 1 || rows == 0) return;
  __int128 begin = 0, end = rows;
  for (const ArrowLevel& level : levels_) {
    if (end > level.length) return;
    begin += level.offset;
    end += level.offset;
    if (!IsList(level.kind)) continue;
    if (level.kind != ArrowKind::kFixedList) return;
    if (level.size != static_cast<int64_t>(field_.values)) return;
    begin *= level.size;
    end *= level.size;
  }
  if (end > std::numeric_limits<int64_t>::max() / int64_t(sizeof(int64_t))) return;
  row_bytes_ = static_cast<int64_t>(field_.values * field_.value_bytes());
  in_place_ =
      static_cast<const char*>(values_.values) + static_cast<size_t>(begin) * field_.value_bytes();
}

ArrowView::Spans* ArrowView::SpansOfThread() {
  thread_local Spans spans;
  return &spans;
}

// Goes from `index` through the structs that begin at level `first` to the next list, or to the
// values; returns the place in its buffers, or -1 if there is a null on the way.
int64_t ArrowView::Resolve(size_t list, int64_t index) const {
  const size_t first = list == 0 ? 0 : path_.ends_[list - 1] + 1;
  for (size_t i = first; i <= path_.ends_[list]; ++i) {
    const ArrowLevel& level = levels_[i];
    CheckArrowRange(index, index + 1, level.length);
    index += level.offset;
    if (IsNullAt(level, index)) return -1;
  }
  return index;
}

ArrowView::Span ArrowView::RangeOf(size_t list, int64_t place) const {
  const size_t at = path_.ends_[list];
  const ArrowLevel& level = levels_[at];
  Span span{};
  if (level.kind == ArrowKind::kFixedList) {
    if (level.size > 0 && place > std::numeric_limits<int64_t>::max() / level.size - 1) {
      Throw(ErrorCode::kDataLoss, "an array of ", place, " lists");
    }
    span = {place * level.size, (place + 1) * level.size};
  } else if (level.kind == ArrowKind::kList) {
    span = {ValueAt<int32_t>(level.values, place), ValueAt<int32_t>(level.values, place + 1)};
  } else {
    span = {ValueAt<int64_t>(level.values, place), ValueAt<int64_t>(level.values, place + 1)};
  }
  CheckArrowRange(span.begin, span.end, levels_[at + 1].length);
  return span;
}

// False if the row has no values. Throws if lists are not nested as the dims say, or one within
// another is null.
bool ArrowView::FindSpans(int64_t row, Spans* spans) const {
  spans->clear();
  if (path_.lists_ == 0) {
    // A value is its own span. Whether it is null is told here.
    if (PlaceOf(row) < 0) return false;
    spans->push_back({row, row + 1});
    return true;
  }
  const int64_t place = Resolve(0, row);
  if (place < 0) return false;
  AddSpans(0, place, spans);
  return true;
}

void ArrowView::AddSpans(size_t list, int64_t place, Spans* spans) const {
  const Span span = RangeOf(list, place);
  if (path_.lists_ > 1 && !field_.bytes) {
    const size_t axis = list + (field_.sequence ? 0 : 1);
    const int64_t dim = field_.slot.dims[axis];
    if (dim >= 0 && span.end - span.begin != dim) {
      Throw(ErrorCode::kDataLoss, "a list of it has ", span.end - span.begin, " values, ", dim,
            " are declared");
    }
  }
  if (list + 1 == path_.lists_) {
    spans->push_back(span);
    return;
  }
  for (int64_t i = span.begin; i < span.end; ++i) {
    const int64_t inner = Resolve(list + 1, i);
    if (inner < 0) Throw(ErrorCode::kDataLoss, "a list within it is null");
    AddSpans(list + 1, inner, spans);
  }
}

size_t ArrowView::CountOf(const Spans& spans) {
  int64_t count = 0;
  for (const Span& span : spans) count += span.end - span.begin;
  return static_cast<size_t>(count);
}

int64_t ArrowView::PlaceOf(int64_t index) const {
  const int64_t place = Resolve(path_.lists_, index);
  if (place < 0 || !path_.dictionary_) return place;
  const int64_t word = WordAt(levels_.back(), place);
  CheckArrowRange(word, word + 1, values_.length);
  return IsNullAt(values_, word + values_.offset) ? -1 : word + values_.offset;
}

template <typename Function>
void ArrowView::ForEachValue(const Spans& spans, const Function& function) const {
  for (const Span& span : spans) {
    for (int64_t i = span.begin; i < span.end; ++i) function(PlaceOf(i));
  }
}

void ArrowView::WriteOne(int64_t place, char* to) const {
  if (place >= 0) return path_.write_(field_, values_, place, to);
  if (!field_.fills_gaps()) field_.ThrowMissing(kHasNull);
  field_.WriteDefault(1, to);
}

void ArrowView::WriteValues(const Spans& spans, char* to) const {
  const size_t size = field_.value_bytes();
  if (!path_.same_ || has_nulls_ || path_.dictionary_) {
    ForEachValue(spans, [&](int64_t place) {
      WriteOne(place, to);
      to += size;
    });
    return;
  }
  for (const Span& span : spans) {
    int64_t at = span.begin;
    for (size_t i = path_.lists_ == 0 ? 0 : path_.ends_[path_.lists_ - 1] + 1; i < levels_.size();
         ++i) {
      CheckArrowRange(at, at + span.end - span.begin, levels_[i].length);
      at += levels_[i].offset;
    }
    const size_t bytes = static_cast<size_t>(span.end - span.begin) * size;
    if (bytes == 0) continue;
    std::memcpy(to, static_cast<const char*>(values_.values) + at * int64_t(size), bytes);
    to += bytes;
  }
}

std::string_view ArrowView::TextOrDefault(int64_t place) const {
  if (place >= 0) return TextAt(values_, place);
  if (!field_.fills_gaps()) field_.ThrowMissing(kHasNull);
  return {};
}

size_t ArrowView::MissingCount() const {
  if (field_.missing != Field::Missing::kDefault) field_.ThrowMissing(kIsNull);
  return !field_.sequence || field_.has_default ? field_.values : 0;
}

bool ArrowView::LeavesOut() const {
  return field_.missing == Field::Missing::kSkip &&
         (has_nulls_ || path_.dictionary_ || field_.vocabulary != nullptr);
}

bool ArrowView::IsMissing(int64_t row) const {
  Spans* const spans = SpansOfThread();
  if (!FindSpans(row, spans)) return true;
  bool missing = false;
  ForEachValue(*spans, [&](int64_t place) {
    missing = missing || place < 0 ||
              (field_.vocabulary != nullptr && field_.IsMissing(TextAt(values_, place)));
  });
  return missing;
}

bool ArrowView::HasValue(int64_t row) const {
  return (!has_nulls_ && !path_.dictionary_) || FindSpans(row, SpansOfThread());
}

void ArrowView::WriteFixed(int64_t row, char* to) const {
  if (path_.lists_ == 0) {
    const int64_t place = PlaceOf(row);
    if (place >= 0) return path_.write_(field_, values_, place, to);
    return field_.WriteDefault(MissingCount(), to);
  }
  Spans* const spans = SpansOfThread();
  if (!FindSpans(row, spans)) return field_.WriteDefault(MissingCount(), to);
  const size_t count = CountOf(*spans);
  if (count != field_.values) {
    Throw(ErrorCode::kDataLoss, "it has ", count, count == 1 ? " value, " : " values, ",
          field_.values, field_.values == 1 ? " is declared" : " are declared");
  }
  WriteValues(*spans, to);
}

void ArrowView::Load(const ArrowRowList& rows, FieldRows* out) const {
  if (char* const mask = out->NextMask(slot())) {
    for (size_t i = 0; i < rows.size; ++i) mask[i] = HasValue(rows[i]) ? 1 : 0;
  }
  if (field_.sequence) {
    for (size_t i = 0; i < rows.size; ++i) LoadSequence(rows[i], out);
    return;
  }
  char* const to = out->NextPlace(slot());
  const size_t bytes = field_.values * field_.value_bytes();
  if (in_place_ == nullptr) {
    for (size_t i = 0; i < rows.size; ++i) WriteFixed(rows[i], to + i * bytes);
  } else if (rows.consecutive) {
    std::memcpy(to, InPlace(rows[0]), rows.size * bytes);
  } else if (bytes == 8) {
    Gather(in_place_, rows, std::integral_constant<size_t, 8>(), to);
  } else if (bytes == 4) {
    Gather(in_place_, rows, std::integral_constant<size_t, 4>(), to);
  } else {
    Gather(in_place_, rows, bytes, to);
  }
  out->Pass(slot(), rows.size * field_.values);
}

void ArrowView::LoadSequence(int64_t row, FieldRows* out) const {
  Spans* const spans = SpansOfThread();
  if (!FindSpans(row, spans)) return out->AppendDefault(slot(), kIsNull);
  if (!field_.bytes) return WriteValues(*spans, out->Take(slot(), CountOf(*spans)));
  if (!field_.bytes_list) return out->AppendBytes(slot(), TextOrDefault(PlaceOf(row)));
  thread_local std::vector<std::string_view> texts;
  texts.clear();
  uint64_t bytes = 0;
  ForEachValue(*spans, [&](int64_t place) {
    texts.push_back(TextOrDefault(place));
    bytes += texts.back().size();
    CheckSize(bytes);
  });
  out->AppendBytes(slot(), texts);
}

uint64_t ArrowView::Measure(int64_t row) const {
  Spans* const spans = SpansOfThread();
  uint64_t bytes = 0;
  if (!FindSpans(row, spans)) {
    const size_t count = MissingCount();
    if (!field_.bytes) bytes = count * field_.value_bytes();
  } else if (field_.bytes) {
    ForEachValue(*spans, [&](int64_t place) {
      bytes += TextOrDefault(place).size() + (field_.bytes_list ? sizeof(uint32_t) : 0);
    });
  } else {
    const size_t count = CountOf(*spans);
    if (count % field_.values != 0) {
      Throw(ErrorCode::kDataLoss, "its ", count, " values are not whole steps of ", field_.values);
    }
    bytes = CheckedProduct(count, field_.value_bytes());
  }
  CheckSize(bytes);
  return sizeof(uint32_t) + bytes;
}

void ArrowView::WriteVariable(int64_t row, char** to) const {
  Spans* const spans = SpansOfThread();
  if (!FindSpans(row, spans)) {
    const size_t count = MissingCount();
    PutNumber(static_cast<uint32_t>(count), to);
    if (field_.bytes) return;
    field_.WriteDefault(count, *to);
    *to += count * field_.value_bytes();
  } else if (field_.bytes_list) {
    PutNumber(static_cast<uint32_t>(CountOf(*spans)), to);
    ForEachValue(*spans, [&](int64_t place) {
      PutNumber(static_cast<uint32_t>(TextOrDefault(place).size()), to);
    });
    ForEachValue(*spans, [&](int64_t place) { PutText(TextOrDefault(place), to); });
  } else if (field_.bytes) {
    const std::string_view text = TextOrDefault(PlaceOf(row));
    PutNumber(static_cast<uint32_t>(text.size()), to);
    PutText(text, to);
  } else {
    const size_t count = CountOf(*spans);
    PutNumber(static_cast<uint32_t>(count), to);
    WriteValues(*spans, *to);
    *to += count * field_.value_bytes();
  }
}

}  // namespace millhopper
