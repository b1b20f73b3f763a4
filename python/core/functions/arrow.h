// SPDX-License-Identifier: Apache-2.0
// The PyCapsules in which objects of Python hand out Arrow's structs.
// Source: https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html.
#ifndef MILLHOPPER_PYTHON_CORE_FUNCTIONS_ARROW_H_
#define MILLHOPPER_PYTHON_CORE_FUNCTIONS_ARROW_H_

#include <pybind11/pybind11.h>

#include "readers/arrow/arrow_c_data.h"

namespace millhopper {

constexpr char kArrowSchemaCapsule[] = "arrow_schema";
constexpr char kArrowStreamCapsule[] = "arrow_array_stream";

// Takes the struct out of a capsule, which then does not release it.
template <typename Struct>
void TakeArrow(void* content, Struct* out) {
  auto* const from = static_cast<Struct*>(content);
  *out = *from;
  from->release = nullptr;
}

void DefineArrow(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_FUNCTIONS_ARROW_H_
