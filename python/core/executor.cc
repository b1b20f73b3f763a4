// SPDX-License-Identifier: Apache-2.0
#include "python/core/executor.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"
#include "framework/checkpoint/scope_state.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "operators/readers/support/slot_declaration.h"
#include "python/core/interpreter/deferred_teardown.h"
#include "python/core/interpreter/interpreter_release.h"
#include "python/core/interpreter/interrupt.h"
#include "python/core/interpreter/output.h"
#include "python/core/interpreter/python_call.h"
#include "python/core/scope.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// A program that creates readers is a startup program.
ProgramRole RoleOf(const Program& program) {
  for (const proto::BlockDesc& block : program.desc().blocks()) {
    for (const proto::OpDesc& op : block.ops()) {
      const OperatorDef* const def = FindOperator(op.type());
      if (def != nullptr && def->schema.creates_reader) return ProgramRole::kStartup;
    }
  }
  return ProgramRole::kMain;
}

// Whether a run may wait for readers of the scope: whether it reads them, begins their passes, or
// replaces those that the run before created.
bool MayWaitForReaders(const Program& program) {
  for (const proto::BlockDesc& block : program.desc().blocks()) {
    for (const proto::OpDesc& op : block.ops()) {
      const OperatorDef* const def = FindOperator(op.type());
      if (def == nullptr) continue;
      if (def->schema.creates_reader) return true;
      for (const ParameterSchema& input : def->schema.inputs) {
        if (input.kind == VariableKind::kReader) return true;
      }
    }
  }
  return false;
}

class Prepared {
 public:
  Prepared(const std::shared_ptr<Program>& program, std::shared_ptr<PythonScope> scope,
           const std::string& place, uint64_t seed, bool of_layers)
      : scope_(std::move(scope)), may_wait_(MayWaitForReaders(*program)), of_layers_(of_layers) {
    RunState run;
    run.place = Place::Parse(place);
    run.seed = seed;
    run.output = &output_;
    role_ = RoleOf(*program);
    const InterpreterRelease released;
    prepared_ = Executor(run).Prepare(program, role_, &scope_->scope());
  }
  ~Prepared() {
    // The prepared program points into the scope, so the task keeps both.
    CallOutside([scope = scope_, prepared = std::move(prepared_)]() mutable { prepared.reset(); });
  }
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;

  std::vector<LoDTensor> Run(const std::map<std::string, LoDTensor>& feed,
                             const std::vector<std::string>& fetch) {
    for (const auto& [name, tensor] : feed) {
      Require(tensor.initialized(), "what is fed to '", Escaped(name), "' has no values");
      CheckLod(tensor.lod(), tensor.rows());
    }
    Require(!may_wait_ || !scope_->CallsThisThread(),
            "a program that reads, or creates readers, is run by a function that a reader in "
            "the same scope calls: each would wait for the other; run it in another scope");
    Require(runs_on_.load() != std::this_thread::get_id(),
            "a program is run by what it calls itself, while it runs");
    WatchInterrupts();
    std::optional<UsesReader> uses;
    if (may_wait_) uses.emplace(scope_->number(), "a program");
    std::vector<LoDTensor> fetched;
    WithoutInterpreter([&] {
      const LockOrStop lock(&mutex_);
      const RunsHere runs_here(&runs_on_);
      const OpensReader opens(scope_->number());
      std::optional<DeclaredAs> declared_as;
      if (of_layers_) declared_as.emplace(&LayersDeclaration);
      output_.clear();
      prepared_->Run(feed);
      if (role_ == ProgramRole::kStartup) ExpectSave();
      for (size_t i = 0; i < fetch.size(); ++i) {
        const auto first = std::find(fetch.begin(), fetch.end(), fetch[i]) - fetch.begin();
        const bool again = static_cast<size_t>(first) < i;
        fetched.push_back(again ? fetched[static_cast<size_t>(first)] : Fetch(fetch[i]));
      }
    });
    return fetched;
  }

 private:
  class RunsHere {
   public:
    explicit RunsHere(std::atomic<std::thread::id>* runs_on) : runs_on_(runs_on) {
      runs_on_->store(std::this_thread::get_id());
    }
    ~RunsHere() { runs_on_->store({}); }
    RunsHere(const RunsHere&) = delete;
    RunsHere& operator=(const RunsHere&) = delete;

   private:
    std::atomic<std::thread::id>* const runs_on_;
  };

  // Tells the readers that were made that they may be saved, while nothing of them has been read.
  void ExpectSave() const {
    for (const auto& entry : ReadersOf(*scope_->scope().root())) {
      try {
        ReaderHolder::ExpectSaveOfAll({entry});
      } catch (const Error& error) {
        if (error.interrupts()) throw;  // other errors come again when the reader is read or saved
      }
    }
  }

  // The program's own variables are new in the next run, so their values are moved out.
  LoDTensor Fetch(const std::string& name) const {
    Variable* const variable = prepared_->Find(name);
    Require(variable != nullptr, "no variable '", Escaped(name), "' to fetch");
    LoDTensor tensor = variable->Get<LoDTensor>();
    if (variable != scope_->scope().Find(name)) variable->GetMutable<LoDTensor>()->Clear();
    return tensor;
  }

  const std::shared_ptr<PythonScope> scope_;
  const bool may_wait_;
  const bool of_layers_;
  ProgramRole role_;
  PythonOutput output_;
  Mutex mutex_;                                // taken without the interpreter
  std::atomic<std::thread::id> runs_on_{};     // the thread that holds mutex_
  std::shared_ptr<PreparedProgram> prepared_;  // shared only with the task that destroys it
};

}  // namespace

void DefineExecutor(py::module_* module) {
  py::class_<Prepared>(*module, "Prepared")
      .def("run", &Prepared::Run, py::arg("feed"), py::arg("fetch"));
  module->def(
      "prepare",
      [](const std::shared_ptr<Program>& program, const std::shared_ptr<PythonScope>& scope,
         const std::string& place, uint64_t seed, bool of_layers) {
        return std::make_unique<Prepared>(program, scope, place, seed, of_layers);
      },
      py::arg("program"), py::arg("scope"), py::arg("place"), py::arg("seed"),
      py::arg("of_layers") = false);
}

}  // namespace millhopper
