// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/limits/table_limit.h"

#include <benchmark/benchmark.h>
#include <emmintrin.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>

#include "framework/base/error.h"
#include "tests/benchmarks/usage.h"

namespace millhopper {
namespace {

constexpr size_t kBlockBytes = 64;
constexpr size_t kFirstCategory = 14;  // after the label and the numbers
constexpr size_t kColumns = 40;
// The label, the numbers as float32, the categories as int64.
constexpr size_t kRowBytes = 8 + 13 * 4 + 26 * 8;

// A bit for each of 64 bytes that ends a cell.
uint64_t CellEnds(const char* bytes) {
  const __m128i tab = _mm_set1_epi8('\t'), line_end = _mm_set1_epi8('\n');
  uint64_t ends = 0;
  for (size_t i = 0; i < kBlockBytes; i += 16) {
    const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes + i));
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(some, tab), _mm_cmpeq_epi8(some, line_end));
    ends |= static_cast<uint64_t>(_mm_movemask_epi8(found)) << i;
  }
  return ends;
}

// The digits of a cell, the last one in the highest byte; `size` is at most 8. `zero` is '0' in
// each byte.
uint64_t DigitsOf(const char* cell, size_t size, uint64_t zero) {
  uint64_t bytes;
  std::memcpy(&bytes, cell, sizeof(bytes));
  return size == 0 ? 0 : (bytes ^ zero) << (64 - 8 * size);
}

uint64_t Decimal(const char* cell, size_t size) {
  uint64_t digits = DigitsOf(cell, size, 0x3030303030303030);
  digits = (10 * digits + (digits >> 8)) & 0x00ff00ff00ff00ff;
  digits = (100 * digits + (digits >> 16)) & 0x0000ffff0000ffff;
  return (10000 * digits + (digits >> 32)) & 0xffffffff;
}

uint64_t Hexadecimal(const char* cell, size_t size) {
  uint64_t digits = DigitsOf(cell, size, 0);
  digits = (digits & 0x0f0f0f0f0f0f0f0f) + 9 * (digits >> 6 & 0x0101010101010101);
  digits = (digits << 4 | digits >> 8) & 0x00ff00ff00ff00ff;
  digits = (digits << 8 | digits >> 16) & 0x0000ffff0000ffff;
  return (digits << 16 | digits >> 32) & 0xffffffff;
}

template <typename T>
char* Put(T value, char* out) {
  std::memcpy(out, &value, sizeof(value));
  return out + sizeof(value);
}

}  // namespace

TableLimit::TableLimit(const DataSet& data) : records_(static_cast<double>(data.records)) {
  std::ifstream file(data.files.at(0), std::ios::binary);
  text_.assign(std::istreambuf_iterator<char>(file), {});
  Require(!text_.empty(), data.files[0], " cannot be read");
  text_.append(2 * kBlockBytes, '\0');  // so that no block ends within the memory's last bytes
  out_.resize(data.records * kRowBytes);
}

double TableLimit::SecondsPerRecord() {
  const double begin = ThreadSeconds();
  const char* cell = text_.data();
  const char* const end = cell + text_.size() - 2 * kBlockBytes;
  char* out = out_.data();
  size_t column = 0;
  for (const char* block = cell; block < end; block += kBlockBytes) {
    for (uint64_t ends = CellEnds(block); ends != 0; ends &= ends - 1) {
      const char* const stop = block + __builtin_ctzll(ends);
      const auto size = static_cast<size_t>(stop - cell);
      if (column == 0) {
        out = Put(static_cast<int64_t>(Decimal(cell, size)), out);
      } else if (column < kFirstCategory) {
        out = Put(static_cast<float>(static_cast<uint32_t>(Decimal(cell, size))), out);
      } else {
        out = Put(static_cast<int64_t>(Hexadecimal(cell, size)), out);
      }
      column = column + 1 == kColumns ? 0 : column + 1;
      cell = stop + 1;
    }
  }
  benchmark::ClobberMemory();
  Require(column == 0 && out == out_.data() + out_.size(), "a limit for another table");
  return (ThreadSeconds() - begin) / records_;
}

}  // namespace millhopper
