// SPDX-License-Identifier: Apache-2.0
// A reader of a startup program, driven from Python.
#ifndef MILLRACE_PYTHON_CORE_READER_H_
#define MILLRACE_PYTHON_CORE_READER_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "framework/program.h"
#include "framework/reader.h"
#include "framework/scope.h"

namespace millrace {

// Runs a startup program, in a scope of its own, when a pass begins, and reads one of its readers.
// All functions may be called by any thread of Python, one of them works at a time; the interpreter
// is free while C++ works.
class PythonReader {
 public:
  // Checks the program and runs nothing. `variable` names the reader; empty is the one that is
  // created last. Throws kInvalidArgument.
  PythonReader(std::shared_ptr<const Program> program, std::string variable, uint64_t seed);
  ~PythonReader();

  // Begins pass number `pass`, from wherever the reader is.
  void Begin(uint64_t pass);
  // The next element as a dict by slot name, or None at the end of the pass. There must be as many
  // names as slots, or none: then they are "slot0", "slot1" ... Throws kInvalidArgument before
  // Begin.
  pybind11::object Next();
  // Gives back all that the running pass holds: threads' work, files, memory. Begin is next.
  void Release();

  void SetNames(const std::vector<std::string>& names);
  // As known now: (dtype, dims, levels of detail) each.
  std::vector<SlotSpec> Slots();
  const std::string& variable() const { return variable_; }

 private:
  void Open();

  const std::shared_ptr<const Program> program_;
  const uint64_t seed_;
  std::string variable_;
  std::mutex mutex_;  // taken without the interpreter
  std::unique_ptr<Scope> scope_;
  std::unique_ptr<ReaderBase> reader_;  // shares the one in scope_
  uint64_t pass_ = 0;                   // that reader_ is in
  std::vector<pybind11::str> names_;    // guarded by the interpreter
};

}  // namespace millrace

#endif  // MILLRACE_PYTHON_CORE_READER_H_
