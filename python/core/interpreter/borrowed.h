// SPDX-License-Identifier: Apache-2.0
// Memory that Python owns, as a buffer of the core.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_BORROWED_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_BORROWED_H_

#include <pybind11/pybind11.h>

#include <cstddef>

#include "framework/memory/memory.h"

namespace millhopper {

// Makes a buffer of the memory at `data`, which `owner` keeps alive for as long as the buffer
// exists. The values must not change meanwhile. Any thread may drop the buffer, with or without the
// interpreter, also when the interpreter is gone: the owner is released later, when Python runs.
// The caller holds the interpreter.
Ref<Buffer> Borrow(void* data, size_t bytes, pybind11::object owner);

// Schedules the release of owners whose buffers were dropped without the interpreter. A thread
// calls it when it has got the interpreter back.
void ReleaseDeparted();
// Releases them at once. The caller holds the interpreter, at a place where any Python code may
// run.
void ReleaseDepartedNow();

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_BORROWED_H_
