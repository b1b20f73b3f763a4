// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/imports.h"

#include <pybind11/numpy.h>

#include "python/core/interpreter/numpy.h"

namespace py = pybind11;

namespace millhopper {
namespace {

const Imports* imports = nullptr;

}  // namespace

void ImportAll() {
  py::detail::npy_api::get();
  FindNumpy();
  const py::module_ errors = py::module_::import("millhopper.errors");
  const py::module_ numpy = py::module_::import("numpy");
  const py::module_ signal = py::module_::import("signal");
  imports = new Imports{errors.attr("Error"),
                        errors.attr("EndOfData"),
                        py::module_::import("millhopper.ragged").attr("Ragged"),
                        py::module_::import("millhopper.ragged").attr("Texts"),
                        numpy.attr("asarray"),
                        numpy.attr("dtype")("uint16"),
                        signal.attr("getsignal"),
                        signal.attr("default_int_handler"),
                        py::module_::import("inspect").attr("unwrap")};
  // numpy 2.0, the last for Python 3.9, imports another module when `copy` is first given.
  imports->asarray(0).attr("astype")(imports->uint16, py::arg("copy") = false);
}

const Imports& Imported() { return *imports; }

}  // namespace millhopper
