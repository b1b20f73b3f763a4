// SPDX-License-Identifier: Apache-2.0
#include "readers/support/pad_value.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "framework/base/error.h"

namespace millhopper {
namespace {

template <typename T>
T Exact(double number, DataType dtype) {
  // Both limits are exact as doubles: the highest value and 1 is a power of two.
  const bool fits = std::trunc(number) == number &&
                    number >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
                    number < std::ldexp(1.0, std::numeric_limits<T>::digits);
  Require(fits, "the padding value ", number, " is no ", ToString(dtype));
  return static_cast<T>(number);
}

template <typename T>
void FillAs(uint64_t bits, char* place, size_t values) {
  std::fill_n(reinterpret_cast<T*>(place), values, static_cast<T>(bits));
}

template <typename T>
uint64_t BitsOf(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

uint64_t BitsOf(double number, DataType dtype) {
  switch (dtype) {
    case DataType::kBool:
      Require(number == 0 || number == 1, "the padding value ", number, " is no bool");
      return BitsOf(static_cast<uint8_t>(number));
    case DataType::kInt16:
      return BitsOf(Exact<int16_t>(number, dtype));
    case DataType::kInt32:
      return BitsOf(Exact<int32_t>(number, dtype));
    case DataType::kInt64:
      return BitsOf(Exact<int64_t>(number, dtype));
    case DataType::kUint8:
      return BitsOf(Exact<uint8_t>(number, dtype));
    case DataType::kInt8:
      return BitsOf(Exact<int8_t>(number, dtype));
    case DataType::kUint16:
      return BitsOf(Exact<uint16_t>(number, dtype));
    case DataType::kUint32:
      return BitsOf(Exact<uint32_t>(number, dtype));
    case DataType::kUint64:
      return BitsOf(Exact<uint64_t>(number, dtype));
    case DataType::kFp16:
      return BitsOf(FloatToFp16(static_cast<float>(number)));
    case DataType::kBf16:
      return BitsOf(FloatToBf16(static_cast<float>(number)));
    case DataType::kFp32:
      return BitsOf(static_cast<float>(number));
    case DataType::kFp64:
      return BitsOf<double>(number);
  }
  Throw(ErrorCode::kInternal, "no padding of type ", static_cast<int>(dtype));
}

}  // namespace

PadValue::PadValue(double number, DataType dtype)
    : size_(SizeOf(dtype)), bits_(BitsOf(number, dtype)) {}

void PadValue::Fill(char* place, size_t values) const {
  if (values == 0) return;
  if (bits_ == 0) {
    std::memset(place, 0, values * size_);
  } else if (size_ == sizeof(uint8_t)) {
    FillAs<uint8_t>(bits_, place, values);
  } else if (size_ == sizeof(uint16_t)) {
    FillAs<uint16_t>(bits_, place, values);
  } else if (size_ == sizeof(uint32_t)) {
    FillAs<uint32_t>(bits_, place, values);
  } else {
    FillAs<uint64_t>(bits_, place, values);
  }
}

std::vector<double> PadNumbers(const std::vector<double>& numbers,
                               const std::vector<SlotSpec>& slots) {
  std::vector<double> all = OneForEach(numbers, slots.size(), "padding values");
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].known) PadValue(all[i], slots[i].dtype);
  }
  return all;
}

}  // namespace millhopper
