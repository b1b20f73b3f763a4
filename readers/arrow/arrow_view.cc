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
constexpr char kHasNullList[] = "a list within it is null";
constexpr char kReadAsJson[] = ", and str decode=json reads it as text of JSON";

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

// Adds one more sequence to the offsets of a level.
void AddLength(uint64_t length, std::vector<uint64_t>* level) {
  level->push_back(level->back() + length);
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
  const auto add = [&](size_t child, bool dictionary) {
    steps_.push_back({ArrowTypeOf(*here), child, dictionary});
    here = dictionary ? here->dictionary : here->children[child];
  };
  const auto go_to_meaning = [&] {
    for (;;) {
      const bool dictionary = here->dictionary != nullptr;
      if (!dictionary && ArrowTypeOf(*here).kind != ArrowKind::kRunEnds) return;
      stands_for_others_ = true;
      add(1, dictionary);
    }
  };
  for (const size_t child : column) {
    go_to_meaning();
    if (child >= ChildrenOf(*here)) {
      Throw(ErrorCode::kDataLoss, "it is ", ArrowTypeName(*here), " without child ", child);
    }
    add(child, false);
  }
  const ArrowSchema& found = *here;
  go_to_meaning();
  // A column that the schema lacks is one of nulls, as many as the batch has rows.
  value_ = ArrowTypeOf(*here);
  if (column.empty()) value_ = ArrowType{ArrowKind::kNull, 0, 0, 0, 0};
  steps_.push_back({value_, 0, false});
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (IsList(steps_[i].type.kind) || i + 1 == steps_.size()) ends_.push_back(i);
  }
  lists_ = ends_.size() - 1;
  CheckType(found);
  write_ = WriterOf(value_, field_);
  same_ = IsSame(value_, field_);
}

void ArrowPath::CheckType(const ArrowSchema& found) const {
  const std::string name = ArrowTypeName(found);
  const std::string declared = field_.Declared();
  if (value_.kind == ArrowKind::kOther || value_.kind == ArrowKind::kStruct) {
    Throw(ErrorCode::kDataLoss, "it is ", name, ", which is not read");
  }
  if (field_.decode == Field::Decode::kJson) {
    if (CanBeJson(value_)) return;
    Throw(ErrorCode::kDataLoss, "it is ", name, ", which decode=json does not write");
  }
  const bool is_text = IsText(value_.kind);
  const bool is_time = field_.decode == Field::Decode::kTimestamp && value_.ticks_per_day > 0;
  const bool fits = is_text ? field_.bytes || field_.from_text()
                    : value_.kind == ArrowKind::kDecimal
                        ? !field_.from_text()
                        : !field_.bytes && (!field_.from_text() || is_time);
  if (IsList(value_.kind) || (!fits && value_.kind != ArrowKind::kNull)) {
    Throw(ErrorCode::kDataLoss, "it is ", lists_ > 0 ? "a list of " : "", name, ", ", declared,
          " is declared",
          is_text ? " (decode=text reads a number from text, decode=timestamp a date or time, "
                    "hash= and vocab= number it)"
                  : "");
  }
  if (is_time && !field_.time_format.empty()) {
    Throw(ErrorCode::kDataLoss, "it is ", name, ", which has no format=");
  }
  if (value_.kind == ArrowKind::kDecimal && field_.base != 10) {
    Throw(ErrorCode::kDataLoss, "it is ", name, ", which is of base 10");
  }
  // The leading axis of one element is that of the batch, unless it counts the steps.
  const auto levels = static_cast<size_t>(field_.slot.lod_level);
  const size_t axes = field_.bytes ? levels - 1 : levels + field_.slot.dims.size() - 1;
  if (lists_ > axes) {
    Throw(ErrorCode::kDataLoss, "it is a list", lists_ > 1 ? " of lists" : "", " of ", name,
          ", nested deeper than ", declared);
  }
  // One text is a list of one.
  const size_t least = field_.bytes ? axes > 1 ? axes : 0 : field_.nested() ? levels : 0;
  if (lists_ < least && !(value_.kind == ArrowKind::kNull && lists_ == 0)) {
    Throw(ErrorCode::kDataLoss, "it is ", lists_ > 0 ? "a list of " : "", name,
          ", not nested as deep as ", declared);
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
    if (step.dictionary) {
      if (here->dictionary == nullptr) Throw(ErrorCode::kDataLoss, "it has no dictionary");
      here = here->dictionary;
      continue;
    }
    if (static_cast<int64_t>(step.child) >= here->n_children) {
      Throw(ErrorCode::kDataLoss, "the batch does not have it");
    }
    here = here->children[step.child];
  }
  FindInPlace(batch.length);
}

