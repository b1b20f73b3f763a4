// SPDX-License-Identifier: Apache-2.0
#include "python/core/values/python_arrays.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "framework/base/error.h"
#include "python/core/interpreter/borrowed.h"
#include "python/core/values/arrays.h"
#include "python/core/values/numbered.h"

namespace py = pybind11;

namespace millhopper {

namespace {

void CheckOffsets(const std::vector<int64_t>& offsets, int64_t rows) {
  Require(!offsets.empty() && offsets.front() >= 0 && offsets.back() <= rows &&
              std::is_sorted(offsets.begin(), offsets.end()),
          "offsets must not go down, nor beyond the ", rows, " rows of their array");
}

}  // namespace

PythonArrays::PythonArrays(const std::vector<Column>& columns)
    : number_(Numbered<PythonArrays>::All().Next()) {
  Require(!columns.empty(), "there are no arrays");
  columns_.reserve(columns.size());
  for (const Column& given : columns) {
    const py::array& array = given.array;
    Require(array.ndim() >= 1, "an array without axes has no rows");
    ArrayColumn column;
    auto rows = static_cast<uint64_t>(array.shape(0));
    if (given.offsets) {
      std::vector<int64_t> offsets(given.offsets->data(),
                                   given.offsets->data() + given.offsets->size());
      CheckOffsets(offsets, array.shape(0));
      rows = offsets.size() - 1;
      column.offsets = std::make_shared<const std::vector<int64_t>>(std::move(offsets));
    }
    if (columns_.empty()) rows_ = rows;
    Require(rows == rows_, "an array has ", rows, " rows, and the first has ", rows_);
    column.dtype = TypeOf(array.dtype());
    column.row = Dims(std::vector<int64_t>(array.shape() + 1, array.shape() + array.ndim()));
    column.data = static_cast<const char*>(array.data());
    column.stride = array.strides(0);
    column.owner = Borrow(nullptr, 0, array);
    column.text = given.text;
    columns_.push_back(std::move(column));
  }
}

std::shared_ptr<const PythonArrays> PythonArrays::Find(int64_t number) {
  std::shared_ptr<const PythonArrays> arrays = Numbered<PythonArrays>::All().Find(number);
  Require(arrays != nullptr, "there are no arrays ", number,
          " in this process: a program that reads Python's runs in the process that wrote it, as "
          "long as the millhopper.Reader exists whose from_arrays() did");
  return arrays;
}

void DefineArrays(py::module_* module) {
  py::class_<PythonArrays, std::shared_ptr<PythonArrays>>(
      *module, "Arrays", "Arrays that create_python_array_reader reads, by their number.")
      .def(py::init(
               [](const std::vector<
                   std::tuple<py::array, decltype(PythonArrays::Column::offsets), bool>>& given) {
                 std::vector<PythonArrays::Column> columns;
                 columns.reserve(given.size());
                 for (const auto& [array, offsets, text] : given) {
                   columns.push_back({array, offsets, text});
                 }
                 auto made = std::make_shared<PythonArrays>(columns);
                 Numbered<PythonArrays>::All().Register(made->number(), made);
                 return made;
               }),
           py::arg("columns"),
           "Arrays, or sequences of rows with their offsets, and whether these are texts.")
      .def_property_readonly("number", &PythonArrays::number)
      // As of functions; the reader is told the names of its slots.
      .def("names", [](const PythonArrays&) { return py::none(); });
}

}  // namespace millhopper
