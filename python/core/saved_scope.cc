// SPDX-License-Identifier: Apache-2.0
#include "python/core/saved_scope.h"

#include <pybind11/stl.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/checkpoint/checkpoint.h"
#include "framework/checkpoint/checkpoint_folder.h"
#include "framework/checkpoint/scope_state.h"
#include "framework/io/file_system.h"
#include "framework/program/program.h"
#include "python/core/interpreter/interrupt.h"
#include "python/core/scope.h"

namespace py = pybind11;

namespace millhopper {
namespace {

using ScopePtr = std::shared_ptr<PythonScope>;
using ProgramPtr = std::shared_ptr<Program>;

// What the executor command calls the same settings.
std::map<std::string, std::string> SettingsOf(const Program& program, uint64_t seed) {
  return {{ProgramSetting(1), program.ToText()}, {"the seed", StrCat(seed)}};
}

// Calls a function that works on the readers of a scope, without the interpreter.
template <typename Function>
void Work(const ScopePtr& scope, Function function) {
  Require(!scope->CallsThisThread(),
          "the state of a scope is used by a function that a reader in the scope calls: each would "
          "wait for the other");
  WatchInterrupts();
  WithoutInterpreter(function);
}

py::bytes Save(const ScopePtr& scope, const ProgramPtr& program, uint64_t seed) {
  std::string bytes;
  Work(scope, [&] {
    bytes = SerializeCheckpoint(SaveScope(*scope->scope().root(), SettingsOf(*program, seed)));
  });
  return bytes;
}

void Restore(const ScopePtr& scope, const ProgramPtr& program, uint64_t seed,
             const std::string& bytes) {
  Work(scope, [&] {
    RestoreScope(ParseCheckpoint(bytes), SettingsOf(*program, seed), scope->scope().root());
  });
}

void Write(const ScopePtr& scope, const ProgramPtr& program, uint64_t seed,
           const std::string& folder, size_t keep) {
  Work(scope, [&] {
    const Checkpoint checkpoint = SaveScope(*scope->scope().root(), SettingsOf(*program, seed));
    CheckpointFolder(folder, keep).Write(checkpoint);
  });
}

// Whether there was a checkpoint, and what is wrong with newer ones.
std::pair<bool, std::vector<std::string>> Read(const ScopePtr& scope, const ProgramPtr& program,
                                               uint64_t seed, const std::string& folder) {
  std::vector<std::string> damaged;
  bool found = false;
  Work(scope, [&] {
    // A folder is not made only to be looked into. In a store there are none, but files. What else
    // is wrong with the name is an error: a run must not begin anew because of it.
    struct stat status;
    if (IsLocal(folder) && ::stat(folder.c_str(), &status) != 0 && errno == ENOENT) return;
    std::optional<Checkpoint> newest = CheckpointFolder(folder, 1).Newest(&damaged);
    found = newest.has_value();
    if (found) RestoreScope(*std::move(newest), SettingsOf(*program, seed), scope->scope().root());
  });
  return {found, damaged};
}

}  // namespace

void DefineSavedScope(py::module_* module) {
  module->def("save_scope", &Save, py::arg("scope"), py::arg("program"), py::arg("seed"));
  module->def("restore_scope", &Restore, py::arg("scope"), py::arg("program"), py::arg("seed"),
              py::arg("state"));
  module->def("write_scope", &Write, py::arg("scope"), py::arg("program"), py::arg("seed"),
              py::arg("folder"), py::arg("keep"));
  module->def("read_scope", &Read, py::arg("scope"), py::arg("program"), py::arg("seed"),
              py::arg("folder"));
}

}  // namespace millhopper
