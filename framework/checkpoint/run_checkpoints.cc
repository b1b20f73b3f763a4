// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/run_checkpoints.h"

#include <algorithm>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/reader_holder.h"

namespace millhopper {
namespace {

// The number of a checkpoint that tells which main program ran, from 1.
constexpr char kProgram[] = "program";
constexpr char kBlock[] = "block";
constexpr char kOperator[] = "operator";
constexpr char kSteps[] = "steps";
constexpr char kScopes[] = "scopes";
constexpr char kTimes[] = "times ";

// Variables are named by program, by scope within it and by name: "1.2 loss". What all programs
// share is "0.0".
std::string Prefix(size_t program, size_t scope) { return StrCat(program, ".", scope, " "); }
const std::string& SharedPrefix() {
  static const auto* const prefix = new std::string(Prefix(0, 0));
  return *prefix;
}

std::string ProgramSetting(size_t program) { return StrCat("main program ", program); }

// The reader to be saved in a variable; null if there is none.
ReaderHolder* ReaderIn(Variable* variable) {
  if (!variable->Holds<ReaderHolder>()) return nullptr;
  auto* const reader = variable->GetMutable<ReaderHolder>();
  return reader->has_reader() && !reader->IsBelowOthers() ? reader : nullptr;
}

// Calls function(name, reader) for every reader of a scope that is to be saved.
template <typename Function>
void ForEachReader(const Scope& scope, Function function) {
  for (const std::string& name : scope.LocalNames()) {
    if (ReaderHolder* const reader = ReaderIn(scope.FindLocal(name))) function(name, reader);
  }
}

void AddTensors(const Scope& scope, const std::string& prefix, Checkpoint* checkpoint) {
  for (const std::string& name : scope.LocalNames()) {
    const Variable* const variable = scope.FindLocal(name);
    if (!variable->has_value() || variable->Holds<ReaderHolder>()) continue;
    Require(variable->Holds<LoDTensor>(), "variable '", Escaped(name),
            "' holds neither a tensor nor a reader, so that the run cannot be saved");
    const auto& tensor = variable->Get<LoDTensor>();
    if (tensor.initialized()) checkpoint->tensors[prefix + name] = tensor.OnHost();
  }
}

// Gives the variables of a scope the tensors of a checkpoint and removes these there.
void TakeTensors(Scope* scope, const std::string& prefix, Checkpoint* checkpoint) {
  for (const std::string& name : scope->LocalNames()) {
    Variable* const variable = scope->FindLocal(name);
    if (variable->Holds<ReaderHolder>()) continue;
    const auto saved = checkpoint->tensors.find(prefix + name);
    if (saved == checkpoint->tensors.end()) {
      variable->Reset();
    } else {
      *variable->GetMutable<LoDTensor>() = std::move(saved->second);
      checkpoint->tensors.erase(saved);
    }
  }
}

// The scopes of the blocks that an operator is in, the innermost first, up to the shared one.
std::vector<Scope*> ScopesOf(OpContext* context, const Scope* shared) {
  std::vector<Scope*> scopes;
  for (Scope* scope = &context->scope(); scope != shared; scope = scope->parent()) {
    scopes.push_back(scope);
  }
  return scopes;
}

// Where an operator of the program stands in it.
OperatorNumber NumberOf(const Program& program, const proto::OpDesc& op) {
  for (int block = 0; block < program.desc().blocks_size(); ++block) {
    const auto& ops = program.desc().blocks(block).ops();
    for (int i = 0; i < ops.size(); ++i) {
      if (&ops[i] == &op) return {block, i};
    }
  }
  Throw(ErrorCode::kInternal, "operator '", op.type(), "' is in no block of ", program.name());
}

bool IsIn(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The operators that lead to a loop, the innermost first (RunState::go_on). None
// if there is no such loop, or if it is within an operator that a run cannot go on in.
std::vector<OperatorNumber> WayTo(const Program& program, const OperatorNumber& loop) {
  const proto::ProgramDesc& desc = program.desc();
  if (loop.block < 0 || loop.block >= desc.blocks_size()) return {};
  if (loop.op < 0 || loop.op >= desc.blocks(loop.block).ops_size()) return {};
  const proto::OpDesc& last = desc.blocks(loop.block).ops(loop.op);
  if (FindOperator(last.type())->schema.loop_blocks.empty()) return {};
  std::vector<OperatorNumber> way = {loop};
  for (int block = loop.block; block != 0;) {
    const int parent = desc.blocks(block).parent_idx();
    const auto& ops = desc.blocks(parent).ops();
    const size_t before = way.size();
    for (int i = 0; i < ops.size(); ++i) {
      const OpSchema& schema = FindOperator(ops[i].type())->schema;
      for (const proto::OpDesc::Attr& attribute : ops[i].attrs()) {
        if (!attribute.has_block_idx() || attribute.block_idx() != block) continue;
        if (IsIn(schema.loop_blocks, attribute.name())) return {};
        if (IsIn(schema.isolated_blocks, attribute.name())) return {};
        way.push_back({parent, i});
      }
    }
    if (way.size() != before + 1) return {};
    block = parent;
  }
  return way;
}

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

void CheckSame(const std::string& name, const std::string& now, const Checkpoint& saved) {
  const auto found = saved.settings.find(name);
  Require(found != saved.settings.end() && found->second == now,
          "the checkpoint is one of another run: ",
          found == saved.settings.end() ? StrCat("it was saved without ", name)
                                        : Difference(name, found->second, now));
}

uint64_t Number(const Checkpoint& checkpoint, const std::string& name) {
  const auto found = checkpoint.numbers.find(name);
  Require(found != checkpoint.numbers.end() && found->second <= static_cast<uint64_t>(INT32_MAX),
          "this is no checkpoint of a run: '", name, "' is missing or too large");
  return found->second;
}

}  // namespace

RunCheckpoints::RunCheckpoints(RunCheckpointOptions options,
                               std::map<std::string, std::string> settings)
    : options_(std::move(options)),
      settings_(std::move(settings)),
      folder_(options_.folder, options_.keep) {}

RunCheckpoints::~RunCheckpoints() {
  if (writer_.joinable()) writer_.join();
}

bool RunCheckpoints::Resume(std::vector<std::string>* damaged) {
  from_ = folder_.Newest(damaged);
  resumes_ = from_.has_value();
  if (!resumes_) return false;
  for (const auto& [name, value] : settings_) CheckSame(name, value, *from_);
  return true;
}

void RunCheckpoints::Watch(Scope* scope) {
  scope_ = scope;
  ForEachReader(*scope, [](const std::string& name, ReaderHolder* reader) {
    try {
      reader->ExpectSave();
      reader->Save();
    } catch (const Error& error) {
      throw error.WithContext(StrCat("while preparing reader '", Escaped(name),
                                     "' for checkpoints, which save all readers of a run"));
    }
  });
}

void RunCheckpoints::Run(const std::shared_ptr<const Program>& program, PreparedProgram* prepared) {
  Require(scope_ != nullptr && prepared->run().watcher == this,
          "the program was not prepared with this watcher, or Watch was not called");
  programs_.push_back({program, prepared, program->ToText()});
  saved_steps_ = 0;
  const size_t number = programs_.size();
  if (!from_) {
    prepared->Run();
    return;
  }
  CheckSame(ProgramSetting(number), programs_.back().text, *from_);
  if (number < Number(*from_, kProgram)) {
    TakeTensors(&prepared->scope(), Prefix(number, 1), &*from_);
    return;
  }
  const OperatorNumber place = {static_cast<int>(Number(*from_, kBlock)),
                                static_cast<int>(Number(*from_, kOperator))};
  std::vector<OperatorNumber> way = WayTo(*program, place);
  Require(number == Number(*from_, kProgram) && !way.empty(),
          "this is no checkpoint of a run: it was saved at no loop of ", program->name());
  prepared->GoOn(std::move(way));
  if (from_) Throw(ErrorCode::kInternal, "a loop of ", program->name(), " did not go on");
}

void RunCheckpoints::BetweenSteps(OpContext& loop) {
  if (from_) {
    Restore(loop);
    return;
  }
  const bool stops = options_.stop_wanted != nullptr && options_.stop_wanted();
  if (!stops && !IsDue(loop.run().steps)) return;
  Save(loop);
  if (!stops) return;
  Finish();
  ThrowStopped();
}

bool RunCheckpoints::IsDue(int64_t steps) const {
  if (options_.every_steps > 0 && steps - saved_steps_ >= options_.every_steps) return true;
  return options_.every_seconds > 0 &&
         std::chrono::duration<double>(Clock::now() - saved_at_).count() >= options_.every_seconds;
}

Checkpoint RunCheckpoints::Take(OpContext& loop) const {
  const Ran& running = programs_.back();
  const size_t number = programs_.size();
  const OperatorNumber place = NumberOf(*running.program, loop.desc());
  Require(!WayTo(*running.program, place).empty(),
          "the run cannot be saved: this loop is within a block in which no run can go on");
  Checkpoint checkpoint;
  checkpoint.settings = settings_;
  for (size_t i = 0; i < number; ++i) {
    checkpoint.settings[ProgramSetting(i + 1)] = programs_[i].text;
  }
  ForEachReader(*scope_, [&checkpoint](const std::string& name, ReaderHolder* reader) {
    checkpoint.positions.emplace(name, reader->Save());
  });
  AddTensors(*scope_, SharedPrefix(), &checkpoint);
  for (size_t i = 0; i + 1 < number; ++i) {
    AddTensors(programs_[i].prepared->scope(), Prefix(i + 1, 1), &checkpoint);
  }
  const std::vector<Scope*> scopes = ScopesOf(&loop, scope_);
  for (size_t i = 0; i < scopes.size(); ++i) {
    AddTensors(*scopes[i], Prefix(number, scopes.size() - i), &checkpoint);
  }
  checkpoint.numbers = {{kProgram, number},
                        {kBlock, place.block},
                        {kOperator, place.op},
                        {kSteps, loop.run().steps},
                        {kScopes, scopes.size()}};
  for (const auto& [op, times] : loop.run().times) {
    const OperatorNumber at = NumberOf(*running.program, *op);
    checkpoint.numbers[StrCat(kTimes, at.block, ".", at.op)] = static_cast<uint64_t>(times);
  }
  return checkpoint;
}

void RunCheckpoints::Save(OpContext& loop) {
  if (options_.before_save != nullptr) options_.before_save();
  Checkpoint checkpoint = Take(loop);
  Finish();  // what was saved before
  writer_ = std::thread([this, checkpoint = std::move(checkpoint)] {
    try {
      folder_.Write(checkpoint);
    } catch (...) {
      failure_ = std::current_exception();
    }
  });
  saved_steps_ = loop.run().steps;
  saved_at_ = Clock::now();
}

void RunCheckpoints::Finish() {
  Require(!from_, "the checkpoint is one of another run: it was saved in main program ",
          from_ ? Number(*from_, kProgram) : 0, ", and this run has ", programs_.size());
  if (writer_.joinable()) writer_.join();
  if (failure_ == nullptr) return;
  try {
    std::rethrow_exception(std::exchange(failure_, nullptr));
  } catch (const Error& error) {
    throw error.WithContext("while writing a checkpoint; older ones are still there");
  }
}

void RunCheckpoints::Restore(OpContext& loop) {
  Checkpoint from = std::move(*from_);
  from_.reset();
  const size_t number = programs_.size();
  const Program& program = *programs_.back().program;
  RunState& run = loop.run();
  const std::vector<Scope*> scopes = ScopesOf(&loop, scope_);
  Require(scopes.size() == Number(from, kScopes), "this is no checkpoint of this run: the loop is ",
          "in ", scopes.size(), " blocks, it was saved in ", Number(from, kScopes));
  TakeTensors(scope_, SharedPrefix(), &from);
  for (size_t i = 0; i < scopes.size(); ++i) {
    TakeTensors(scopes[i], Prefix(number, scopes.size() - i), &from);
  }
  Require(from.tensors.empty(), "this is no checkpoint of this run: it has a variable '",
          from.tensors.empty() ? "" : Escaped(from.tensors.begin()->first), "' too many");
  std::set<std::string> readers;
  ForEachReader(*scope_, [&](const std::string& name, ReaderHolder* reader) {
    const auto position = from.positions.find(name);
    Require(position != from.positions.end(), "the checkpoint is one of another run: it has no ",
            "reader '", Escaped(name), "'");
    reader->Restore(position->second);
    readers.insert(name);
  });
  for (const auto& entry : from.positions) {
    Require(readers.count(entry.first) > 0, "the checkpoint is one of another run: it was saved ",
            "with a reader '", Escaped(entry.first), "'");
  }
  run.times.clear();
  for (int block = 0; block < program.desc().blocks_size(); ++block) {
    const auto& ops = program.desc().blocks(block).ops();
    for (int i = 0; i < ops.size(); ++i) {
      const auto times = from.numbers.find(StrCat(kTimes, block, ".", i));
      if (times == from.numbers.end()) continue;
      Require(times->second <= static_cast<uint64_t>(INT64_MAX),
              "this is no checkpoint of a run: '", times->first, "' is too large");
      run.times[&ops[i]] = static_cast<int64_t>(times->second);
    }
  }
  const auto steps = from.numbers.find(kSteps);
  Require(steps != from.numbers.end() && steps->second <= static_cast<uint64_t>(INT64_MAX),
          "this is no checkpoint of a run: 'steps' is missing or too large");
  saved_steps_ = run.steps = static_cast<int64_t>(steps->second);
  saved_at_ = Clock::now();
}

}  // namespace millhopper
