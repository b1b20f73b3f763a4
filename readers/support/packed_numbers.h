// SPDX-License-Identifier: Apache-2.0
// Small numbers as Parquet packs them (Encodings.md of apache/parquet-format, "RLE/bit-packing
// hybrid"): runs of one number, and groups of eight numbers of some bits each. Each begins with a
// varint (7 bits a byte, the lowest first). An even one is twice the length of a run, and the
// number follows in whole bytes. An odd one is twice the number of groups plus one, and the groups
// follow, the lowest bit of the first byte first.
#ifndef MILLHOPPER_READERS_SUPPORT_PACKED_NUMBERS_H_
#define MILLHOPPER_READERS_SUPPORT_PACKED_NUMBERS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace millhopper {

// Bytes that are read from the front. A read beyond their end fails.
struct PackedBytes {
  const uint8_t* begin;
  const uint8_t* end;

  size_t size() const { return static_cast<size_t>(end - begin); }

  bool TakeVarint(uint32_t* number) {
    *number = 0;
    for (uint32_t shift = 0; shift < 32 && begin < end; shift += 7) {
      const uint32_t byte = *begin++;
      *number |= (byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  // Of at most four bytes.
  bool TakeLittleEndian(size_t bytes, uint32_t* number) {
    *number = 0;
    if (bytes > size()) return false;
    std::memcpy(number, begin, bytes);
    begin += bytes;
    return true;
  }
};

// Goes through `values` numbers of `bits` bits, at most 32. Calls run(number, count) and
// packed(bytes, count), whose bytes hold so many numbers. Returns false if the numbers end early or
// one of the two functions says so.
template <typename Run, typename Packed>
bool ForEachRun(PackedBytes bytes, uint32_t bits, size_t values, const Run& run,
                const Packed& packed) {
  while (values > 0) {
    uint32_t header;
    if (!bytes.TakeVarint(&header)) return false;
    size_t count = header >> 1;
    if ((header & 1) == 0) {
      uint32_t number;
      if (!bytes.TakeLittleEndian((bits + 7) / 8, &number)) return false;
      count = std::min(count, values);
      if (count == 0 || !run(number, count)) return false;
    } else {
      const size_t stored = count * bits;
      // The last group may end early, where the numbers do.
      if (stored > bytes.size() && count > (values + 7) / 8) return false;
      count = std::min(count * 8, values);
      const PackedBytes here{bytes.begin, bytes.begin + std::min(stored, bytes.size())};
      if (count == 0 || (count * bits + 7) / 8 > here.size() || !packed(here, count)) return false;
      bytes.begin = here.end;
    }
    values -= count;
  }
  return true;
}

// Whether `values` numbers of one bit are all 1.
inline bool AllAreSet(PackedBytes bytes, size_t values) {
  return ForEachRun(
      bytes, 1, values, [](uint32_t number, size_t) { return number == 1; },
      [](PackedBytes packed, size_t count) {
        const uint8_t* const whole = packed.begin + count / 8;
        const uint32_t rest = (1U << count % 8) - 1;
        return std::all_of(packed.begin, whole, [](uint8_t byte) { return byte == 0xff; }) &&
               (rest == 0 || (*whole & rest) == rest);
      });
}

// How many numbers of `bits` bits are cut from one word of eight bytes, if the first of them begins
// in its first byte, after as many others.
constexpr size_t NumbersInWord(uint32_t bits) {
  return bits <= 8 ? 8 : bits <= 16 ? 4 : bits <= 29 ? 2 : 1;
}

// Calls function(i, number) for the numbers of `bits` bits, at most 32, that begin `bytes`, as many
// of `count` as lie in whole words, kInWord in each. Returns how many these are.
template <size_t kInWord, typename Function>
size_t ForEachInWords(PackedBytes bytes, uint32_t bits, size_t count, const Function& function) {
  constexpr size_t kWord = sizeof(uint64_t);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  size_t i = 0;
  if (bytes.size() < kWord) return i;
  const size_t last = bytes.size() - kWord;  // where a word may begin
  for (; i + kInWord <= count && i * bits / 8 <= last; i += kInWord) {
    uint64_t word;
    std::memcpy(&word, bytes.begin + i * bits / 8, kWord);
    word >>= i * bits % 8;
    for (size_t k = 0; k < kInWord; ++k, word >>= bits) function(i + k, word & mask);
  }
  return i;
}

// Calls function(i, number) for `count` numbers of `bits` bits, at most 32, which `bytes` holds.
template <typename Function>
void ForEachPacked(PackedBytes bytes, uint32_t bits, size_t count, const Function& function) {
  const size_t in_word = NumbersInWord(bits);
  size_t i = in_word == 8   ? ForEachInWords<8>(bytes, bits, count, function)
             : in_word == 4 ? ForEachInWords<4>(bytes, bits, count, function)
             : in_word == 2 ? ForEachInWords<2>(bytes, bits, count, function)
                            : ForEachInWords<1>(bytes, bits, count, function);
  const uint64_t mask = (uint64_t{1} << bits) - 1;
  for (; i < count; ++i) {
    const size_t at = i * bits / 8;
    uint64_t word = 0;
    std::memcpy(&word, bytes.begin + at, std::min(bytes.size() - at, sizeof(word)));
    function(i, word >> i * bits % 8 & mask);
  }
}

// Writes the value of a dictionary at each of `values` packed places. Returns whether there are so
// many, all of them in the dictionary, which has `size` values, one at least.
template <typename T>
bool LookUp(PackedBytes places, uint32_t bits, size_t values, const T* dictionary, size_t size,
            T* out) {
  if (bits > 32) return false;
  const auto run = [&](uint32_t place, size_t count) {
    if (place >= size) return false;
    out = std::fill_n(out, count, dictionary[place]);
    return true;
  };
  const auto packed = [&](PackedBytes bytes, size_t count) {
    T* const to = out;
    out += count;
    if (uint64_t{1} << bits <= size) {  // no place is beyond it
      ForEachPacked(bytes, bits, count,
                    [&](size_t i, uint64_t place) { to[i] = dictionary[place]; });
      return true;
    }
    uint64_t most = 0;
    ForEachPacked(bytes, bits, count, [&](size_t i, uint64_t place) {
      most = std::max(most, place);
      to[i] = dictionary[place < size ? place : 0];
    });
    return most < size;
  };
  return ForEachRun(places, bits, values, run, packed);
}

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_PACKED_NUMBERS_H_
