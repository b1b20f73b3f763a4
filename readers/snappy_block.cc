// SPDX-License-Identifier: Apache-2.0
#include "readers/snappy_block.h"

#include <cstdint>
#include <cstring>

namespace millhopper {
namespace {

constexpr size_t kWide = 16;      // bytes that are moved at once
constexpr size_t kMostCopy = 64;  // bytes of a copy
// The fast loop reads and writes beyond what it needs, so it keeps away from both ends: from that
// of the block by a tag, its size or offset, and a wide move; from that of `out` by the longest
// copy and the last of its wide moves.
constexpr size_t kInMargin = 1 + 4 + kWide;
constexpr size_t kOutMargin = kMostCopy + kWide;

uint32_t LittleEndian(const uint8_t* bytes, size_t size) {
  uint32_t number = 0;
  for (size_t i = 0; i < size; ++i) number |= uint32_t{bytes[i]} << 8 * i;
  return number;
}

uint32_t LittleEndian32(const uint8_t* bytes) {
  uint32_t number;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

// A move whose places may overlap by all but `size` bytes.
template <size_t size>
void Move(const uint8_t* from, uint8_t* to) {
  char bytes[size];
  std::memcpy(bytes, from, size);
  std::memcpy(to, bytes, size);
}

// What a tag begins. Its low two bits tell whether that is a literal or a copy with an offset of
// 1, 2 or 4 bytes.
struct Element {
  uint32_t size;    // of what it gives
  uint32_t offset;  // back to where a copy begins; 0 for a literal
};

// The block that is being expanded.
struct Expansion {
  const uint8_t* in;
  const uint8_t* const in_end;
  uint8_t* const begin;
  uint8_t* out;
  uint8_t* const out_end;

  size_t in_left() const { return static_cast<size_t>(in_end - in); }
  size_t out_left() const { return static_cast<size_t>(out_end - out); }
  bool IsBehind(uint32_t offset) const {
    return offset > 0 && offset <= static_cast<size_t>(out - begin);
  }

  bool TakeSize(size_t expanded) {
    uint64_t size = 0;
    for (int shift = 0; shift < 35 && in < in_end; shift += 7) {
      const uint64_t byte = *in++;
      size |= (byte & 0x7f) << shift;
      if (byte < 0x80) return size == expanded;
    }
    return false;
  }

  bool Literal(size_t size) {
    if (size > in_left() || size > out_left()) return false;
    std::memcpy(out, in, size);
    in += size;
    out += size;
    return true;
  }

  // A copy that is at least kOutMargin away from the end.
  void CopyFast(Element copy) {
    const uint8_t* from = out - copy.offset;
    if (copy.offset >= 8 && copy.size <= kWide) {
      Move<8>(from, out);
      Move<8>(from + 8, out + 8);
      out += copy.size;
      return;
    }
    uint8_t* to = out;
    out += copy.size;
    // What repeats in fewer bytes than a move: each round doubles what is there to be moved.
    for (size_t period = copy.offset; period < kWide && to < out; period *= 2) {
      for (size_t i = 0; i < period; ++i) to[i] = from[i];
      to += period;
    }
    for (; to < out; to += kWide, from += kWide) Move<kWide>(from, to);
  }

  // Goes on until one of the ends is near. False if the block is wrong.
  bool ExpandFast() {
    while (in_left() >= kInMargin && out_left() >= kOutMargin) {
      const uint32_t tag = *in++;
      Element copy{};
      switch (tag & 3) {
        case 0: {
          size_t size = (tag >> 2) + 1;
          if (size <= kWide) {
            Move<kWide>(in, out);
            in += size;
            out += size;
            continue;
          }
          if (size > 60) {
            const size_t bytes = size - 60;
            size = size_t{LittleEndian(in, bytes)} + 1;
            in += bytes;
          }
          if (!Literal(size)) return false;
          continue;
        }
        case 1:
          copy = {4 + (tag >> 2 & 7), (tag & 0xe0) << 3 | *in};
          in += 1;
          break;
        case 2:
          copy = {(tag >> 2) + 1, LittleEndian32(in) & 0xffff};
          in += 2;
          break;
        default:
          copy = {(tag >> 2) + 1, LittleEndian32(in)};
          in += 4;
      }
      if (!IsBehind(copy.offset)) return false;
      CopyFast(copy);
    }
    return true;
  }

  // Goes on to the end of the block, byte by byte.
  bool ExpandRest() {
    while (in < in_end) {
      const uint32_t tag = *in++;
      const uint32_t kind = tag & 3;
      uint32_t size = (tag >> 2) + 1;
      if (kind == 0) {
        size_t literal = size;
        if (size > 60) {
          const size_t bytes = size - 60;
          if (bytes > in_left()) return false;
          literal = size_t{LittleEndian(in, bytes)} + 1;
          in += bytes;
        }
        if (!Literal(literal)) return false;
        continue;
      }
      const size_t bytes = kind == 3 ? 4 : kind;
      if (bytes > in_left()) return false;
      uint32_t offset = LittleEndian(in, bytes);
      in += bytes;
      if (kind == 1) {
        size = 4 + (tag >> 2 & 7);
        offset |= (tag & 0xe0) << 3;
      }
      if (!IsBehind(offset) || size > out_left()) return false;
      for (uint32_t i = 0; i < size; ++i, ++out) *out = *(out - offset);
    }
    return out == out_end;
  }
};

}  // namespace

bool ExpandSnappyBlock(const char* block, size_t size, char* out, size_t expanded) {
  const auto* const in = reinterpret_cast<const uint8_t*>(block);
  auto* const to = reinterpret_cast<uint8_t*>(out);
  Expansion expansion{in, in + size, to, to, to + expanded};
  return expansion.TakeSize(expanded) && expansion.ExpandFast() && expansion.ExpandRest();
}

}  // namespace millhopper
