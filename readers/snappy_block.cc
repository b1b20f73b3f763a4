// SPDX-License-Identifier: Apache-2.0
// The format (format_description.txt of google/snappy): the expanded size, 7 bits a byte, the
// lowest first; then elements. The two lowest bits of an element's first byte, its tag, say what it
// is: 0 a literal, whose bytes follow, or 1 to 3 a copy of what lies some bytes before it.
#include "readers/snappy_block.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "readers/stored_number.h"

namespace millhopper {
namespace {

constexpr size_t kWord = sizeof(uint64_t);
constexpr size_t kStep = 2 * kWord;         // that is copied at once
constexpr size_t kLongestShortLiteral = 4;  // behind which a copy's tag is in the same word
constexpr size_t kLongestInTag = 60;        // a literal whose tag tells its length
constexpr size_t kLongestCopy = 64;
// What an element in the middle of a block may read from its tag on, and write, without a look at
// the ends: a short literal with the copy behind it, or a literal. Both in whole steps.
constexpr size_t kReadRoom = 1 + kLongestCopy + kStep;
constexpr size_t kWriteRoom = kLongestShortLiteral + kLongestCopy + kStep;

// For the tag of a copy of kind 1 or 2: its bytes, the bits of its offset that the tag holds, and
// from bit 16 on a mask of those that follow. Looked up because branches on the kind of copies are
// mispredicted.
constexpr std::array<uint32_t, 256> CopiesByTag() {
  std::array<uint32_t, 256> copies{};
  for (uint32_t tag = 0; tag < copies.size(); ++tag) {
    copies[tag] = (tag & 3) == 1 ? (tag >> 2 & 7) + 4 + (tag >> 5 << 8) + (0xffU << 16)
                                 : (tag >> 2) + 1 + (0xffffU << 16);
  }
  return copies;
}
constexpr std::array<uint32_t, 256> kCopies = CopiesByTag();

// Copies a step, of which the second half may be a copy of the first.
void CopyStep(const uint8_t* from, uint8_t* to) {
  std::memcpy(to, from, kWord);
  std::memcpy(to + kWord, from + kWord, kWord);
}

class Expansion {
 public:
  Expansion(const uint8_t* begin, size_t size, uint8_t* out, size_t expanded)
      : in_(begin), in_end_(begin + size), out_begin_(out), out_(out), out_end_(out + expanded) {}

  bool Run() {
    while (in_ < in_end_) {
      if (!RunInTheMiddle()) return false;
      if (in_ < in_end_ && !TakeElement()) return false;
    }
    return out_ == out_end_;
  }

 private:
  size_t in_left() const { return static_cast<size_t>(in_end_ - in_); }
  size_t out_left() const { return static_cast<size_t>(out_end_ - out_); }

  // Expands elements until one is near an end of the block or of what it expands to, or is of a
  // rare kind, a literal with a length of its own or a copy from far away.
  bool RunInTheMiddle() {
    const uint8_t* in = in_;
    uint8_t* out = out_;
    const uint8_t* const in_stop = in + (in_left() < kReadRoom ? 0 : in_left() - kReadRoom);
    uint8_t* const out_stop = out + (out_left() < kWriteRoom ? 0 : out_left() - kWriteRoom);
    bool sound = true;
    while (in < in_stop && out < out_stop) {
      uint64_t word = StoredNumber<uint64_t>(in);
      if ((word & 3) == 0) {
        const size_t length = (word >> 2 & 63) + 1;
        if (length > kLongestShortLiteral) {
          if (length > kLongestInTag) break;
          CopyStep(in + 1, out);
          for (size_t i = kStep; i < length; i += kStep) CopyStep(in + 1 + i, out + i);
          in += 1 + length;
          out += length;
          continue;
        }
        // Numbers that have high bytes in common expand from short literals and copies by turns.
        // The tag of the copy is cut from the word, which is sooner there than from memory.
        std::memcpy(out, in + 1, kWord);
        in += 1 + length;
        out += length;
        word >>= (word & 0xfc) * 2 + 16;
        if ((word & 3) == 0) continue;
      }
      if ((word & 3) == 3) break;
      const uint32_t copy = kCopies[word & 0xff];
      const size_t length = copy & 0xff;
      const size_t offset = (copy & 0x700) + (word >> 8 & copy >> 16);
      in += 1 + (word & 3);
      if (offset - 1 >= static_cast<size_t>(out - out_begin_)) {
        sound = false;
        break;
      }
      Copy(offset, length, out);
      out += length;
    }
    in_ = in;
    out_ = out;
    return sound;
  }

