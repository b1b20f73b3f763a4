// SPDX-License-Identifier: Apache-2.0
// A block is the number of its expanded bytes, as a varint, then elements: literals, which hold
// bytes, and copies of bytes that have been expanded. The two lowest bits of an element's tag tell
// its kind:
//
//   0  a literal; the others are its length - 1, or from 60 on how many bytes (1 to 4) hold that
//   1  a copy of 4 to 11 bytes; a byte and three bits of the tag say how far back they begin
//   2  a copy of 1 to 64 bytes; two bytes say how far back
//   3  the same; four bytes say how far back
#include "readers/support/snappy_block.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace millhopper {
namespace {

constexpr size_t kVector = 16;  // bytes that are copied at once, whether all are needed or not
constexpr size_t kMostCopied = 64;
// Before the ends, so many bytes are read and written of one literal and one copy that are short.
constexpr size_t kBytesOfShort = 2 * kVector;

template <typename T>
T LoadAt(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(value));
  return value;
}

void CopyVector(const uint8_t* from, uint8_t* to) {
  char bytes[kVector];
  std::memcpy(bytes, from, kVector);
  std::memcpy(to, bytes, kVector);
}

// What the tag of a copy of at most kVector bytes says. All other tags have a distance of 0, which
// is less than their length.
struct ShortCopy {
  uint16_t length = 1;
  uint16_t mask = 0;  // of the two bytes after the tag, those of the distance
  uint16_t more = 0;  // of the distance, that the tag has
};

constexpr std::array<ShortCopy, 256> MakeShortCopies() {
  std::array<ShortCopy, 256> copies{};
  for (uint32_t tag = 0; tag < copies.size(); ++tag) {
    ShortCopy& copy = copies[tag];
    const auto length = static_cast<uint16_t>((tag >> 2) + 1);
    if (tag % 4 == 1) {
      copy.length = (tag >> 2) % 8 + 4;
      copy.mask = 0xff;
      copy.more = static_cast<uint16_t>(tag >> 5 << 8);
    } else if (tag % 4 == 2 && length <= kVector) {
      copy.length = length;
      copy.mask = 0xffff;
    }
  }
  return copies;
}

constexpr std::array<ShortCopy, 256> kShortCopies = MakeShortCopies();

class Expansion {
 public:
  Expansion(const char* block, size_t size, char* out, size_t expanded)
      : in_(reinterpret_cast<const uint8_t*>(block)),
        in_end_(in_ + size),
        begin_(reinterpret_cast<uint8_t*>(out)),
        out_(begin_),
        out_end_(begin_ + expanded) {}

  bool Run() {
    if (!TakeSize()) return false;
    while (in_ < in_end_) {
      TakeShort();
      if (!TakeOne()) return false;
    }
    return out_ == out_end_;
  }

 private:
  size_t left() const { return static_cast<size_t>(in_end_ - in_); }
  size_t room() const { return static_cast<size_t>(out_end_ - out_); }

  bool TakeSize() {
    uint64_t size = 0;
    for (uint32_t shift = 0; shift < 35 && in_ < in_end_; shift += 7) {
      const uint64_t byte = *in_++;
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) return size == room() && size <= UINT32_MAX;
    }
    return false;
  }

  // Takes a copy, or a literal and the copy after it, as long as they are short and not at the end.
  // Leaves all others, and what is wrong, to TakeOne; there is always an element left.
  //
  // The processor is busy with the elements that follow before it knows where they begin, because
  // it foresees branches, but no places that are computed. So the most frequent literal has a
  // branch of its own: in numbers of eight bytes below 2^32, three bytes that differ and five that
  // have been there. Whether a copy has two or three bytes cannot be foreseen: that is computed.
  void TakeShort() {
    const uint8_t* in = in_;
    uint8_t* out = out_;
    if (left() <= kBytesOfShort || room() <= kBytesOfShort) return;
    const uint8_t* const last = in_end_ - kBytesOfShort;
    uint8_t* const last_out = out_end_ - kBytesOfShort;
    constexpr uint32_t kThree = 2 << 2;  // the tag of a literal of three bytes
    while (in < last && out < last_out) {
      const uint32_t tag = *in;
      if (tag == kThree) {
        const auto bytes = LoadAt<uint32_t>(in + 1);
        std::memcpy(out, &bytes, sizeof(bytes));
        in += 4;
        out += 3;
      } else if (tag % 4 == 0) {
        const size_t length = (tag >> 2) + 1;
        if (length > kVector) break;
        CopyVector(in + 1, out);
        in += length + 1;
        out += length;
      }
      const auto element = LoadAt<uint32_t>(in);
      const ShortCopy copy = kShortCopies[element % 256];
      const size_t distance = (element >> 8 & copy.mask) + copy.more;
      if (distance < copy.length || distance > static_cast<size_t>(out - begin_)) break;
      CopyVector(out - distance, out);
      in += 3 - element % 2;
      out += copy.length;
    }
    in_ = in;
    out_ = out;
  }

  bool TakeOne() {
    const uint32_t tag = *in_++;
    size_t length = tag >> 2;
    size_t number = 0;
    if (tag % 4 == 0) {
      if (length >= 60) {
        if (!TakeNumber(length - 59, &number)) return false;
        length = number;
      }
      return TakeLiteral(length + 1);
    }
    if (!TakeNumber(tag % 4 == 3 ? 4 : tag % 4, &number)) return false;
    return tag % 4 == 1 ? Copy(length % 8 + 4, (tag >> 5 << 8) + number) : Copy(length + 1, number);
  }

  // The lowest byte is the first one.
  bool TakeNumber(size_t bytes, size_t* number) {
    if (bytes > left()) return false;
    std::memcpy(number, in_, bytes);
    in_ += bytes;
    return true;
  }

  bool TakeLiteral(size_t length) {
    if (length > left() || length > room()) return false;
    std::memcpy(out_, in_, length);
    in_ += length;
    out_ += length;
    return true;
  }

  // Copies bytes that begin `distance` bytes before the next one, and may end beyond it: then they
  // repeat.
  bool Copy(size_t length, size_t distance) {
    if (distance == 0 || distance > static_cast<size_t>(out_ - begin_) || length > room()) {
      return false;
    }
    const uint8_t* from = out_ - distance;
    uint8_t* const end = out_ + length;
    if (room() >= kMostCopied + 2 * kVector) {
      // What repeats becomes twice as long with each vector, until it is as long as one.
      uint8_t* to = out_;
      for (; to - from < ptrdiff_t{kVector}; to += to - from) CopyVector(from, to);
      for (; to < end; to += kVector, from += kVector) CopyVector(from, to);
    } else {
      for (uint8_t* to = out_; to < end; ++to, ++from) *to = *from;
    }
    out_ = end;
    return true;
  }

  const uint8_t* in_;
  const uint8_t* const in_end_;
  uint8_t* const begin_;
  uint8_t* out_;
  uint8_t* const out_end_;
};

}  // namespace

bool ExpandSnappyBlock(const char* block, size_t size, char* out, size_t expanded) {
  return Expansion(block, size, out, expanded).Run();
}

}  // namespace millhopper
