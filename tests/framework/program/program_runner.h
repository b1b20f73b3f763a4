// SPDX-License-Identifier: Apache-2.0
// Programs in tests: built as text from short calls, and run one after another in one scope.
#ifndef MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_PROGRAM_RUNNER_H_
#define MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_PROGRAM_RUNNER_H_

#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/testing.h"

namespace millhopper {

// Slots of an operator, each with the names of its variables.
using SlotTexts = std::vector<std::pair<std::string, std::vector<std::string>>>;
// Attributes by name, with the field that holds the value: {"batch_size", "i: 4"}.
using AttributeTexts = std::vector<std::pair<std::string, std::string>>;

std::string BlockText(int index, int parent, const std::vector<std::string>& parts);
std::string OpText(const std::string& type, const SlotTexts& inputs, const SlotTexts& outputs,
                   const AttributeTexts& attributes = {});
// A tensor variable: TensorText("loss", "FP32", {1}).
std::string TensorText(const std::string& name, const std::string& dtype,
                       const std::vector<int64_t>& dims, int lod_level = 0,
                       bool persistable = false);
// Tensor variables of which no more is declared.
std::string TensorsText(const std::vector<std::string>& names);
// A persistable reader variable; slots are written as {"FP32", {1, 784}}.
using SlotsText = std::vector<std::pair<std::string, std::vector<int64_t>>>;
std::string ReaderText(const std::string& name, const SlotsText& slots = {});
// A reader, and the operator `type` that creates it from the readers below it, if there are any.
std::string CreatedReaderText(const std::string& name, const std::string& type,
                              const std::vector<std::string>& below,
                              const AttributeTexts& attributes = {}, const SlotsText& slots = {});
// An operator that sets a variable to a value: FillText("pass", "INT64", 0).
std::string FillText(const std::string& name, const std::string& dtype, double value);

// A startup program with the operator `type` that makes the reader `out` of the reader `source`.
std::string DecoratorProgram(const std::string& type, const AttributeTexts& attributes,
                             const SlotsText& slots = {});

// A main program that reads all elements of a reader of one slot, each into the variable "element",
// and runs `each` after it. `first` is run before them, but after the first has_next.
std::string ReadingProgram(const std::string& reader, const std::vector<std::string>& each = {},
                           const std::vector<std::string>& first = {});

// Runs programs in one scope, as the executor command does, and keeps what they print.
class ProgramRunner {
 public:
  explicit ProgramRunner(Settings settings = {}, RunState run = {});

  // Each checks, prepares and runs a program called startup.pbtxt or main.pbtxt, and throws the
  // error of the step that fails.
  void Startup(const std::string& text) { Run(text, "startup.pbtxt", ProgramRole::kStartup); }
  void Main(const std::string& text) { Run(text, "main.pbtxt", ProgramRole::kMain); }
  // Runs the last program once more.
  void Again() { last_->Run(); }

  // The problems that checking the text finds, one problem per string.
  std::vector<std::string> Problems(const std::string& text, ProgramRole role) const;
  // Expects that checking a startup program finds one problem, with these words.
  void ExpectProblem(const std::string& text, const std::string& words) const;

  Scope& scope() { return scope_; }
  // A variable of the last program or of the scope.
  const LoDTensor& Tensor(const std::string& name) { return last_->Find(name)->Get<LoDTensor>(); }
  ReaderHolder& Reader(const std::string& name) {
    return *scope_.Var(name)->GetMutable<ReaderHolder>();
  }
  // All elements that a new handle of a reader reads.
  std::vector<ElementValue> ReadAllOf(const std::string& name) {
    return ReadAll(Reader(name).NewHandle().get());
  }
  const RunState& run() const { return last_->run(); }
  std::string printed() const { return printed_.str(); }

 private:
  void Run(const std::string& text, const std::string& name, ProgramRole role);

  const Settings settings_;
  std::ostringstream printed_;
  const Executor executor_;
  Scope scope_;
  std::unique_ptr<PreparedProgram> last_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FRAMEWORK_PROGRAM_PROGRAM_RUNNER_H_
