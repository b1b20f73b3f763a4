// SPDX-License-Identifier: Apache-2.0
// millrace._core.RecordIOWriter: files of records for programs of any language.
#ifndef MILLRACE_PYTHON_CORE_RECORDIO_H_
#define MILLRACE_PYTHON_CORE_RECORDIO_H_

#include <pybind11/pybind11.h>

namespace millrace {

// Needs the class LoDTensor when a tensor is appended, not before.
void DefineRecordio(pybind11::module_* module);

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_RECORDIO_H_
