// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/rank_checkpoints.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/url.h"
#include "framework/checkpoint/checkpoint_folder.h"
#include "framework/io/file_system.h"

namespace millhopper {
namespace {

// A state that all ranks of a run have saved.
struct State {
  uint64_t program = 0, steps = 0;
  size_t ranks = 0;
  std::vector<std::string> paths;  // of the checkpoint of each rank

  // Of one age, the one that needs no other rank comes last.
  bool IsBefore(const State& other, size_t own_ranks) const {
    return std::make_tuple(program, steps, ranks == own_ranks) <
           std::make_tuple(other.program, other.steps, other.ranks == own_ranks);
  }
};

// The states that `ranks` ranks have saved, all of them.
std::vector<State> StatesOf(const std::string& folder, size_t ranks,
                            std::vector<std::string>* damaged) {
  std::map<std::pair<uint64_t, uint64_t>, State> states;
  for (size_t rank = 0; rank < ranks; ++rank) {
    for (const std::string& path : CheckpointsIn(FolderOfRank(folder, {rank, ranks}))) {
      try {
        const std::map<std::string, uint64_t> numbers = ReadCheckpointNumbers(path);
        const auto program = numbers.find("program");
        const auto steps = numbers.find("steps");
        if (program == numbers.end() || steps == numbers.end()) continue;
        State& state = states[{program->second, steps->second}];
        if (state.paths.size() == rank) state.paths.push_back(path);
        state.program = program->second;
        state.steps = steps->second;
        state.ranks = ranks;
      } catch (const Error& error) {
        if (error.code() != ErrorCode::kDataLoss) throw;
        damaged->push_back(error.message());
      }
    }
  }
  std::vector<State> whole;
  for (auto& entry : states) {
    if (entry.second.paths.size() == ranks) whole.push_back(std::move(entry.second));
  }
  return whole;
}

// What one rank goes on with.
Checkpoint Read(const State& state, Rank own) {
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

std::optional<Checkpoint> NewestOfAllRanks(const std::string& folder, Rank own,
                                           std::vector<std::string>* damaged) {
  std::vector<State> states;
  for (const size_t ranks : NumbersOfRanksIn(folder)) {
    for (State& state : StatesOf(folder, ranks, damaged)) states.push_back(std::move(state));
  }
  const auto is_newer = [&](const State& a, const State& b) { return b.IsBefore(a, own.ranks); };
  std::sort(states.begin(), states.end(), is_newer);
  for (const State& state : states) {
    try {
      return Read(state, own);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kDataLoss) throw;
      damaged->push_back(error.message());
    }
  }
  const std::string of_own = FolderOfRank(folder, own);
  if (!CheckpointsIn(of_own).empty()) {
    damaged->push_back(StrCat("the checkpoints in ", Escaped(of_own),
                              " are of no step of which all ranks have one"));
  }
  return std::nullopt;
}

}  // namespace millhopper
