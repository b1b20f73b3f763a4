// SPDX-License-Identifier: Apache-2.0
// Files of text that are read before any record: indexes and vocabularies. Words as numbers.
#ifndef MILLHOPPER_READERS_TEXT_FILE_H_
#define MILLHOPPER_READERS_TEXT_FILE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace millhopper {

// The whole content, decompressed. `what` is what an error calls the file, such as "index". Throws
// kResourceLimit with the file's name for more than kMaxUnsizedBytes, and what reading throws.
std::string ReadTextFile(const std::string& path, const char* what);

// The words of a file, one a line. The number of a word is that of its line, from 0 on. A line ends
// at LF, CR LF or CR; an empty line is the empty word. The mark of UTF-8 is no part of the first
// word. Immutable once made; any thread.
class Vocabulary {
 public:
  // Throws kDataLoss with file, byte and lines for a word that stands in the file twice, and what
  // ReadTextFile throws.
  explicit Vocabulary(const std::string& path);
  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // -1 if there is no such word.
  int64_t Find(std::string_view word) const {
    const auto found = words_.find(word);
    return found == words_.end() ? -1 : found->second;
  }
  size_t size() const { return words_.size(); }

 private:
  const std::string text_;
  std::unordered_map<std::string_view, int64_t> words_;
};

// A word as one of `buckets` numbers, which must not be 0: XXH64 of its bytes with seed 0, modulo
// buckets.
uint64_t HashBucket(std::string_view word, uint64_t buckets);

// A word for an error: escaped, and cut if it is long.
std::string Shown(std::string_view word);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_TEXT_FILE_H_
