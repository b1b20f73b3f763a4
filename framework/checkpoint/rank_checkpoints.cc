// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/rank_checkpoints.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/url.h"
#include "framework/checkpoint/checkpoint_folder.h"
#include "framework/io/file_system.h"

namespace millhopper {
namespace {

// After which step something was saved: the number of the main program, and its steps.
using Step = std::pair<uint64_t, uint64_t>;

// Nothing if these are not the numbers of a run.
std::optional<Step> StepIn(const std::map<std::string, uint64_t>& numbers) {
  const auto program = numbers.find("program");
  const auto steps = numbers.find("steps");
  if (program == numbers.end() || steps == numbers.end()) return std::nullopt;
  return Step(program->second, steps->second);
}

// After which step a checkpoint was saved. Nothing if it is damaged, which is added to `damaged`,
// or if its rank has removed it meanwhile.
std::optional<Step> StepOf(const std::string& path, const std::string& folder,
                           std::vector<std::string>* damaged) {
  try {
    return StepIn(ReadCheckpointNumbers(path));
  } catch (const Error& error) {
    if (error.interrupts()) throw;
    const std::vector<std::string> paths = CheckpointsIn(folder);
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) return std::nullopt;
    if (error.code() != ErrorCode::kDataLoss) throw;
    damaged->push_back(error.message());
    return std::nullopt;
  }
}

// The states that `ranks` ranks have saved, all of them.
std::vector<StateOfRanks> StatesOf(const std::string& folder, size_t ranks,
                                   std::vector<std::string>* damaged) {
  std::map<Step, StateOfRanks> states;
  for (size_t rank = 0; rank < ranks; ++rank) {
    const std::string own = FolderOfRank(folder, {rank, ranks});
    for (const std::string& path : CheckpointsIn(own)) {
      const std::optional<Step> step = StepOf(path, own, damaged);
      if (!step) continue;
      StateOfRanks& state = states[*step];
      if (state.paths.size() == rank) state.paths.push_back(path);
      state.step = *step;
      state.ranks = ranks;
    }
  }
  std::vector<StateOfRanks> whole;
  for (auto& entry : states) {
    if (entry.second.paths.size() == ranks) whole.push_back(std::move(entry.second));
  }
  return whole;
}

// What one rank goes on with.
Checkpoint Read(const StateOfRanks& state, Rank own) {
  if (state.ranks == own.ranks) return ReadCheckpoint(state.paths[own.rank]);
  Checkpoint joined = ReadCheckpoint(state.paths[0]);
  std::map<std::string, std::vector<Position>> positions;
  for (size_t rank = 0; rank < state.ranks; ++rank) {
    Checkpoint one = rank == 0 ? joined : ReadCheckpoint(state.paths[rank]);
    for (auto& [name, position] : one.positions) positions[name].push_back(std::move(position));
  }
  for (auto& [name, of_ranks] : positions) {
    try {
      joined.positions[name] = Position::OfAllRanks(std::move(of_ranks));
    } catch (const Error& error) {
      throw error.WithContext(StrCat("while putting together what ", state.ranks,
                                     " ranks have saved of reader '", Escaped(name), "'"));
    }
  }
  return joined;
}

}  // namespace

std::string FolderOfRank(const std::string& folder, Rank rank) {
  if (rank.ranks == 1) return folder;
  return PathIn(folder, StrCat("rank-", rank.rank, "-of-", rank.ranks));
}

std::vector<size_t> NumbersOfRanksIn(const std::string& folder) {
  if (IsLocal(folder) && !std::filesystem::exists(folder)) return {};
  std::set<size_t> numbers;
  if (!CheckpointsIn(folder).empty()) numbers.insert(1);
  for (const FolderEntry& entry : FileSystemOf(folder).ListFolder(folder)) {
    if (entry.kind != FileStatus::Kind::kDirectory) continue;
    Rank rank;
    if (std::sscanf(entry.name.c_str(), "rank-%zu-of-%zu", &rank.rank, &rank.ranks) != 2) continue;
    const std::string own = FolderOfRank(folder, rank);
    if (own == PathIn(folder, entry.name) && !CheckpointsIn(own).empty())
      numbers.insert(rank.ranks);
  }
  return {numbers.begin(), numbers.end()};
}

std::vector<StateOfRanks> StatesOfAllRanks(const std::string& folder, size_t first,
                                           std::vector<std::string>* damaged) {
  std::vector<StateOfRanks> states;
  for (const size_t ranks : NumbersOfRanksIn(folder)) {
    for (StateOfRanks& state : StatesOf(folder, ranks, damaged)) states.push_back(std::move(state));
  }
  std::sort(states.begin(), states.end(), [&](const StateOfRanks& a, const StateOfRanks& b) {
    return std::make_pair(a.step, a.ranks == first) > std::make_pair(b.step, b.ranks == first);
  });
  return states;
}

std::optional<Checkpoint> NewestOfAllRanks(const std::string& folder, Rank own,
                                           std::vector<std::string>* damaged) {
  std::string others;
  for (const size_t ranks : NumbersOfRanksIn(folder)) {
    if (ranks != own.ranks) others += StrCat(others.empty() ? "" : " and of ", ranks);
  }
  // Of one age, the one that needs no other rank comes first.
  for (const StateOfRanks& state : StatesOfAllRanks(folder, own.ranks, damaged)) {
    try {
      return Read(state, own);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kDataLoss) throw;
      damaged->push_back(error.message());
    }
  }
  for (const std::string& path : CheckpointsIn(FolderOfRank(folder, own))) {
    try {
      return ReadCheckpoint(path);
    } catch (const Error& error) {  // StepOf has told what is damaged
      if (error.code() != ErrorCode::kDataLoss) throw;
    }
  }
  Require(others.empty(), "the checkpoints in ", Escaped(folder), " are those of ", others,
          " ranks, and of no step that all of these have saved, so that no other number of ranks "
          "can resume. Ranks have steps in common if they save every so many steps, not seconds");
  return std::nullopt;
}

bool IsLater(const std::string& path, const std::string& folder, const Checkpoint& other) {
  std::vector<std::string> damaged;
  const std::optional<Step> step = StepOf(path, folder, &damaged);
  const std::optional<Step> of_other = StepIn(other.numbers);
  return step && of_other && *step > *of_other;
}

bool IsSuperseded(const std::string& path, const std::string& folder, Rank own) {
  std::vector<std::string> damaged;
  const std::optional<Step> step = StepOf(path, FolderOfRank(folder, own), &damaged);
  const std::vector<StateOfRanks> states = StatesOf(folder, own.ranks, &damaged);
  return !step || std::any_of(states.begin(), states.end(),
                              [&step](const StateOfRanks& state) { return state.step > *step; });
}

}  // namespace millhopper
