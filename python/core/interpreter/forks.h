// SPDX-License-Identifier: Apache-2.0
// Forks of a process that runs Python. No other file of python/core handles forks.
// framework/base/forks.h and millhopper/base/forks.py say what a child may do with what its parent
// has made.
#ifndef MILLHOPPER_PYTHON_CORE_INTERPRETER_FORKS_H_
#define MILLHOPPER_PYTHON_CORE_INTERPRETER_FORKS_H_

#include <pybind11/pybind11.h>

namespace millhopper {

// A fork waits for the worker threads of the pool, which may wait for the interpreter. So a thread
// that holds the interpreter must release it and wait for the workers before it forks. Python's own
// forks call pause_workers and resume_workers, which this function adds to the module. Some forks
// of Python do not call them (subprocess with user= or group=); for those a fork handler does the
// same. In the child the handler also resets the state of the parent's other threads.
void DefineForks(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_INTERPRETER_FORKS_H_