// Follows the first row, and the end of the last one, to the values. All rows are there if these
// are, because structs and lists of one length keep their order.
void ArrowView::FindInPlace(int64_t rows) {
  if (has_nulls_ || field_.sequence || !path_.same_ || path_.lists_ > 1 || rows == 0 ||
      path_.stands_for_others_) {
    return;
  }
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
  in_place_ = static_cast<const char*>(levels_.back().values) +
              static_cast<size_t>(begin) * field_.value_bytes();
}

ArrowView::Spans* ArrowView::SpansOfThread() {
  thread_local Spans spans;
  return &spans;
}

// Goes from `index` through the structs, dictionaries and runs that begin at level `first` to the
// next list, or to the values; returns the place in its buffers, or -1 if there is a null on the
// way.
int64_t ArrowView::Resolve(size_t list, int64_t index) const {
  const size_t first = list == 0 ? 0 : path_.ends_[list - 1] + 1;
  for (size_t i = first; i <= path_.ends_[list]; ++i) {
    const ArrowLevel& level = levels_[i];
    CheckArrowRange(index, index + 1, level.length);
    index += level.offset;
    if (IsNullAt(level, index)) return -1;
    if (path_.steps_[i].dictionary) {
      index = WordAt(level, index);
    } else if (level.kind == ArrowKind::kRunEnds) {
      index = RunAt(level, index);
    }
  }
  return index;
}

ArrowSpan ArrowView::RangeOf(size_t list, int64_t place) const {
  const size_t at = path_.ends_[list];
  return ListAt(levels_[at], place, levels_[at + 1].length);
}

// False if the row has no values. Throws if lists are not nested as the dims say, or one within
// another is null and there is no default.
bool ArrowView::FindSpans(int64_t row, Spans* spans) const {
  spans->spans.clear();
  if (field_.nested()) {
    const auto levels = static_cast<size_t>(field_.slot.lod_level) - (field_.bytes ? 1 : 0);
    spans->levels.resize(levels);
    for (std::vector<uint64_t>& level : spans->levels) level.assign(1, 0);
  }
  if (field_.decode == Field::Decode::kJson) {
    // All of the row is one text; without another missing=, that of a null is null.
    spans->spans.push_back({row, row + 1});
    return field_.missing == Field::Missing::kError || Resolve(0, row) >= 0;
  }
  if (path_.lists_ == 0) {
    // A value is its own span. Whether it is null is told here.
    if (PlaceOf(row) < 0) return false;
    spans->spans.push_back({row, row + 1});
    if (field_.nested()) spans->levels[0].push_back(1);
    return true;
  }
  const int64_t place = Resolve(0, row);
  if (place < 0) return false;
  AddSpans(0, place, spans);
  return true;
}

void ArrowView::AddSpans(size_t list, int64_t place, Spans* spans) const {
  const ArrowSpan span = RangeOf(list, place);
  const auto size = static_cast<uint64_t>(span.end - span.begin);
  const auto levels = static_cast<size_t>(field_.slot.lod_level);
  if (path_.lists_ > 1 && !field_.bytes && list + 1 > levels) {
    const int64_t dim = field_.slot.dims[list + 1 - levels];
    if (span.end - span.begin != dim) {
      Throw(ErrorCode::kDataLoss, "a list of it has ", size, " values, ", dim, " are declared");
    }
  }
  const bool last = list + 1 == path_.lists_;
  // The last level counts steps, which are found when the lists within it are.
  const bool counts = field_.nested() && list < spans->levels.size();
  const bool counts_steps = counts && !field_.bytes && list + 1 == levels;
  if (counts && !counts_steps) AddLength(size, &spans->levels[list]);
  const size_t first = spans->spans.size();
  if (last) {
    spans->spans.push_back(span);
  } else {
    for (int64_t i = span.begin; i < span.end; ++i) {
      const int64_t inner = Resolve(list + 1, i);
      if (inner >= 0) {
        AddSpans(list + 1, inner, spans);
      } else if (!field_.nested() || list + 1 >= spans->levels.size()) {
        Throw(ErrorCode::kDataLoss, kHasNullList, JsonHint());
      } else if (field_.missing == Field::Missing::kDefault && !field_.mask) {
        AddLength(0, &spans->levels[list + 1]);
      } else {
        Throw(ErrorCode::kDataLoss, kHasNullList, JsonHint(),
              " (missing=default after the field, without a mask, reads it as one without values)");
      }
    }
  }
  if (!counts_steps) return;
  uint64_t values = 0;
  for (size_t i = first; i < spans->spans.size(); ++i) {
    values += static_cast<uint64_t>(spans->spans[i].end - spans->spans[i].begin);
  }
  AddLength(StepsOf(values), &spans->levels[list]);
}

