// SPDX-License-Identifier: Apache-2.0
// millhopper._core.Queue, through which Python feeds a reader of a C++ program.
#ifndef MILLHOPPER_PYTHON_CORE_QUEUE_H_
#define MILLHOPPER_PYTHON_CORE_QUEUE_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>

#include "python/core/values/values.h"
#include "readers/sources/element_queue.h"

namespace millhopper {

// What a millhopper._core.Queue takes elements for.
struct FedElements {
  std::shared_ptr<ElementQueue> queue;
  ElementForm form;
};

// Those of such an object. From now on reader number `reader` (OpensReader) reads them. The caller
// holds the interpreter. Throws pybind11::cast_error if it is none.
FedElements FedBy(const pybind11::object& queue, uint64_t reader);

// To be called after DefineScope.
void DefineQueue(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_QUEUE_H_
