// SPDX-License-Identifier: Apache-2.0
// A reader of a startup program, driven from Python.
#ifndef MILLHOPPER_PYTHON_CORE_READER_H_
#define MILLHOPPER_PYTHON_CORE_READER_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/reader.h"
#include "readers/output/written_files.h"

namespace millhopper {

// Runs a startup program in its own scope when a pass begins, and reads one of its readers. Any
// thread of Python may call the functions. Those of one loop work one at a time, and the
// interpreter is free while C++ works. A function of map that the reader calls must not use the
// reader; that throws kInvalidArgument.
class PythonReader {
 public:
  // One pass. It reads a chain of readers that no other pass reads meanwhile.
  class Pass;

  // Checks the program and runs nothing. `variable` names the reader; if it is empty, the reader
  // that is created last is taken. Throws kInvalidArgument.
  PythonReader(std::shared_ptr<const Program> program, std::string variable, uint64_t seed);
  ~PythonReader();

  // Begins pass number `pass`, at its beginning or at a position that Save has returned. If another
  // pass is not over, this one runs the program once more, to have its own readers. Throws
  // kInvalidArgument for what is no position of these readers.
  std::shared_ptr<Pass> Begin(uint64_t pass, const std::optional<std::string>& position = {});
  // Where the last pass that began stands, or stood when it was left; none if it is over, or none
  // has begun. Waits for a thread that reads now. Throws kInvalidArgument, naming the reader, if
  // one of the chain cannot say where it stands.
  std::optional<std::string> Save();
  // Returns the next element of this pass as a dict by slot name, or none at the end of the pass.
  // There must be as many names as slots; if there are no names, they are "slot0", "slot1" ...
  std::optional<pybind11::dict> Next(Pass* pass);
  // Releases all that the pass holds (threads' work, files, memory), if it is not over. In a
  // function of map this happens soon after, on another thread.
  void Release(Pass* pass);
  // Begins a pass, reads all of it and returns the number of its elements. It measures what the
  // same loop costs in C++.
  uint64_t ReadThrough(uint64_t pass);

  // The same, but writes the elements, of slots of these names, to files.
  Written Write(uint64_t pass, const std::string& name, const std::vector<std::string>& names,
                const ShardSize& size, const OutputRules& rules);

  void SetNames(const std::vector<std::string>& names);
  // The number of elements of a pass, if it is known without reading one.
  std::optional<uint64_t> Length();
  // The counters of all readers of the chain, over all loops so far, those that are open as well.
  // Waits for threads that read now.
  ChainStats Stats();
  // The slots, as far as they are known now.
  std::vector<SlotSpec> Slots();
  // The dtype of each slot in the last element; empty before the first one.
  const std::vector<DataType>& dtypes() const { return dtypes_; }
  const std::string& variable() const { return variable_; }
  // The warnings of the operators that create readers (OpSchema::Warn), each with the reader.
  std::vector<std::pair<std::string, std::string>> Warnings() const;
  // The names of the slots that follow those of the reader below (OpSchema::AddsSlots).
  std::vector<std::string> AddedSlots() const;
  // How many lanes the chain ends in, as the program says it, those of all ranks; 1 for a stream.
  int64_t Lanes() const;
  // Whether the thread is in a function of map that this reader calls.
  bool CallsThisThread() const;

 private:
  struct Chain;
  struct Totals;

  // Throws kInvalidArgument in a function of map that this reader calls.
  void RequireOutside() const;
  // Calls the function without the interpreter and with the mutex of the chain. A Ctrl-C becomes
  // KeyboardInterrupt.
  template <typename Function>
  void Work(Chain* chain, Function function);
  // Begins a pass and calls function(reader), which reads all of it, as Work does.
  template <typename Function>
  void WholePass(uint64_t pass, const Function& function);
  // To be called without the interpreter, with the mutex held.
  void Open(Chain* chain);
  pybind11::dict ToDict(const std::vector<SlotSpec>& slots, std::vector<LoDTensor>* element);

  const std::shared_ptr<const Program> program_;
  const uint64_t seed_;
  std::string variable_;
  const uint64_t number_;                 // for OpensReader and PythonCall
  const std::shared_ptr<Totals> totals_;  // of the chains that have been closed
  // The chain that passes read one after another, and that tells slots and lengths.
  const std::shared_ptr<Chain> chain_;
  // Guarded by the interpreter.
  std::shared_ptr<Pass> last_;                // that a loop has begun
  std::vector<std::weak_ptr<Chain>> others_;  // of passes that began while another was not over
  std::vector<pybind11::str> names_;
  std::vector<LoDTensor> spare_;  // empty tensors for the next element
  std::vector<DataType> dtypes_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_READER_H_
