// SPDX-License-Identifier: Apache-2.0
// A reader of a startup program, driven from Python.
#ifndef MILLHOPPER_PYTHON_CORE_READER_H_
#define MILLHOPPER_PYTHON_CORE_READER_H_

#include <pybind11/pybind11.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/reader.h"

namespace millhopper {

// Runs a startup program, in a scope of its own, when a pass begins, and reads one of its readers.
// All functions may be called by any thread of Python, one of them works at a time; the interpreter
// is free while C++ works. A function of map that the reader calls cannot have it work, which is
// kInvalidArgument.
class PythonReader {
 public:
  // Checks the program and runs nothing. `variable` names the reader; empty is the one that is
  // created last. Throws kInvalidArgument.
  PythonReader(std::shared_ptr<const Program> program, std::string variable, uint64_t seed);
  ~PythonReader();

  // Begins pass number `pass`, from wherever the reader is, and returns the number of the loop that
  // reads it. The loop before it ends.
  uint64_t Begin(uint64_t pass);
  // The next element of this loop as a dict by slot name, or none at the end of the pass. There
  // must be as many names as slots, or none: then they are "slot0", "slot1" ... Throws
  // kInvalidArgument if another loop has begun meanwhile.
  std::optional<pybind11::dict> Next(uint64_t loop);
  // Gives back all that the pass holds, if this loop still reads it: threads' work, files, memory.
  // Within a function of map that happens soon, by another thread.
  void Release(uint64_t loop);
  // Begins a pass, reads all of it and returns how many elements that were: what the same loop
  // costs in C++.
  uint64_t ReadThrough(uint64_t pass);

  void SetNames(const std::vector<std::string>& names);
  // How many elements a pass has, where that is known without reading one.
  std::optional<uint64_t> Length();
  // What the readers of the chain have done, in all loops so far. Waits for who reads now.
  ChainStats Stats();
  // As known now: (dtype, dims, levels of detail) each.
  std::vector<SlotSpec> Slots();
  // How the values of each slot came in the last element; empty before the first one.
  const std::vector<DataType>& dtypes() const { return dtypes_; }
  const std::string& variable() const { return variable_; }
  // Whether the thread is in a function of map that this reader calls.
  bool CallsThisThread() const;

 private:
  // What reads, as long as something does. On its own, for it may have to be closed by a thread
  // that is without the interpreter, when the PythonReader is gone.
  struct Chain {
    void Close() {
      if (reader != nullptr) {
        ChainStats now = reader->Stats();
        now.Add(before);
        now.ClearPresent();
        before = std::move(now);
      }
      reader.reset();
      scope.reset();
    }
    std::mutex mutex;  // taken without the interpreter
    std::unique_ptr<Scope> scope;
    std::unique_ptr<ReaderBase> reader;  // shares the one in scope
    ChainStats before;                   // of the readers that have been closed
    uint64_t pass = 0;                   // that the reader is in
    std::atomic<uint64_t> loop{0};       // that reads it; how many there were. Set with the mutex.
  };

  // Calls it without the interpreter and with the mutex; a Ctrl-C becomes KeyboardInterrupt.
  template <typename Function>
  void Work(Function function);
  void Open();
  // The reader of a running loop. Without the interpreter, the mutex held.
  ReaderBase& OfLoop(uint64_t loop);
  pybind11::dict ToDict(std::vector<LoDTensor>* element);

  const std::shared_ptr<const Program> program_;
  const uint64_t seed_;
  std::string variable_;
  const uint64_t number_;  // as what it calls functions
  std::shared_ptr<Chain> chain_ = std::make_shared<Chain>();
  // Guarded by the interpreter.
  std::vector<pybind11::str> names_;
  std::vector<LoDTensor> spare_;  // empty tensors for the next element
  std::vector<DataType> dtypes_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_READER_H_