  // Writes what lies less than a word before `out` to it again and again, in whole words.
  static void Repeat(size_t offset, size_t length, uint8_t* out) {
    constexpr std::array<size_t, kWord> kPeriods = {0, 8, 8, 6, 8, 5, 6, 7};  // whole repetitions
    uint64_t word = StoredNumber<uint64_t>(out - offset) & ((uint64_t{1} << 8 * offset) - 1);
    for (size_t bits = 8 * offset; bits < 8 * kWord; bits *= 2) word |= word << bits;
    for (size_t i = 0; i < length; i += kPeriods[offset]) std::memcpy(out + i, &word, kWord);
  }

  // Copies `length` bytes, at most 64, in whole steps, from `offset` bytes before `out` to it.
  static void Copy(size_t offset, size_t length, uint8_t* out) {
    const uint8_t* from = out - offset;
    if (offset < kWord) return Repeat(offset, length, out);
    std::memcpy(out, from, kWord);
    if (length <= kWord) return;
    std::memcpy(out + kWord, from + kWord, kWord);
    for (size_t i = kStep; i < length; i += kStep) CopyStep(from + i, out + i);
  }

  // Expands one element of any kind, and looks at both ends.
  bool TakeElement() {
    const uint8_t tag = *in_++;
    size_t length = (tag >> 2) + 1;
    size_t offset = 0;
    if ((tag & 3) == 0) {
      if (length > kLongestInTag) {
        if (!TakeNumber(length - kLongestInTag, &length)) return false;
        ++length;
      }
      if (length > in_left() || length > out_left()) return false;
      std::memcpy(out_, in_, length);
      in_ += length;
      out_ += length;
      return true;
    }
    if ((tag & 3) == 1) {
      if (!TakeNumber(1, &offset)) return false;
      length = (tag >> 2 & 7) + 4;
      offset |= size_t{tag & 0xe0U} << 3;
    } else if (!TakeNumber((tag & 3) == 2 ? 2 : 4, &offset)) {
      return false;
    }
    if (offset == 0 || offset > static_cast<size_t>(out_ - out_begin_) || length > out_left()) {
      return false;
    }
    for (; length > 0; --length, ++out_) *out_ = *(out_ - offset);
    return true;
  }

  // Takes a number of so many bytes, at most four.
  bool TakeNumber(size_t bytes, size_t* number) {
    uint32_t stored = 0;
    if (bytes > in_left()) return false;
    std::memcpy(&stored, in_, bytes);
    in_ += bytes;
    *number = stored;
    return true;
  }

  const uint8_t* in_;
  const uint8_t* const in_end_;
  uint8_t* const out_begin_;
  uint8_t* out_;
  uint8_t* const out_end_;
};

}  // namespace

bool ExpandSnappyBlock(const char* block, size_t size, char* out, size_t expanded) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(block);
  uint64_t declared = 0;
  size_t at = 0;
  for (;; ++at) {
    if (at == size || at == 5) return false;
    declared |= uint64_t{bytes[at] & 0x7fU} << 7 * at;
    if (bytes[at] < 0x80) break;
  }
  ++at;
  return declared == expanded && declared <= UINT32_MAX &&
         Expansion(bytes + at, size - at, reinterpret_cast<uint8_t*>(out), expanded).Run();
}

}  // namespace millhopper
