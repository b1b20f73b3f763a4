// SPDX-License-Identifier: Apache-2.0
// The value that fills up sequences which are shorter than others.
#ifndef MILLHOPPER_READERS_SUPPORT_PAD_VALUE_H_
#define MILLHOPPER_READERS_SUPPORT_PAD_VALUE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// A number as the bytes of a value of some type.
class PadValue {
 public:
  // Throws kInvalidArgument if an integer type, or bool, cannot hold the number.
  PadValue(double number, DataType dtype);
  // Writes so many values to a place that is aligned for the type.
  void Fill(char* place, size_t values) const;

 private:
  size_t size_;        // bytes of a value
  uint64_t bits_ = 0;  // the value, in the lowest bytes
};

// What is given for each of so many slots: one for each of them, or one for all, or none, which is
// 0 for all. Throws kInvalidArgument "2 <what> for 3 slots" for another count.
template <typename T>
std::vector<T> OneForEach(const std::vector<T>& given, size_t slots, const char* what) {
  Require(given.size() <= 1 || given.size() == slots, given.size(), " ", what, " for ", slots,
          " slots; give one for each, or one for all");
  return given.size() > 1 ? given : std::vector<T>(slots, given.empty() ? T{} : given[0]);
}

// The same for numbers. Throws kInvalidArgument for one that the slot's type cannot hold, too.
std::vector<double> PadNumbers(const std::vector<double>& numbers,
                               const std::vector<SlotSpec>& slots);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SUPPORT_PAD_VALUE_H_
