// SPDX-License-Identifier: Apache-2.0
// millhopper._core.RecordIOWriter: files of records for programs of any language.
#ifndef MILLHOPPER_PYTHON_CORE_RECORDIO_H_
#define MILLHOPPER_PYTHON_CORE_RECORDIO_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// The class LoDTensor must exist when a tensor is appended, not before.
void DefineRecordio(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_RECORDIO_H_
