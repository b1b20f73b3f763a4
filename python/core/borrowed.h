// SPDX-License-Identifier: Apache-2.0
// Memory that Python owns, as a buffer of the core.
#ifndef MILLHOPPER_PYTHON_CORE_BORROWED_H_
#define MILLHOPPER_PYTHON_CORE_BORROWED_H_

#include <pybind11/pybind11.h>

#include <cstddef>

#include "framework/base/memory.h"

namespace millhopper {

// The memory at `data`, which `owner` keeps for as long as the buffer exists; its values must not
// change before. The buffer may be dropped by any thread, with the interpreter or without, also
// when the interpreter is gone: the owner is let go later, when Python runs. The caller has the
// interpreter.
Ref<Buffer> Borrow(void* data, size_t bytes, pybind11::object owner);

// Has the owners of buffers that were dropped without the interpreter let go when Python runs next.
// With the interpreter: whoever comes back to it.
void LetDepartedGo();
// Lets them go at once. With the interpreter, where any code of Python may run.
void LetDepartedGoNow();

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_BORROWED_H_
