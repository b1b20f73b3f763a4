// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/numbered_records.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "framework/io/counted_reads.h"
#include "framework/reader/prefetched.h"

namespace millhopper {
namespace {

// So many records are on their way to the cache while as many are copied.
constexpr size_t kPrefetched = 32;

}  // namespace

void NumberedRecords::Add(std::unique_ptr<FileSource> source, const std::string& path) {
  std::optional<RecordTable> table = source->Records();
  if (!table) {
    throw Error(ErrorCode::kInvalidArgument,
                "shuffle_records needs files in which each record can be read by itself: plain "
                "files of the formats fixed, idx and npy")
        .InFile(path, -1);
  }
  if (!tables_.empty() && table->record_bytes != record_bytes()) {
    throw Error(ErrorCode::kDataLoss, StrCat("its records have ", table->record_bytes,
                                             " bytes, those of the files before "
                                             "it ",
                                             record_bytes(),
                                             "; shuffle_records needs files in which the same "
                                             "members are stored"))
        .InFile(path, -1);
  }
  mapped_ = mapped_ && (table->mapped || table->records == 0);
  in_one_piece_ = in_one_piece_ && table->bytes_in_file == table->record_bytes;
  ends_.push_back(count() + table->records);
  sources_.push_back(std::move(source));
  tables_.push_back(*std::move(table));
}

size_t NumberedRecords::FileOf(uint64_t number) const {
  if (ends_.size() == 1) return 0;
  return static_cast<size_t>(std::upper_bound(ends_.begin(), ends_.end(), number) - ends_.begin());
}

void NumberedRecords::Read(uint64_t first, size_t n, char* out) const {
  for (size_t file = FileOf(first); n > 0; ++file) {
    const auto here = static_cast<size_t>(std::min<uint64_t>(n, ends_[file] - first));
    if (here == 0) continue;  // an empty file
    sources_[file]->ReadRecords(first - FirstOf(file), here, out);
    first += here;
    n -= here;
    out += here * record_bytes();
  }
}

const char* NumberedRecords::AddressOf(uint64_t number) const {
  const size_t file = FileOf(number);
  return tables_[file].mapped->data() + (number - FirstOf(file)) * record_bytes();
}

void NumberedRecords::Copy(const uint64_t* numbers, size_t n, char* out) const {
  const size_t size = record_bytes();
  std::array<std::array<const char*, kPrefetched>, 2> addresses;
  const auto prefetch = [&](size_t block) {
    for (size_t i = block * kPrefetched; i < std::min(n, (block + 1) * kPrefetched); ++i) {
      const char* const address = AddressOf(numbers[i]);
      PrefetchRecord(address, size);
      addresses[block % 2][i % kPrefetched] = address;
    }
  };
  prefetch(0);
  for (size_t block = 0; block * kPrefetched < n; ++block) {
    prefetch(block + 1);
    const size_t here = std::min(n - block * kPrefetched, kPrefetched);
    for (size_t i = 0; i < here; ++i, out += size) {
      std::memcpy(out, addresses[block % 2][i], size);
    }
  }
  CountedReads::Add(n * size);
  CheckUnchanged(numbers, n);
}

void NumberedRecords::CheckUnchanged(const uint64_t* numbers, size_t n) const {
  std::vector<bool> checked(tables_.size());
  for (size_t i = 0; i < n; ++i) {
    const Place place = PlaceOf(numbers[i]);
    if (checked[place.file]) continue;
    tables_[place.file].mapping->CheckUnchanged(place.offset());
    checked[place.file] = true;
    if (checked.size() == 1) return;
  }
}

}  // namespace millhopper
