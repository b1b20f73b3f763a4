// SPDX-License-Identifier: Apache-2.0
// The folder of a cache of remote files (file_cache.h): where its entries lie, how much they take,
// and which of them go when that is too much. Many processes work in it at once, and each may be
// killed at any time.
//
//   4f/4f0c..e1             an entry: a name of 32 hexadecimal digits, in the folder of the first
//   two 4f/4f0c..e1.<any>.part  an entry that is being written, locked by who writes it lock locked
//   by who looks through all entries and removes some used                    as many bytes as the
//   entries take pages; only its size is of interest
//
// Whoever writes an entry first makes `used` longer, by one system call. So the size of all entries
// is known to all processes without a lock. A process that is killed, or a disk that is full, makes
// it too large, never too small; it is put right when somebody looks through the folder, as each
// process does before it writes for the first time. Files that are called otherwise are left alone.
#ifndef MILLHOPPER_FRAMEWORK_IO_CACHE_FOLDER_H_
#define MILLHOPPER_FRAMEWORK_IO_CACHE_FOLDER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace millhopper {

// Any thread.
class CacheFolder {
 public:
  using Name = std::array<uint8_t, 16>;

  // Makes the folder if it is not there. Throws kIo with the path if it cannot be written or
  // locked, unless the disk is full; and kInvalidArgument if other users can write there, because
  // what lies there is taken for what a server has sent.
  CacheFolder(const std::string& path, uint64_t most_bytes);
  CacheFolder(const CacheFolder&) = delete;
  CacheFolder& operator=(const CacheFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string PathOf(const Name& name) const;
  // Counts an entry that is about to be written, and removes those that have not been used for the
  // longest time if there is no room for it. Returns whether there is room. There may be none while
  // another process or thread makes some; nobody waits for that. Throws kIo.
  bool Reserve(uint64_t bytes);
  // Makes the folder that an entry lies in. Throws kIo.
  void MakeFolderOf(const Name& name) const;

 private:
  // Looks through all entries, unless somebody else does: removes what killed processes have left
  // and the oldest entries until there is room for `pages` more, and sets what `used` says.
  void TidyUp(uint64_t pages) const;

  const std::string path_;
  const uint64_t most_pages_;
  std::atomic<bool> tidied_{false};
};

// Throws kIo if no file of this process may have that many bytes: to write one would end it.
void CheckFileSizeLimit(uint64_t bytes);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_CACHE_FOLDER_H_
