// SPDX-License-Identifier: Apache-2.0
// The checkpoints of processes that train together. Each rank has a folder of its own in that of
// the run, rank-3-of-8; a process that is alone has the folder itself.
#ifndef MILLHOPPER_FRAMEWORK_CHECKPOINT_RANK_CHECKPOINTS_H_
#define MILLHOPPER_FRAMEWORK_CHECKPOINT_RANK_CHECKPOINTS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/checkpoint/checkpoint.h"

namespace millhopper {

// Which of the processes this is, and their number.
struct Rank {
  size_t rank = 0;
  size_t ranks = 1;
};

// The folder of a rank's checkpoints, which may be a URL.
std::string FolderOfRank(const std::string& folder, Rank rank);

// The numbers of ranks of which checkpoints lie in the folder of a run, ascending; 1 for those in
// the folder itself. Throws what listing the folder throws.
std::vector<size_t> NumbersOfRanksIn(const std::string& folder);

// A state that all ranks of a run have saved, after the same step: the number of the main program,
// and its steps.
struct StateOfRanks {
  std::pair<uint64_t, uint64_t> step;
  size_t ranks = 0;
  std::vector<std::string> paths;  // of the checkpoint of each rank
};

// The states in the folder of a run, whatever the numbers of ranks, the newest first; of one age
// those of `first` ranks first. What is wrong with damaged checkpoints is added to `damaged`.
// Throws what listing and reading throw, except kDataLoss.
std::vector<StateOfRanks> StatesOfAllRanks(const std::string& folder, size_t first,
                                           std::vector<std::string>* damaged);

// The newest state of a run that all of its ranks have saved, for one rank that goes on with it; it
// may have run on another number of ranks, even several in turn. States are compared by the main
// program and `steps` of it that they were saved after. From a run on another number of ranks, the
// positions of readers are those of all ranks together (Position::OfAllRanks), all else is what the
// first rank has saved. If there is no such state, the rank's own newest checkpoint, since as many
// ranks read what they would have read in any case; nothing if it has none. What is wrong with
// newer ones is added to `damaged`. Throws kInvalidArgument if there are only states of other
// numbers of ranks, which have no step in common, what reading throws, except kDataLoss, and what
// OfAllRanks throws.
std::optional<Checkpoint> NewestOfAllRanks(const std::string& folder, Rank own,
                                           std::vector<std::string>* damaged);

// Whether the checkpoint at a path in a rank's folder was saved after a later step than another
// one; false if it is damaged, or one of them is of no run. Throws what reading throws, except
// kDataLoss.
bool IsLater(const std::string& path, const std::string& folder, const Checkpoint& other);

// Whether all ranks have saved a newer state than that of the rank's checkpoint at this path, so
// that nobody needs it any more. Throws what reading throws, except kDataLoss.
bool IsSuperseded(const std::string& path, const std::string& folder, Rank own);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_CHECKPOINT_RANK_CHECKPOINTS_H_
