// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/run_checkpoints.h"

#include <algorithm>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/checkpoint/scope_state.h"
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

// The operators that lead to a loop, the innermost first (RunState::resume_at). None
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
      folder_(FolderOfRank(options_.folder, options_.rank), options_.keep) {}

RunCheckpoints::~RunCheckpoints() {
  if (writer_.joinable()) writer_.join();
}

bool RunCheckpoints::HasAny() const {
  const std::vector<size_t> numbers = NumbersOfRanksIn(options_.folder);
  return !folder_.empty() || std::any_of(numbers.begin(), numbers.end(), [this](size_t ranks) {
    return ranks != options_.rank.ranks;
  });
}

void RunCheckpoints::Clear() {
  folder_.Clear();
  if (options_.rank.rank > 0) return;
  for (const size_t ranks : NumbersOfRanksIn(options_.folder)) {
    for (size_t rank = 0; rank < ranks && ranks != options_.rank.ranks; ++rank) {
      CheckpointFolder(FolderOfRank(options_.folder, {rank, ranks}), options_.keep).Clear();
    }
  }
}

bool RunCheckpoints::Resume(std::vector<std::string>* damaged) {
  const std::vector<size_t> numbers = NumbersOfRanksIn(options_.folder);
  const bool alone = options_.rank.ranks == 1 && (numbers.empty() || numbers.back() == 1);
  from_ =
      alone ? folder_.Newest(damaged) : NewestOfAllRanks(options_.folder, options_.rank, damaged);
  resumes_ = from_.has_value();
  if (!resumes_) return false;
  for (const auto& [name, value] : settings_) CheckSameSetting(name, value, *from_);
  return true;
}

void RunCheckpoints::Watch(Scope* scope) {
  scope_ = scope;
  try {
    const ReaderHolder::ReadersByName readers = ReadersOf(*scope);
    ReaderHolder::ExpectSaveOfAll(readers);
    ReaderHolder::SaveAll(readers);
  } catch (const Error& error) {
    throw error.WithContext(
        "while preparing the readers for checkpoints, which save all readers of a run");
  }
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
  CheckSameSetting(ProgramSetting(number), programs_.back().text, *from_);
  if (number < Number(*from_, kProgram)) {
    TakeTensors(&prepared->scope(), ScopePrefix(number, 1), &*from_);
    return;
  }
  const OperatorNumber place = {static_cast<int>(Number(*from_, kBlock)),
                                static_cast<int>(Number(*from_, kOperator))};
  std::vector<OperatorNumber> way = WayTo(*program, place);
  Require(number == Number(*from_, kProgram) && !way.empty(),
          "this is no checkpoint of a run: it was saved at no loop of ", program->name());
  prepared->ResumeAt(std::move(way));
  if (from_) Throw(ErrorCode::kInternal, "a loop of ", program->name(), " did not continue");
}

void RunCheckpoints::BetweenSteps(OpContext& loop) {
  if (from_) {
    Restore(loop);
    return;
  }
  const bool stops = options_.stop_wanted != nullptr && options_.stop_wanted();
  // A checkpoint that is due while the last one is being written is taken when that is done: the
  // loop does not wait for disks.
  if (!stops && ((writing_ && !saves_with_others()) || !IsDue(loop.run().steps))) return;
  Save(loop);
  if (!stops) return;
  Finish();
  ThrowStopped();
}

// Ranks that save at the same steps have states in common, from which another number of them can
// resume. So they leave none out, and keep what some rank is not past yet.
bool RunCheckpoints::saves_with_others() const {
  return options_.rank.ranks > 1 && options_.every_steps > 0;
}

bool RunCheckpoints::IsDue(int64_t steps) const {
  if (saves_with_others()) return steps != saved_steps_ && steps % options_.every_steps == 0;
  if (options_.every_steps > 0 && steps - saved_steps_ >= options_.every_steps) return true;
  return options_.every_seconds > 0 &&
         std::chrono::duration<double>(Clock::now() - saved_at_).count() >= options_.every_seconds;
}

Checkpoint RunCheckpoints::Take(OpContext& loop) const {
  const Ran& running = programs_.back();
  const size_t number = programs_.size();
  const OperatorNumber place = NumberOf(*running.program, loop.desc());
  Require(!WayTo(*running.program, place).empty(),
          "the run cannot be saved: this loop is within a block in which no run can continue");
  Checkpoint checkpoint;
  checkpoint.settings = settings_;
  for (size_t i = 0; i < number; ++i) {
    checkpoint.settings[ProgramSetting(i + 1)] = programs_[i].text;
  }
  checkpoint.positions = ReaderHolder::SaveAll(ReadersOf(*scope_));
  AddTensors(*scope_, SharedPrefix(), &checkpoint);
  for (size_t i = 0; i + 1 < number; ++i) {
    AddTensors(programs_[i].prepared->scope(), ScopePrefix(i + 1, 1), &checkpoint);
  }
  const std::vector<Scope*> scopes = ScopesOf(&loop, scope_);
  for (size_t i = 0; i < scopes.size(); ++i) {
    AddTensors(*scopes[i], ScopePrefix(number, scopes.size() - i), &checkpoint);
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
  writing_ = true;
  writer_ = std::thread([this, checkpoint = std::move(checkpoint)] {
    try {
      const auto may_remove = [this](const std::string& path) {
        return !saves_with_others() || IsSuperseded(path, options_.folder, options_.rank);
      };
      folder_.Write(checkpoint, may_remove);
    } catch (...) {
      failure_ = std::current_exception();
    }
    writing_ = false;
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
    TakeTensors(scopes[i], ScopePrefix(number, scopes.size() - i), &from);
  }
  Require(from.tensors.empty(), "this is no checkpoint of this run: it has a variable '",
          from.tensors.empty() ? "" : Escaped(from.tensors.begin()->first), "' too many");
  ReaderHolder::RestoreAll(ReadersOf(*scope_), from.positions);
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
  RemoveLater(from);
}

void RunCheckpoints::RemoveLater(const Checkpoint& from) {
  if (options_.rank.ranks == 1) return;
  const std::string own = FolderOfRank(options_.folder, options_.rank);
  folder_.RemoveIf([&](const std::string& path) { return IsLater(path, own, from); });
}

}  // namespace millhopper
