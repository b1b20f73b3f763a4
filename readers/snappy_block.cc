// SPDX-License-Identifier: Apache-2.0
// The format (format_description.txt of google/snappy): the expanded size, 7 bits a byte, the
// lowest first; then elements. The two lowest bits of an element's first byte, its tag, say what it
// is: 0 a literal, whose bytes follow, or 1 to 3 a copy of what lies some bytes before it.
#include "readers/snappy_block.h"

#include <algorithm>
#include <array>
#include <cstddef>
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
constexpr ptrdiff_t kReadRoom = 1 + kLongestCopy + kStep;
constexpr ptrdiff_t kWriteRoom = kLongestShortLiteral + kLongestCopy + kStep;

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

// Writes what lies less than a word before `out` to it again and again, in whole words.
void Repeat(size_t offset, size_t length, uint8_t* out) {
  constexpr std::array<size_t, kWord> kPeriods = {0, 8, 8, 6, 8, 5, 6, 7};  // whole repetitions
  uint64_t word = StoredNumber<uint64_t>(out - offset) & ((uint64_t{1} << 8 * offset) - 1);
  for (size_t bits = 8 * offset; bits < 8 * kWord; bits *= 2) word |= word << bits;
  for (size_t i = 0; i < length; i += kPeriods[offset]) std::memcpy(out + i, &word, kWord);
}

// A place in a block, and in what it expands to, that is far from both ends.
class Middle {
 public:
  Middle(const uint8_t* in, const uint8_t* in_end, uint8_t* begin, uint8_t* out, uint8_t* out_end)
      : in_(in),
        in_stop_(in_end - in < kReadRoom ? in : in_end - kReadRoom),
        begin_(begin),
        out_(out),
        out_stop_(out_end - out < kWriteRoom ? out : out_end - kWriteRoom) {}

  const uint8_t* in() const { return in_; }
  uint8_t* out() const { return out_; }
  // Whether neither end is near.
  bool HasRoom() const { return in_ < in_stop_ && out_ < out_stop_; }

  // Expands an element, or a short literal and the copy behind it; there must be room. Returns
  // false if it comes to one that is not sound, or of a rare kind: a literal with a length of its
  // own, or a copy with an offset of four bytes.
  [[gnu::always_inline]] inline bool Step() {
    uint64_t word = StoredNumber<uint64_t>(in_);
    if ((word & 3) == 0) {
      const size_t length = (word >> 2 & 63) + 1;
      if (length > kLongestInTag) return false;
      if (length > kLongestShortLiteral) {
        for (size_t i = 0; i < length; i += kStep) CopyStep(in_ + 1 + i, out_ + i);
        in_ += 1 + length;
        out_ += length;
        return true;
      }
      // Numbers that have high bytes in common expand from short literals and copies by turns. The
      // tag of the copy is cut from the word, which is sooner there than from memory.
      std::memcpy(out_, in_ + 1, kWord);
      in_ += 1 + length;
      out_ += length;
      word >>= (word & 0xfc) * 2 + 16;
      if ((word & 3) == 0) return true;
    }
    if ((word & 3) == 3) return false;
    const uint32_t copy = kCopies[word & 0xff];
    const size_t length = copy & 0xff;
    const size_t offset = (copy & 0x700) + (word >> 8 & copy >> 16);
    if (offset > static_cast<size_t>(out_ - begin_)) return false;
    if (offset < kWord) {
      if (offset == 0) return false;
      Repeat(offset, length, out_);
    } else {
      const uint8_t* const from = out_ - offset;
      std::memcpy(out_, from, kWord);
      if (length > kWord) {
        std::memcpy(out_ + kWord, from + kWord, kWord);
        for (size_t i = kStep; i < length; i += kStep) CopyStep(from + i, out_ + i);
      }
    }
    in_ += 1 + (word & 3);
    out_ += length;
    return true;
  }

 private:
  const uint8_t* in_;
  const uint8_t* in_stop_;
  uint8_t* begin_;
  uint8_t* out_;
  uint8_t* out_stop_;
};

// A block that is being expanded.
class Expansion {
 public:
  Expansion(const uint8_t* begin, size_t size, uint8_t* out, size_t expanded)
      : in_(begin), in_end_(begin + size), begin_(out), out_(out), out_end_(out + expanded) {}

  bool Finish() {
    while (in_ < in_end_) {
      Middle middle = Here();
      while (middle.HasRoom() && middle.Step()) {
      }
      GoTo(middle);
      if (in_ < in_end_ && !TakeElement()) return false;
    }
    return out_ == out_end_;
  }

  // Where an element lies is known only when the one before it has been looked at. So a processor
  // waits within one block, and does two by turns in three quarters of the time.
  static bool FinishBoth(Expansion* a, Expansion* b) {
    for (bool more_a = false, more_b = false; !more_a || !more_b;) {
      Middle in_a = a->Here(), in_b = b->Here();
      more_a = more_b = true;
      while (more_a && more_b && in_a.HasRoom() && in_b.HasRoom()) {
        more_a = in_a.Step();
        more_b = in_b.Step();
      }
      a->GoTo(in_a);
      b->GoTo(in_b);
      if (!more_a && !a->TakeElement()) return false;
      if (!more_b && !b->TakeElement()) return false;
    }
    return a->Finish() && b->Finish();
  }

 private:
  size_t in_left() const { return static_cast<size_t>(in_end_ - in_); }
  size_t out_left() const { return static_cast<size_t>(out_end_ - out_); }

  Middle Here() const { return {in_, in_end_, begin_, out_, out_end_}; }
  void GoTo(const Middle& middle) {
    in_ = middle.in();
    out_ = middle.out();
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
    if (offset == 0 || offset > static_cast<size_t>(out_ - begin_) || length > out_left()) {
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
  uint8_t* const begin_;
  uint8_t* out_;
  uint8_t* const out_end_;
};

// Takes the size that begins a block. False if it is another one, or none.
bool TakeSize(const SnappyBlock& block, size_t* at) {
  uint64_t declared = 0;
  for (*at = 0; *at < std::min<size_t>(block.size, 5); ++*at) {
    const auto byte = static_cast<uint8_t>(block.begin[*at]);
    declared |= uint64_t{byte & 0x7fU} << 7 * *at;
    if (byte >= 0x80) continue;
    ++*at;
    return declared == block.expanded && declared <= UINT32_MAX;
  }
  return false;
}

// Behind the size, of which there are so many bytes.
Expansion Behind(size_t at, const SnappyBlock& block) {
  return {reinterpret_cast<const uint8_t*>(block.begin) + at, block.size - at,
          reinterpret_cast<uint8_t*>(block.out), block.expanded};
}

}  // namespace

bool ExpandSnappyBlock(const SnappyBlock& block) {
  size_t at;
  return TakeSize(block, &at) && Behind(at, block).Finish();
}

bool ExpandSnappyBlocks(const SnappyBlock& a, const SnappyBlock& b) {
  size_t at_a, at_b;
  if (!TakeSize(a, &at_a) || !TakeSize(b, &at_b)) return false;
  Expansion in_a = Behind(at_a, a), in_b = Behind(at_b, b);
  return Expansion::FinishBoth(&in_a, &in_b);
}

}  // namespace millhopper
