// SPDX-License-Identifier: Apache-2.0
#include "tests/benchmarks/parquet_pages.h"

#include <snappy.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <unordered_map>
#include <utility>

namespace millhopper {
namespace {

constexpr size_t kRowsOfPage = 20000;
constexpr size_t kNumbers = 13;
constexpr size_t kCategories = 26;

ParquetPage Compressed(const std::string& bytes, size_t values, bool dictionary) {
  ParquetPage page;
  page.dictionary = dictionary;
  page.expanded = bytes.size();
  page.values = values;
  snappy::Compress(bytes.data(), bytes.size(), &page.stored);
  return page;
}

// Levels that say that no value is null, the bits of a place, and the places in groups of eight.
std::string PageOfPlaces(const uint32_t* places, size_t count, uint32_t bits) {
  const auto put_varint = [](size_t number, std::string* out) {
    for (; number >= 0x80; number >>= 7) *out += static_cast<char>(number | 0x80);
    *out += static_cast<char>(number);
  };
  std::string levels;
  put_varint(count << 1, &levels);
  levels += '\1';
  std::string page{static_cast<char>(levels.size()), 0, 0, 0};
  page += levels;
  page += static_cast<char>(bits);
  const size_t groups = (count + 7) / 8;
  put_varint(groups << 1 | 1, &page);
  const size_t begin = page.size();
  page.resize(begin + groups * bits +
              sizeof(uint64_t));  // a word more than there is, until the end
  for (size_t i = 0; i < count; ++i) {
    char* const at = &page[begin + i * bits / 8];
    uint64_t word;
    std::memcpy(&word, at, sizeof(word));
    word |= uint64_t{places[i]} << i * bits % 8;
    std::memcpy(at, &word, sizeof(word));
  }
  page.resize(begin + groups * bits);
  return page;
}

template <typename T>
ParquetColumn ColumnOf(const std::vector<T>& values) {
  ParquetColumn column;
  column.value_bytes = sizeof(T);
  std::vector<T> dictionary;
  std::vector<uint32_t> places;
  std::unordered_map<T, uint32_t> place_of;
  for (const T value : values) {
    const auto [found, added] = place_of.emplace(value, static_cast<uint32_t>(dictionary.size()));
    if (added) dictionary.push_back(value);
    places.push_back(found->second);
    column.sum += value;
  }
  uint32_t bits = 0;
  while (dictionary.size() > size_t{1} << bits) ++bits;
  column.pages.push_back(Compressed(
      std::string(reinterpret_cast<const char*>(dictionary.data()), dictionary.size() * sizeof(T)),
      dictionary.size(), true));
  for (size_t begin = 0; begin < places.size(); begin += kRowsOfPage) {
    const size_t count = std::min(kRowsOfPage, places.size() - begin);
    column.pages.push_back(
        Compressed(PageOfPlaces(places.data() + begin, count, bits), count, false));
  }
  return column;
}

uint32_t BitsOf(float number) {
  uint32_t bits;
  std::memcpy(&bits, &number, sizeof(bits));
  return bits;
}

}  // namespace

std::vector<ParquetColumn> ParquetTable(size_t rows) {
  std::mt19937 random(7);
  std::vector<ParquetColumn> columns;
  const auto add = [&](const auto& make) {
    std::vector<decltype(make())> values(rows);
    for (auto& value : values) value = make();
    columns.push_back(ColumnOf(values));
  };
  add([&] { return uint64_t{random() % 2}; });
  for (size_t i = 0; i < kNumbers; ++i) {
    add([&] { return BitsOf(static_cast<float>(random() % 5000)); });
  }
  for (size_t i = 0; i < kCategories; ++i) add([&] { return uint64_t{random()}; });
  return columns;
}

}  // namespace millhopper
