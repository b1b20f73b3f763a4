// SPDX-License-Identifier: Apache-2.0
// Arrays of numpy whose rows a reader reads.
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_PYTHON_ARRAYS_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_PYTHON_ARRAYS_H_

#include <pybind11/numpy.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "readers/sources/array_reader.h"

namespace millhopper {

// Arrays that are kept, not copied. Programs name them by their number, which is valid while some
// code holds the PythonArrays.
class PythonArrays {
 public:
  struct Column {
    // Each row is in C order; with offsets the array is.
    pybind11::array array;
    // ArrayColumn::offsets, which are copied.
    std::optional<pybind11::array_t<int64_t, pybind11::array::c_style>> offsets;
    bool text;  // the bytes are texts in UTF-8
  };

  // The columns have equally many rows. Throws kInvalidArgument for a dtype that Millhopper does
  // not have, and for offsets that go down or beyond the array. The caller holds the interpreter.
  explicit PythonArrays(const std::vector<Column>& columns);
  // Returns the arrays with this number. Throws kInvalidArgument if they do not exist or are gone.
  static std::shared_ptr<const PythonArrays> Find(int64_t number);

  int64_t number() const { return number_; }
  uint64_t rows() const { return rows_; }
  const std::vector<ArrayColumn>& columns() const { return columns_; }

 private:
  const int64_t number_;
  uint64_t rows_ = 0;
  std::vector<ArrayColumn> columns_;
};

void DefineArrays(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_PYTHON_ARRAYS_H_
