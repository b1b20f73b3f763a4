// SPDX-License-Identifier: Apache-2.0
// A folder of checkpoints of one run, numbered from 1: checkpoint-00000001.save, ... It may be a
// URL.
#ifndef MILLHOPPER_FRAMEWORK_CHECKPOINT_CHECKPOINT_FOLDER_H_
#define MILLHOPPER_FRAMEWORK_CHECKPOINT_CHECKPOINT_FOLDER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/forks.h"
#include "framework/checkpoint/checkpoint.h"

namespace millhopper {

// The paths of files in a folder that are called as checkpoints are, the newest first; none if
// there is no such local folder. Throws kIo.
std::vector<std::string> CheckpointsIn(const std::string& folder);

// The path of the newest checkpoint in a folder, which may be damaged, or be removed at any time if
// a process saves its run there. Files with such a name that do not begin as a checkpoint are
// passed over, and added to `others`. Throws kIo, also if there is none. Any thread.
std::string NewestCheckpointIn(const std::string& folder, std::vector<std::string>* others);

// It locks a local folder as long as it lives; in a store nothing keeps other processes away. One
// thread at a time.
class CheckpointFolder {
 public:
  // Makes the folder if there is none, and removes what writers that were killed have left in it.
  // Keeps the newest `keep` checkpoints. Throws kIo, also if another process uses the folder, and
  // kInvalidArgument if `keep` is 0 or the folder's file system cannot list it.
  CheckpointFolder(std::string path, size_t keep);

  bool empty() const { return numbers_.empty(); }
  // The newest checkpoint that is whole, or none. Adds what is wrong with those that are newer to
  // `damaged`, one text each. Throws what reading throws, except kDataLoss.
  std::optional<Checkpoint> Newest(std::vector<std::string>* damaged);
  // Writes the next checkpoint, whole or not at all. Then removes the damaged ones that Newest has
  // passed over, and those beyond `keep`. Files that only have the name of a checkpoint stay. The
  // order is that of the numbers and never of clocks. Throws as WriteCheckpoint, and then nothing
  // is removed. Beyond `keep`, those stay for which `may_remove`, if it is given, returns false,
  // and newer ones.
  void Write(const Checkpoint& checkpoint,
             const std::function<bool(const std::string& path)>& may_remove = nullptr);
  // Removes the checkpoints for which `goes` returns true. Throws as Clear.
  void RemoveIf(const std::function<bool(const std::string& path)>& goes);
  // Removes all checkpoints, but not files that only have such a name. Throws kIo if one cannot be
  // removed: a later run in the folder would take it for its own.
  void Clear();

 private:
  // Keeps other processes from writing there: each would take the other's partial files for those
  // of a killed process.
  class Lock {
   public:
    // Throws kIo if another one has the lock.
    explicit Lock(const std::string& folder);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    const OwnProcess process_;
    const int descriptor_;  // of the folder
  };

  std::string Name(uint64_t number) const;
  // The number of the next checkpoint. A file that is no whole checkpoint, but has a number that
  // none can have, does not count.
  uint64_t NextNumber();
  // Removes what only takes room, if it can be removed.
  void RemoveRemains(const std::string& name) const;
  // Whether a file only has the name of a checkpoint. It may be a user's file, so it is not
  // removed.
  bool IsOthers(uint64_t number) const;

  const std::string path_;
  const size_t keep_;
  std::optional<Lock> lock_;
  std::vector<uint64_t> numbers_;  // of those that are there, ascending
  size_t passed_over_ = 0;         // how many of the newest ones are damaged, as Newest has found
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_CHECKPOINT_CHECKPOINT_FOLDER_H_
