// SPDX-License-Identifier: Apache-2.0
// Conversions between all types of values, the 16-bit floats included.
#ifndef MILLHOPPER_OPERATORS_SUPPORT_CONVERSION_H_
#define MILLHOPPER_OPERATORS_SUPPORT_CONVERSION_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "operators/support/arguments.h"

namespace millhopper {

// The 16-bit floats as distinct types.
struct Fp16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};
template <>
constexpr DataType DataTypeOf<Fp16>() {
  return DataType::kFp16;
}
template <>
constexpr DataType DataTypeOf<Bf16>() {
  return DataType::kBf16;
}

using AllTypes = Types<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t, uint16_t,
                       uint32_t, uint64_t, Fp16, Bf16>;

template <typename T>
constexpr bool IsInteger() {
  return std::is_integral_v<T> && !std::is_same_v<T, bool>;
}

// The power of two above the highest value of an integer type, as a float.
template <typename Integer, typename Float>
constexpr Float AboveHighest() {
  return static_cast<Float>(uint64_t{1} << (std::numeric_limits<Integer>::digits - 1)) * 2;
}

// Whether an integer type T can hold `value` without its fraction; true for all other types.
template <typename T>
bool CanHold(float value) {
  if constexpr (IsInteger<T>()) {
    const float whole = std::trunc(value);
    return whole >= static_cast<float>(std::numeric_limits<T>::lowest()) &&
           whole < AboveHighest<T, float>();
  }
  return true;
}

// `from` in another type: fractions are cut off; a float that an integer type cannot hold becomes
// the nearest value that it can, and NaN becomes 0; integers wrap around; every number except 0 is
// true.
template <typename To, typename From>
To Convert(From from) {
  if constexpr (std::is_same_v<To, From>) {
    return from;
  } else if constexpr (std::is_same_v<From, Fp16>) {
    return Convert<To>(Fp16ToFloat(from.bits));
  } else if constexpr (std::is_same_v<From, Bf16>) {
    return Convert<To>(Bf16ToFloat(from.bits));
  } else if constexpr (std::is_same_v<To, Fp16>) {
    return Fp16{FloatToFp16(static_cast<float>(from))};
  } else if constexpr (std::is_same_v<To, Bf16>) {
    return Bf16{FloatToBf16(static_cast<float>(from))};
  } else if constexpr (std::is_same_v<To, bool>) {
    return from != 0;
  } else if constexpr (IsInteger<To>() && std::is_floating_point_v<From>) {
    if (std::isnan(from)) return 0;
    if (from < static_cast<From>(std::numeric_limits<To>::lowest())) {
      return std::numeric_limits<To>::lowest();
    }
    if (from >= AboveHighest<To, From>()) return std::numeric_limits<To>::max();
    return static_cast<To>(from);
  } else {
    return static_cast<To>(from);
  }
}

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_SUPPORT_CONVERSION_H_
