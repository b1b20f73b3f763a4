// SPDX-License-Identifier: Apache-2.0
// Pages of a column of plain numbers, as Parquet stores them (README.md and Encodings.md of
// apache/parquet-format): a page of the dictionary, if there is one, and pages of numbers or of
// their places in the dictionary. Where a number may be null, a page of numbers begins with a level
// for each: packed numbers of one bit, in the first version of pages after their length in four
// bytes, in the second one outside of what is compressed. Knows nothing of headers and checksums of
// pages, which the library that finds the pages reads.
#ifndef MILLHOPPER_READERS_ARROW_FLAT_PAGES_H_
#define MILLHOPPER_READERS_ARROW_FLAT_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "readers/support/packed_numbers.h"

namespace millhopper {

enum class FlatPageKind {
  kDictionary,  // numbers, one after another
  kNumbers,     // numbers, one after another
  kPlaces,      // a byte with the bits of a place, then places, which are packed numbers
  kOther,       // what this decoder does not know
};

// A page as its header describes it. The header is not trusted; only `stored` is known to be
// readable.
struct FlatPage {
  FlatPageKind kind = FlatPageKind::kOther;
  PackedBytes stored{};       // those of a dictionary must stay as long as the decoder
  bool compressed = true;     // false for a plain page in a column that is compressed
  int64_t expanded = 0;       // how many bytes a page of numbers or places has when it is expanded
  int64_t values = 0;         // numbers, or places
  bool levels_packed = true;  // whether the levels, if there are any, are packed numbers
  // The levels of a page of the second version, which are not within `stored` and `expanded`.
  std::optional<PackedBytes> levels;
};

// What the decoder needs from its caller. Both may throw, and the decoder passes that on.
struct FlatPageTools {
  // Memory of so many bytes, one at least, aligned for numbers.
  std::function<std::shared_ptr<uint8_t>(size_t bytes)> allocate;
  // Expands a page to exactly `expanded` bytes; false if it is none of that size. Null if no page
  // is compressed.
  std::function<bool(PackedBytes stored, uint8_t* out, size_t expanded)> expand;
};

// Decodes the pages of a column, in order, into numbers of 4 or 8 bytes. For one thread.
template <typename T>
class FlatPages {
 public:
  // Room for `values` numbers at `out`.
  FlatPages(FlatPageTools tools, bool may_be_null, size_t values, T* out)
      : tools_(std::move(tools)),
        may_be_null_(may_be_null),
        most_(values),
        left_(values),
        out_(out) {}

  // Whether all numbers have been decoded.
  bool is_done() const { return left_ == 0; }

  // Decodes a page. Returns false if it has a null, is stored in another way, has more numbers than
  // are left (a dictionary: than the column), or makes no sense. Then no further page may be
  // decoded.
  bool Take(const FlatPage& page) {
    if (page.values < 0 || page.values > std::numeric_limits<int32_t>::max()) return false;
    const auto values = static_cast<size_t>(page.values);
    switch (page.kind) {
      case FlatPageKind::kDictionary:
        return TakeDictionary(page, values);
      case FlatPageKind::kNumbers:
      case FlatPageKind::kPlaces:
        if (values > left_ || !TakeValues(page, values)) return false;
        out_ += values;
        left_ -= values;
        return true;
      default:
        return false;
    }
  }

 private:
  struct Room {
    std::shared_ptr<uint8_t> bytes;
    size_t size = 0;
  };

  uint8_t* Reserve(size_t bytes, Room* room) {
    if (room->size < bytes) *room = {tools_.allocate(bytes), bytes};
    return room->bytes.get();
  }

  // The bytes of a page: in `room` if they were compressed.
  bool Expand(const FlatPage& page, int64_t expanded, Room* room, PackedBytes* bytes) {
    if (!page.compressed || tools_.expand == nullptr) {
      *bytes = page.stored;
      return expanded >= 0 && bytes->size() == static_cast<size_t>(expanded);
    }
    if (expanded <= 0) return false;
    const auto size = static_cast<size_t>(expanded);
    uint8_t* const to = Reserve(size, room);
    *bytes = {to, to + size};
    return tools_.expand(page.stored, to, size);
  }

  bool TakeDictionary(const FlatPage& page, size_t values) {
    if (values == 0 || values > most_ || dictionary_ != nullptr) return false;
    const size_t size = values * sizeof(T);
    PackedBytes bytes;
    if (!Expand(page, static_cast<int64_t>(size), &dictionary_room_, &bytes)) return false;
    // The bytes of a file need not be aligned.
    if (reinterpret_cast<uintptr_t>(bytes.begin) % alignof(T) != 0) {
      bytes.begin = static_cast<const uint8_t*>(
          std::memcpy(Reserve(size, &dictionary_room_), bytes.begin, size));
    }
    dictionary_ = reinterpret_cast<const T*>(bytes.begin);
    dictionary_size_ = values;
    return true;
  }

  bool TakeValues(const FlatPage& page, size_t values) {
    PackedBytes bytes;
    if (!Expand(page, page.expanded, &page_room_, &bytes)) return false;
    if (may_be_null_) {
      PackedBytes levels;
      if (page.levels) {
        levels = *page.levels;
      } else if (uint32_t size; bytes.TakeLittleEndian(4, &size) && size <= bytes.size()) {
        levels = {bytes.begin, bytes.begin + size};
        bytes.begin += size;
      } else {
        return false;
      }
      if (!page.levels_packed || !AllAreSet(levels, values)) return false;
    }
    if (page.kind == FlatPageKind::kNumbers) {
      if (bytes.size() < values * sizeof(T)) return false;
      if (values > 0) std::memcpy(out_, bytes.begin, values * sizeof(T));
      return true;
    }
    uint32_t bits;
    if (dictionary_ == nullptr) return false;
    if (values == 0) return true;
    return bytes.TakeLittleEndian(1, &bits) &&
           LookUp(bytes, bits, values, dictionary_, dictionary_size_, out_);
  }

  const FlatPageTools tools_;
  const bool may_be_null_;
  const size_t most_;  // numbers in the column
  size_t left_;
  T* out_;
  Room dictionary_room_, page_room_;
  const T* dictionary_ = nullptr;
  size_t dictionary_size_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_FLAT_PAGES_H_
