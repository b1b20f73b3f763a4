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

// Runs a startup program in a scope of its own when a pass begins, and reads one of its readers.
// Any thread of Python may call the functions. They work one at a time, and the interpreter is free
// while C++ works. A function of map that the reader calls must not use the reader; that throws
// kInvalidArgument.
class PythonReader {
 public:
  // Checks the program and runs nothing. `variable` names the reader; if it is empty, the reader
  // that is created last is taken. Throws kInvalidArgument.
  PythonReader(std::shared_ptr<const Program> program, std::string variable, uint64_t seed);
  ~PythonReader();

  // Begins pass number `pass`, at whatever point the reader is, and returns the number of the loop
  // that reads it. The previous loop ends.
  uint64_t Begin(uint64_t pass);
  // Returns the next element of this loop as a dict by slot name, or none at the end of the pass.
  // There must be as many names as slots; if there are no names, they are "slot0", "slot1" ...
  // Throws kInvalidArgument if another loop has begun meanwhile.
  std::optional<pybind11::dict> Next(uint64_t loop);
  // Releases all that the pass holds (threads' work, files, memory), if this loop still reads it.
  // In a function of map this happens soon after, on another thread.
  void Release(uint64_t loop);
  // Begins a pass, reads all of it and returns the number of its elements. It measures what the
  // same loop costs in C++.
  uint64_t ReadThrough(uint64_t pass);

  void SetNames(const std::vector<std::string>& names);
  // The number of elements of a pass, if it is known without reading one.
  std::optional<uint64_t> Length();
  // The counters of all readers of the chain, over all loops so far. Waits for a thread that reads
  // now.
  ChainStats Stats();
  // The slots, as far as they are known now.
  std::vector<SlotSpec> Slots();
  // The dtype of each slot in the last element; empty before the first one.
  const std::vector<DataType>& dtypes() const { return dtypes_; }
  const std::string& variable() const { return variable_; }
  // Whether the thread is in a function of map that this reader calls.
  bool CallsThisThread() const;

 private:
  // The readers, while a loop reads. It is an object of its own, because a thread without the
  // interpreter may have to close it when the PythonReader is gone.
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
    uint64_t pass = 0;                   // the pass that the reader is in
    std::atomic<uint64_t> loop{0};       // the last loop, counted from 1. Set with the mutex.
  };

  // Calls the function without the interpreter and with the mutex. A Ctrl-C becomes
  // KeyboardInterrupt.
  template <typename Function>
  void Work(Function function);
  void Open();
  // Returns the reader of a running loop. To be called without the interpreter, with the mutex
  // held.
  ReaderBase& OfLoop(uint64_t loop);
  pybind11::dict ToDict(std::vector<LoDTensor>* element);

  const std::shared_ptr<const Program> program_;
  const uint64_t seed_;
  std::string variable_;
  const uint64_t number_;  // for OpensReader and PythonCall
  std::shared_ptr<Chain> chain_ = std::make_shared<Chain>();
  // Guarded by the interpreter.
  std::vector<pybind11::str> names_;
  std::vector<LoDTensor> spare_;  // empty tensors for the next element
  std::vector<DataType> dtypes_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_READER_H_
