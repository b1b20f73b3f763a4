// SPDX-License-Identifier: Apache-2.0
// Forks of a process that runs Python.
#ifndef MILLHOPPER_PYTHON_CORE_FORKS_H_
#define MILLHOPPER_PYTHON_CORE_FORKS_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// A fork waits for the pool's workers, which may wait for the interpreter in turn, so whoever forks
// with it must have waited before, without it. Python's own forks call hold_workers and
// let_workers_go, which this adds to the module, when they have no lock yet. Those that Python
// makes without a word (subprocess with user= or group=) are seen to by a handler of fork.
void DefineForks(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_FORKS_H_
