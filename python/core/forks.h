// SPDX-License-Identifier: Apache-2.0
// Forks of a process that runs Python: the only handlers of forks in python/core. What a child may
// do with what its parent has made is said in framework/base/forks.h and millhopper/base/forks.py.
#ifndef MILLHOPPER_PYTHON_CORE_FORKS_H_
#define MILLHOPPER_PYTHON_CORE_FORKS_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// A fork waits for the workers of the pool, and these may wait for the interpreter in turn. So a
// thread that forks while it holds the interpreter must have waited for the workers before, without
// it. Python's own forks call hold_workers and let_workers_go, which this adds to the module. For
// forks that Python makes without calling them (subprocess with user= or group=) a handler of fork
// does the same. In the child it also resets what the parent's other threads were at.
void DefineForks(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_FORKS_H_