// The whole steps that so many values are.
uint64_t ArrowView::StepsOf(uint64_t values) const {
  if (values % field_.values != 0) {
    Throw(ErrorCode::kDataLoss, "its ", values, " values are not whole steps of ", field_.values);
  }
  return values / field_.values;
}

size_t ArrowView::CountOf(const Spans& spans) {
  int64_t count = 0;
  for (const ArrowSpan& span : spans.spans) count += span.end - span.begin;
  return static_cast<size_t>(count);
}

int64_t ArrowView::PlaceOf(int64_t index) const { return Resolve(path_.lists_, index); }

template <typename Function>
void ArrowView::ForEachValue(const Spans& spans, const Function& function) const {
  for (const ArrowSpan& span : spans.spans) {
    for (int64_t i = span.begin; i < span.end; ++i) function(PlaceOf(i));
  }
}

// Bytes may be no text, which JSON is.
const char* ArrowView::JsonHint() const {
  const bool may_be_no_text = IsText(path_.value_.kind) && !field_.slot.text;
  return CanBeJson(path_.value_) && !may_be_no_text ? kReadAsJson : "";
}

void ArrowView::WriteOne(int64_t place, char* to) const {
  if (place >= 0) return path_.write_(field_, levels_.back(), place, to);
  if (!field_.fills_gaps()) field_.ThrowMissing(StrCat(kHasNull, JsonHint()));
  field_.WriteDefault(1, to);
}

void ArrowView::WriteValues(const Spans& spans, char* to) const {
  const size_t size = field_.value_bytes();
  if (!path_.same_ || has_nulls_ || path_.stands_for_others_) {
    ForEachValue(spans, [&](int64_t place) {
      WriteOne(place, to);
      to += size;
    });
    return;
  }
  for (const ArrowSpan& span : spans.spans) {
    int64_t at = span.begin;
    for (size_t i = path_.lists_ == 0 ? 0 : path_.ends_[path_.lists_ - 1] + 1; i < levels_.size();
         ++i) {
      CheckArrowRange(at, at + span.end - span.begin, levels_[i].length);
      at += levels_[i].offset;
    }
    const size_t bytes = static_cast<size_t>(span.end - span.begin) * size;
    if (bytes == 0) continue;
    std::memcpy(to, static_cast<const char*>(levels_.back().values) + at * int64_t(size), bytes);
    to += bytes;
  }
}

std::string_view ArrowView::TextOrDefault(int64_t place, std::string* made) const {
  if (place < 0) {
    if (!field_.fills_gaps()) field_.ThrowMissing(StrCat(kHasNull, JsonHint()));
    return {};
  }
  if (path_.value_.kind != ArrowKind::kDecimal) return TextAt(levels_.back(), place);
  *made = DecimalTextAt(levels_.back(), place);
  return *made;
}

void ArrowView::AppendJsonOf(size_t list, int64_t index, std::string* json) const {
  const int64_t place = Resolve(list, index);
  if (place < 0) {
    *json += "null";
  } else if (list == path_.lists_) {
    AppendJson(levels_.back(), place, json);
  } else {
    const ArrowSpan span = RangeOf(list, place);
    *json += '[';
    for (int64_t i = span.begin; i < span.end; ++i) {
      if (i > span.begin) *json += ", ";
      AppendJsonOf(list + 1, i, json);
      CheckSize(json->size());
    }
    *json += ']';
  }
}

std::string_view ArrowView::TextOfRow(int64_t row, std::string* made) const {
  if (field_.decode != Field::Decode::kJson) return TextOrDefault(PlaceOf(row), made);
  made->clear();
  AppendJsonOf(0, row, made);
  return *made;
}

size_t ArrowView::MissingCount() const {
  if (field_.missing != Field::Missing::kDefault) field_.ThrowMissing(kIsNull);
  if (field_.nested()) return 0;
  return !field_.sequence || field_.has_default ? field_.values : 0;
}

bool ArrowView::LeavesOut() const {
  return field_.missing == Field::Missing::kSkip &&
         (has_nulls_ || path_.stands_for_others_ || field_.vocabulary != nullptr);
}

