// SPDX-License-Identifier: Apache-2.0
// Reads whole files of text, such as indexes and vocabularies, and makes numbers of words.
#ifndef MILLHOPPER_READERS_SUPPORT_TEXT_FILE_H_
#define MILLHOPPER_READERS_SUPPORT_TEXT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "framework/base/limits.h"
#include "framework/memory/buffer.h"

namespace millhopper {

// What a file holds, in memory that counts towards the limit.
class Text {
 public:
  explicit Text(PooledVector<char> bytes) : bytes_(std::move(bytes)) {}
  const char* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  operator std::string_view() const {  // NOLINT(google-explicit-constructor): it is one that owns
    return {data(), size()};
  }

 private:
  PooledVector<char> bytes_;
};

// The whole content, decompressed. `what` is what an error calls the file, such as "index". Throws
// kResourceLimit with the file's name for more than `most` bytes, and what reading and taking
// memory throw.
Text ReadTextFile(const std::string& path, const char* what, uint64_t most = kMaxUnsizedBytes);

// The words of a file, one a line. The number of a word is that of its line, from 0 on. A line ends
// at LF, CR LF or CR; an empty line is the empty word. The mark of UTF-8 is no part of the first
// word. Its memory counts towards the limit. Immutable once made; any thread.
class Vocabulary {
 public:
  // Throws kDataLoss with file, byte and lines for a word that stands in the file twice, and what
  // ReadTextFile throws.
  explicit Vocabulary(const std::string& path);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // -1 if there is no such word.
  int64_t Find(std::string_view word) const {
    return static_cast<int64_t>(places_[PlaceOf(word)]) - 1;
  }
  size_t size() const { return words_.size(); }

 private:
  // Where the number of a word stands, or would stand.
  size_t PlaceOf(std::string_view word) const;

  const Text text_;
  PooledVector<std::string_view> words_;  // in text_
  PooledVector<uint32_t> places_;         // a hash table: numbers of words and 1; 0 is free
};

// A word as one of `buckets` numbers, which must not be 0: XXH64 of its bytes with seed 0, modulo
// buckets.
uint64_t HashBucket(std::string_view word, uint64_t buckets);

// A word for an error: escaped, and cut if it is long.
std::string Shown(std::string_view word);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_TEXT_FILE_H_
