// SPDX-License-Identifier: Apache-2.0
#include "readers/arrow_plugin/stored_values.h"

#include <parquet/statistics.h>
#include <parquet/types.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr int64_t kValuesAtOnce = 4096;

// The range of integers that a column of INT32 is said to hold.
struct Range {
  int64_t least = std::numeric_limits<int32_t>::min();
  int64_t most = std::numeric_limits<int32_t>::max();

  bool has(int64_t value) const { return value >= least && value <= most; }
};

Range RangeOf(const parquet::ColumnDescriptor& column) {
  const std::shared_ptr<const parquet::LogicalType>& type = column.logical_type();
  if (type == nullptr || !type->is_int()) return {};
  const auto& integer = static_cast<const parquet::IntLogicalType&>(*type);
  const int bits = integer.bit_width();
  if (bits >= 32) return {};
  if (!integer.is_signed()) return {0, (int64_t{1} << bits) - 1};
  return {-(int64_t{1} << (bits - 1)), (int64_t{1} << (bits - 1)) - 1};
}

bool IsCut(const Range& range, int32_t value) { return !range.has(value); }

std::string Text(const Range& range, int32_t value) {
  return StrCat(value, " is no integer from ", range.least, " to ", range.most,
                ", as the file says that they all are");
}

// The day of a Gregorian calendar that is continued into the past.
std::string DateOf(int64_t days_since_1970) {
  constexpr int64_t kDaysOfEra = 146097;          // 400 years
  const int64_t days = days_since_1970 + 719468;  // since 0000-03-01
  const int64_t era = (days >= 0 ? days : days - kDaysOfEra + 1) / kDaysOfEra;
  const int64_t day = days - era * kDaysOfEra;
  const int64_t year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  const int64_t day_of_year = day - (365 * year + year / 4 - year / 100);
  const int64_t month = (5 * day_of_year + 2) / 153;  // from March on
  char text[64];
  std::snprintf(text, sizeof(text), "%04lld-%02d-%02d",
                static_cast<long long>(year + 400 * era + (month >= 10 ? 1 : 0)),
                static_cast<int>(month < 10 ? month + 3 : month - 9),
                static_cast<int>(day_of_year - (153 * month + 2) / 5 + 1));
  return text;
}

// What int64 numbers of INT96 timestamps count.
struct Ticks {
  bool are_microseconds;
};

constexpr int64_t kNanosecondsPerMicrosecond = 1000;

bool HasNanoseconds(const parquet::DecodedInt96& time) {
  return time.nanoseconds % kNanosecondsPerMicrosecond != 0;
}

bool IsCut(const Ticks& ticks, const parquet::Int96& value) {
  const parquet::DecodedInt96 time = parquet::DecodeInt96Timestamp(value);
  if (ticks.are_microseconds && HasNanoseconds(time)) return true;
  const int64_t divisor = ticks.are_microseconds ? kNanosecondsPerMicrosecond : 1;
  const __int128 exact = static_cast<__int128>(static_cast<int64_t>(time.days_since_epoch)) *
                             (int64_t{86400} * 1000000000 / divisor) +
                         time.nanoseconds / static_cast<uint64_t>(divisor);
  return exact != static_cast<int64_t>(exact);
}

std::string Text(const Ticks& ticks, const parquet::Int96& value) {
  const parquet::DecodedInt96 time = parquet::DecodeInt96Timestamp(value);
  const std::string date = DateOf(static_cast<int64_t>(time.days_since_epoch));
  if (!ticks.are_microseconds) {
    return StrCat("the INT96 timestamp ", date,
                  " is outside of what int64 nanoseconds hold, 1677-09-21 to 2262-04-11; "
                  "decode=timestamp unit=us after this field, and after all others of INT96, "
                  "reads it");
  }
  if (!HasNanoseconds(time)) {
    return StrCat("the INT96 timestamp ", date, " is outside of what int64 microseconds hold");
  }
  return StrCat("an INT96 timestamp of ", date,
                " is finer than its unit; unit=ns after the field "
                "keeps all of it");
}

template <typename Reader, typename Type>
void Check(Reader* reader, const parquet::ColumnDescriptor& column, const Type& type) {
  std::vector<typename Reader::T> values(kValuesAtOnce);
  std::vector<int16_t> definitions(kValuesAtOnce), repetitions(kValuesAtOnce);
  uint64_t rows = 0;
  while (reader->HasNext()) {
    int64_t count = 0;
    const int64_t levels = reader->ReadBatch(kValuesAtOnce, definitions.data(), repetitions.data(),
                                             values.data(), &count);
    if (levels == 0 && count == 0) return;  // a damaged file, of which others will tell
    int64_t next = 0;
    for (int64_t i = 0; i < levels; ++i) {
      if (column.max_repetition_level() == 0 || repetitions[static_cast<size_t>(i)] == 0) ++rows;
      const bool there = column.max_definition_level() == 0 ||
                         definitions[static_cast<size_t>(i)] == column.max_definition_level();
      if (!there || next == count) continue;
      const auto& value = values[static_cast<size_t>(next++)];
      if (!IsCut(type, value)) continue;
      Throw(ErrorCode::kDataLoss, "row ", rows - 1, ": column '",
            Escaped(column.path()->ToDotString()), "': ", Text(type, value));
    }
  }
}

}  // namespace

bool MayBeCut(const parquet::ColumnChunkMetaData& chunk, const parquet::ColumnDescriptor& column) {
  if (chunk.crypto_metadata() != nullptr) return false;  // Arrow's reader says what it is
  if (column.physical_type() == parquet::Type::INT96) return true;
  if (column.physical_type() != parquet::Type::INT32) return false;
  const Range range = RangeOf(column);
  if (range.most == Range().most) return false;
  const std::shared_ptr<parquet::Statistics> statistics = chunk.statistics();
  if (statistics == nullptr || !statistics->HasMinMax()) return true;
  const auto& known = static_cast<const parquet::Int32Statistics&>(*statistics);
  return !range.has(known.min()) || !range.has(known.max());
}

void CheckUncut(const std::shared_ptr<parquet::ColumnReader>& values,
                const parquet::ColumnDescriptor& column, bool microseconds) {
  if (column.physical_type() == parquet::Type::INT96) {
    Check(static_cast<parquet::Int96Reader*>(values.get()), column, Ticks{microseconds});
  } else {
    Check(static_cast<parquet::Int32Reader*>(values.get()), column, RangeOf(column));
  }
}

bool HasNanoseconds(parquet::Int96Reader* values, int64_t most) {
  std::vector<parquet::Int96> times(kValuesAtOnce);
  std::vector<int16_t> definitions(kValuesAtOnce), repetitions(kValuesAtOnce);
  for (int64_t rows = 0; rows < most && values->HasNext();) {  // a call reads from one page
    int64_t count = 0;
    const int64_t levels = values->ReadBatch(kValuesAtOnce, definitions.data(), repetitions.data(),
                                             times.data(), &count);
    if (levels == 0 && count == 0) return false;  // a damaged file, of which others will tell
    const bool is_finer =
        std::any_of(times.begin(), times.begin() + count, [](const parquet::Int96& time) {
          return HasNanoseconds(parquet::DecodeInt96Timestamp(time));
        });
    if (is_finer) return true;
    rows += values->descr()->max_repetition_level() == 0
                ? levels
                : std::count(repetitions.begin(), repetitions.begin() + levels, int16_t{0});
  }
  return false;
}

}  // namespace millhopper