bool ArrowView::IsMissing(int64_t row) const {
  Spans* const spans = SpansOfThread();
  if (!FindSpans(row, spans)) return true;
  if (field_.decode == Field::Decode::kJson) return false;
  bool missing = false;
  ForEachValue(*spans, [&](int64_t place) {
    missing = missing || place < 0 ||
              (field_.vocabulary != nullptr && field_.IsMissing(TextAt(levels_.back(), place)));
  });
  return missing;
}

bool ArrowView::HasValue(int64_t row) const {
  return (!has_nulls_ && !path_.stands_for_others_) || Resolve(0, row) >= 0;
}

void ArrowView::WriteFixed(int64_t row, char* to) const {
  if (path_.lists_ == 0) {
    const int64_t place = PlaceOf(row);
    if (place >= 0) return path_.write_(field_, levels_.back(), place, to);
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
  if (field_.nested()) return LoadNested(*spans, out);
  if (!field_.bytes) return WriteValues(*spans, out->Take(slot(), CountOf(*spans)));
  std::string made;
  out->AppendBytes(slot(), TextOfRow(row, &made));
}

void ArrowView::LoadNested(const Spans& spans, FieldRows* out) const {
  thread_local std::vector<std::vector<uint64_t>> levels;
  levels = spans.levels;
  if (!field_.bytes) return WriteValues(spans, out->TakeNested(slot(), levels));
  std::string made;
  levels.emplace_back(1, 0);
  ForEachValue(spans, [&](int64_t place) {
    const std::string_view text = TextOrDefault(place, &made);
    out->CheckText(slot(), text);
    AddLength(text.size(), &levels.back());
    CheckSize(levels.back().back());
  });
  char* to = out->TakeNested(slot(), levels);
  ForEachValue(spans, [&](int64_t place) { PutText(TextOrDefault(place, &made), &to); });
}

uint64_t ArrowView::MeasureNested(const Spans& spans) const {
  uint64_t bytes = 0, lengths = 0;
  for (const std::vector<uint64_t>& level : spans.levels) lengths += level.size() - 1;
  if (field_.bytes) {
    std::string made;
    ForEachValue(spans, [&](int64_t place) {
      ++lengths;
      bytes += TextOrDefault(place, &made).size();
    });
  } else {
    bytes = CheckedProduct(CountOf(spans), field_.value_bytes());
  }
  return bytes + lengths * sizeof(uint32_t);
}

uint64_t ArrowView::Measure(int64_t row) const {
  Spans* const spans = SpansOfThread();
  uint64_t bytes = sizeof(uint32_t);
  std::string made;
  if (!FindSpans(row, spans)) {
    const size_t count = MissingCount();
    if (!field_.bytes) bytes += count * field_.value_bytes();
  } else if (field_.nested()) {
    bytes = MeasureNested(*spans);
  } else if (field_.bytes) {
    bytes += TextOfRow(row, &made).size();
  } else {
    const size_t count = CountOf(*spans);
    StepsOf(count);
    bytes += CheckedProduct(count, field_.value_bytes());
  }
  CheckSize(bytes);
  return bytes;
}

void ArrowView::WriteVariable(int64_t row, char** to) const {
  Spans* const spans = SpansOfThread();
  std::string made;
  if (!FindSpans(row, spans)) {
    const size_t count = MissingCount();
    PutNumber(static_cast<uint32_t>(count), to);
    if (field_.bytes) return;
    field_.WriteDefault(count, *to);
    *to += count * field_.value_bytes();
    return;
  }
  if (field_.nested()) {
    for (const std::vector<uint64_t>& level : spans->levels) {
      for (size_t i = 1; i < level.size(); ++i) {
        PutNumber(static_cast<uint32_t>(level[i] - level[i - 1]), to);
      }
    }
    if (field_.bytes) {
      ForEachValue(*spans, [&](int64_t place) {
        PutNumber(static_cast<uint32_t>(TextOrDefault(place, &made).size()), to);
      });
      ForEachValue(*spans, [&](int64_t place) { PutText(TextOrDefault(place, &made), to); });
      return;
    }
  } else if (field_.bytes) {
    const std::string_view text = TextOfRow(row, &made);
    PutNumber(static_cast<uint32_t>(text.size()), to);
    PutText(text, to);
    return;
  } else {
    PutNumber(static_cast<uint32_t>(CountOf(*spans)), to);
  }
  WriteValues(*spans, *to);
  *to += CountOf(*spans) * field_.value_bytes();
}

}  // namespace millhopper
