// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/limits/word_limit.h"

#include <benchmark/benchmark.h>
#include <emmintrin.h>
#include <xxhash.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>

#include "framework/base/error.h"
#include "tests/benchmarks/usage.h"

namespace millhopper {
namespace {

constexpr size_t kBlockBytes = 16;
constexpr size_t kPlaces = size_t{1} << 16;  // about as many as there are words

// A bit for each of 16 bytes that ends a word.
uint32_t WordEnds(const char* bytes) {
  const __m128i some = _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes));
  const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(some, _mm_set1_epi8(' ')),
                                     _mm_cmpeq_epi8(some, _mm_set1_epi8('\n')));
  return static_cast<uint32_t>(_mm_movemask_epi8(found));
}

}  // namespace

WordLimit::WordLimit(const DataSet& data)
    : table_(kPlaces), records_(static_cast<double>(data.records)) {
  std::ifstream file(data.files.at(0), std::ios::binary);
  text_.assign(std::istreambuf_iterator<char>(file), {});
  Require(!text_.empty(), data.files[0], " cannot be read");
  const auto words = std::count_if(text_.begin(), text_.end(),
                                   [](char byte) { return byte == ' ' || byte == '\n'; });
  out_.resize(static_cast<size_t>(words));
  std::iota(table_.begin(), table_.end(), 0);
  text_.append(kBlockBytes, '\0');  // so that no block ends beyond the memory
}

double WordLimit::SecondsPerRecord() {
  const double begin = ThreadSeconds();
  const char* word = text_.data();
  const char* const end = word + text_.size() - kBlockBytes;
  int64_t* out = out_.data();
  for (const char* block = word; block < end; block += kBlockBytes) {
    for (uint32_t ends = WordEnds(block); ends != 0; ends &= ends - 1) {
      const char* const stop = block + __builtin_ctz(ends);
      *out++ = table_[XXH3_64bits(word, static_cast<size_t>(stop - word)) % kPlaces];
      word = stop;
    }
  }
  benchmark::ClobberMemory();
  Require(out == out_.data() + out_.size(), "a limit for another text");
  return (ThreadSeconds() - begin) / records_;
}

}  // namespace millhopper
