// SPDX-License-Identifier: Apache-2.0
#include "operators/image/codecs/exif.h"

#include <cstring>

namespace millhopper {
namespace {

constexpr int kUpright = 1;

// The bytes of a value of an integer type of TIFF; 0 for all others: texts, fractions, and bytes
// without a defined meaning, to which Pillow counts BYTE.
size_t BytesOfInteger(uint32_t type) {
  constexpr uint32_t kShort = 3, kLong = 4, kSignedByte = 6, kSignedShort = 8, kSignedLong = 9;
  constexpr uint32_t kDirectory = 13, kLong8 = 16;
  switch (type) {
    case kSignedByte:
      return 1;
    case kShort:
    case kSignedShort:
      return 2;
    case kLong:
    case kSignedLong:
    case kDirectory:
      return 4;
    case kLong8:
      return 8;
    default:
      return 0;
  }
}

// Numbers of a TIFF structure in the order of bytes that it says. Every read is checked.
class TiffBytes {
 public:
  TiffBytes(const uint8_t* bytes, size_t size) : bytes_(bytes), size_(size) {}

  // Whether the structure begins with an order of bytes and the number 42.
  bool ReadStart() {
    constexpr uint32_t kTiff = 42;
    if (size_ < 4) return false;
    little_ = std::memcmp(bytes_, "II", 2) == 0;
    if (!little_ && std::memcmp(bytes_, "MM", 2) != 0) return false;
    return Number(2, 2) == kTiff;
  }
  bool Has(size_t at, size_t count) const { return at <= size_ && size_ - at >= count; }
  // The number of `count` bytes at a place that the structure has.
  uint64_t Number(size_t at, size_t count) const {
    uint64_t number = 0;
    for (size_t i = 0; i < count; ++i) {
      number = number << 8 | bytes_[at + (little_ ? count - 1 - i : i)];
    }
    return number;
  }

 private:
  const uint8_t* const bytes_;
  const size_t size_;
  bool little_ = false;
};

}  // namespace

int OrientationOf(const uint8_t* tiff, size_t size) {
  constexpr uint64_t kOrientation = 0x0112;
  constexpr size_t kEntryBytes = 12;  // tag, type, count, and the values or, at 8, where they are
  constexpr size_t kInEntry = 4;      // bytes of values that stand in the entry itself
  TiffBytes bytes(tiff, size);
  if (!bytes.ReadStart() || !bytes.Has(4, 4)) return kUpright;
  const size_t directory = bytes.Number(4, 4);
  if (!bytes.Has(directory, 2)) return kUpright;
  const uint64_t entries = bytes.Number(directory, 2);
  for (uint64_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + i * kEntryBytes;
    if (!bytes.Has(entry, kEntryBytes)) return kUpright;
    if (bytes.Number(entry, 2) != kOrientation) continue;
    const size_t one = BytesOfInteger(static_cast<uint32_t>(bytes.Number(entry + 2, 2)));
    const uint64_t count = bytes.Number(entry + 4, 4);
    if (one == 0 || count == 0) return kUpright;
    const size_t all = one * count;
    const size_t values = all <= kInEntry ? entry + 8 : bytes.Number(entry + 8, 4);
    if (!bytes.Has(values, all)) return kUpright;
    // The first of several counts. A number from 1 to 8 is the same with and without a sign.
    const uint64_t orientation = bytes.Number(values, one);
    return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : kUpright;
  }
  return kUpright;
}

int OrientationOfExif(const uint8_t* exif, size_t size) {
  constexpr char kMark[] = "Exif\0";  // and a zero byte after it
  const bool marked = size >= sizeof(kMark) && std::memcmp(exif, kMark, sizeof(kMark)) == 0;
  return marked ? OrientationOf(exif + sizeof(kMark), size - sizeof(kMark))
                : OrientationOf(exif, size);
}

}  // namespace millhopper
