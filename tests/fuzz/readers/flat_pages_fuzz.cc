// SPDX-License-Identifier: Apache-2.0
// Fuzzes the pages of a column of numbers, as a Parquet file may hold them. The first byte says
// whether the numbers have 8 bytes, whether they may be null and whether pages are snappy blocks;
// two bytes how many numbers there should be. A page is a byte for its kind and other bits, two
// bytes each for its values, its bytes when it is expanded, and those that follow. One of the
// second version (bit 6) has a byte of its levels' bytes before these.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include "readers/arrow/flat_pages.h"
#include "readers/support/snappy_block.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

constexpr size_t kPageHeader = 7;

int16_t TakeShort(PackedBytes* bytes) {
  uint32_t number;
  CHECK(bytes->TakeLittleEndian(2, &number));
  return static_cast<int16_t>(number);
}

bool Expand(PackedBytes stored, uint8_t* out, size_t expanded) {
  return ExpandSnappyBlock(reinterpret_cast<const char*>(stored.begin), stored.size(),
                           reinterpret_cast<char*>(out), expanded);
}

// Memory of exactly this size, so that a sanitizer sees an access beyond it.
std::shared_ptr<uint8_t> Allocate(size_t bytes) {
  return {new uint8_t[bytes], [](const uint8_t* memory) { delete[] memory; }};
}

// The numbers of a dictionary that was taken, sorted.
template <typename T>
std::vector<T> NumbersOf(const FlatPage& page, bool compressed) {
  std::vector<T> numbers(static_cast<size_t>(page.values));
  const size_t bytes = numbers.size() * sizeof(T);
  if (compressed) {
    CHECK(Expand(page.stored, reinterpret_cast<uint8_t*>(numbers.data()), bytes));
  } else {
    CHECK_EQ(page.stored.size(), bytes);
    std::memcpy(numbers.data(), page.stored.begin, bytes);
  }
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

// The numbers that the pages hold; nothing if they are refused.
template <typename T>
std::optional<std::vector<T>> Decode(uint8_t flags, PackedBytes bytes) {
  const bool compressed = (flags & 4) != 0;
  const size_t values = static_cast<uint16_t>(TakeShort(&bytes));
  std::vector<T> numbers(values);
  FlatPages<T> pages({Allocate, compressed ? &Expand : nullptr}, (flags & 2) != 0, values,
                     numbers.data());
  std::vector<T> dictionary;
  const T* next = numbers.data();
  while (!pages.is_done()) {
    if (bytes.size() < kPageHeader) return std::nullopt;
    FlatPage page;
    const uint8_t bits = *bytes.begin++;
    page.kind = static_cast<FlatPageKind>(bits % 4);
    page.levels_packed = bits < 0x80;
    page.compressed = (bits & 0x20) == 0;
    page.values = TakeShort(&bytes);
    page.expanded = TakeShort(&bytes);
    const size_t told = static_cast<uint16_t>(TakeShort(&bytes));
    if (uint32_t length; (bits & 0x40) != 0 && bytes.TakeLittleEndian(1, &length)) {
      const uint8_t* const begin = bytes.begin;
      bytes.begin += std::min<size_t>(length, bytes.size());
      page.levels = PackedBytes{begin, bytes.begin};
    }
    const size_t size = std::min(told, bytes.size());
    page.stored = {bytes.begin, bytes.begin + size};
    bytes.begin += size;
    if (!pages.Take(page)) return std::nullopt;
    CHECK_GE(page.values, 0);
    if (page.kind == FlatPageKind::kDictionary) {
      dictionary = NumbersOf<T>(page, compressed && page.compressed);
      continue;
    }
    const T* const end = next + page.values;
    CHECK_LE(end, numbers.data() + values);
    if (page.kind == FlatPageKind::kPlaces) {
      CHECK(std::all_of(next, end, [&](T number) {
        return std::binary_search(dictionary.begin(), dictionary.end(), number);
      }));
    }
    next = end;
  }
  CHECK_EQ(next, numbers.data() + values);
  return numbers;
}

template <typename T>
void Fuzz(uint8_t flags, PackedBytes bytes) {
  CHECK(Decode<T>(flags, bytes) == Decode<T>(flags, bytes));
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  const millhopper::PackedBytes bytes{data + 1, data + size};
  (*data & 1) != 0 ? millhopper::Fuzz<uint64_t>(*data, bytes)
                   : millhopper::Fuzz<uint32_t>(*data, bytes);
  return 0;
}
