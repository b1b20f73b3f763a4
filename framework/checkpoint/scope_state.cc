// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/scope_state.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/checkpoint/unsaved.h"
#include "framework/io/saved_name.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "proto/framework.pb.h"

namespace millhopper {
namespace {

// What differs between two texts, for people: the first line if they have several.
std::string Difference(const std::string& name, const std::string& was, const std::string& is) {
  const auto split = [](const std::string& text) {
    std::vector<std::string> lines(1);
    for (const char c : text) {
      if (c == '\n') {
        lines.emplace_back();
      } else {
        lines.back().push_back(c);
      }
    }
    return lines;
  };
  const std::vector<std::string> before = split(was);
  const std::vector<std::string> now = split(is);
  size_t line = 0;
  while (line < before.size() && line < now.size() && before[line] == now[line]) ++line;
  const auto shown = [line](const std::vector<std::string>& lines) {
    return line < lines.size() ? StrCat("'", Escaped(lines[line].substr(0, 200)), "'")
                               : std::string("its end");
  };
  const std::string place = before.size() + now.size() > 2 ? StrCat(" in line ", line + 1) : "";
  return StrCat(name, ":", place, " it was ", shown(before), ", now it is ", shown(now));
}

// The text of a program whatever the sizes of its batches: with other ones readers go on, too, and
// where they cannot, the error of the reader says more. Another text stays as it is.
std::string WithAnyBatchSize(const std::string& text) {
  try {
    proto::ProgramDesc program = Program::FromString(text, "a program")->desc();
    for (proto::BlockDesc& block : *program.mutable_blocks()) {
      for (proto::OpDesc& op : *block.mutable_ops()) {
        const OperatorDef* const def = FindOperator(op.type());
        if (def == nullptr || !def->schema.creates_reader) continue;
        for (proto::OpDesc::Attr& attribute : *op.mutable_attrs()) {
          if (attribute.name() != "batch_size") continue;
          if (attribute.has_i()) attribute.set_i(0);
          if (attribute.has_l()) attribute.set_l(0);
        }
      }
    }
    return Program::FromString(program.SerializeAsString(), "a program")->ToText();
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    return text;
  }
}

// Whether a saved tensor may get into the variable without destroying a reader or the like.
bool MayHoldTensor(const Variable& variable) {
  return !variable.has_value() || variable.Holds<LoDTensor>();
}

}  // namespace

std::string ScopePrefix(size_t program, size_t scope) { return StrCat(program, ".", scope, " "); }

const std::string& SharedPrefix() {
  static const auto* const prefix = new std::string(ScopePrefix(0, 0));
  return *prefix;
}

std::string ProgramSetting(size_t program) { return StrCat("main program ", program); }

ReaderHolder::ReadersByName ReadersOf(const Scope& scope) {
  ReaderHolder::ReadersByName readers;
  for (const std::string& name : scope.LocalNames()) {
    Variable* const variable = scope.FindLocal(name);
    if (!variable->Holds<ReaderHolder>()) continue;
    auto* const reader = variable->GetMutable<ReaderHolder>();
    if (reader->has_reader()) readers.emplace(name, reader);
  }
  return readers;
}

void AddTensors(const Scope& scope, const std::string& prefix, Checkpoint* checkpoint) {
  TellOfUnsaved(scope);
  for (const std::string& name : scope.LocalNames()) {
    const Variable* const variable = scope.FindLocal(name);
    if (!variable->Holds<LoDTensor>()) continue;
    const auto& tensor = variable->Get<LoDTensor>();
    if (tensor.initialized()) checkpoint->tensors[prefix + name] = tensor.OnHost();
  }
}

void TakeTensors(Scope* scope, const std::string& prefix, Checkpoint* checkpoint) {
  for (const std::string& name : scope->LocalNames()) {
    Variable* const variable = scope->FindLocal(name);
    const auto saved = checkpoint->tensors.find(prefix + name);
    if (saved != checkpoint->tensors.end() && MayHoldTensor(*variable)) {
      *variable->GetMutable<LoDTensor>() = std::move(saved->second);
      checkpoint->tensors.erase(saved);
    } else if (variable->Holds<LoDTensor>()) {
      variable->Reset();
    }
  }
}

void CheckSameSetting(const std::string& name, const std::string& now, const Checkpoint& saved) {
  const auto found = saved.settings.find(name);
  Require(found != saved.settings.end(), "the checkpoint is one of another run: it was saved ",
          "without ", name);
  // Older checkpoints have texts as they were.
  std::string before = SavedText(found->second), after = SavedText(now);
  if (before == after) return;
  before = WithAnyBatchSize(before);
  after = WithAnyBatchSize(after);
  Require(before == after, "the checkpoint is one of another run: ",
          before == after ? "" : Difference(name, before, after));
}

Checkpoint SaveScope(const Scope& scope, std::map<std::string, std::string> settings) {
  Checkpoint checkpoint;
  checkpoint.settings = std::move(settings);
  checkpoint.positions = ReaderHolder::SaveAll(ReadersOf(scope));
  AddTensors(scope, SharedPrefix(), &checkpoint);
  return checkpoint;
}

void RestoreScope(Checkpoint checkpoint, const std::map<std::string, std::string>& settings,
                  Scope* scope) {
  for (const auto& [name, value] : settings) CheckSameSetting(name, value, checkpoint);
  Require(checkpoint.numbers.empty(),
          "the checkpoint is one of another run: it was saved within a program, not between two");
  const std::string& prefix = SharedPrefix();
  for (const auto& entry : checkpoint.tensors) {
    Require(entry.first.compare(0, prefix.size(), prefix) == 0,
            "the checkpoint is one of another run: it has a variable of a block, '",
            Escaped(entry.first), "'");
    const Variable* const variable = scope->FindLocal(entry.first.substr(prefix.size()));
    Require(variable == nullptr || MayHoldTensor(*variable), "the checkpoint is one of another ",
            "run: variable '", Escaped(variable == nullptr ? "" : variable->name()),
            "' was a tensor, and is none now");
  }
  ReaderHolder::RestoreAll(ReadersOf(*scope), checkpoint.positions);
  for (const auto& entry : checkpoint.tensors) scope->Var(entry.first.substr(prefix.size()));
  TakeTensors(scope, prefix, &checkpoint);
}

}  // namespace millhopper
