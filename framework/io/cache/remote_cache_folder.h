// SPDX-License-Identifier: Apache-2.0
// The folder of a cache of remote files (remote_cache.h): where its entries lie, how much they
// take, and which of them are removed when that is too much. Many processes work in it at once, and
// each may be killed at any time.
//
//   4f/4f0c..e1
//
// is an entry: a name of 32 hexadecimal digits, in the folder of the first two.
//
//   4f/4f0c..e1.<any>.part
//
// is an entry that is being written, locked by its writer.
//
//   lock
//
// is locked by a process that looks through all entries and removes some. Its time is that of the
// last such look.
//
//   used
//
// has as many bytes as the entries take pages; only its size is of interest.
//
// A writer of an entry first makes `used` longer, by one system call, so that all processes know
// the size of all entries without a lock. A process that is killed, or a disk that is full, makes
// it too large. It is corrected when a process looks through the folder: it does so when the cache
// is full, and before it writes for the first time unless another one has in the last ten minutes.
// Files that are called otherwise are left alone.
//
// The folder must lie on a local disk: by the time of a file and by its locks, all processes must
// see the same.
#ifndef MILLHOPPER_FRAMEWORK_IO_CACHE_REMOTE_CACHE_FOLDER_H_
#define MILLHOPPER_FRAMEWORK_IO_CACHE_REMOTE_CACHE_FOLDER_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace millhopper {

// Any thread.
class RemoteCacheFolder {
 public:
  using Name = std::array<uint8_t, 16>;

  // Makes the folder if it is not there. Throws kIo with the path if it cannot be written or
  // locked, unless the disk is full; and kInvalidArgument if it belongs to another user but root,
  // or if its group or everybody may write there, because what lies there is taken for what a
  // server has sent.
  RemoteCacheFolder(const std::string& path, uint64_t most_bytes);
  RemoteCacheFolder(const RemoteCacheFolder&) = delete;
  RemoteCacheFolder& operator=(const RemoteCacheFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string PathOf(const Name& name) const;
  // Whether there is room for an entry. If there is none, removes those that have not been used for
  // the longest time. Does not wait for another process or thread that does so; then there may
  // still be no room. Throws kIo.
  bool MakeRoom(uint64_t bytes);
  // Counts an entry that is written next. Call MakeRoom first, and then make the file of the entry:
  // until it is written, others count it by that file. False if they have taken the room meanwhile.
  // Throws kIo.
  bool Reserve(uint64_t bytes) const;
  // Makes the folder that an entry lies in. Throws kIo.
  void MakeFolderOf(const Name& name) const;

 private:
  // Looks through all entries, unless another process or thread does: removes what killed processes
  // have left and the oldest entries until there is room for `pages` more, and sets what `used`
  // says. Returns whether it has done that. Throws kIo.
  bool TidyUp(uint64_t pages) const;

  const std::string path_;
  const uint64_t most_pages_;
  std::atomic<bool> tidied_{false};
};

// Throws kIo if no file of this process may have that many bytes: to write one would end it.
void CheckFileSizeLimit(uint64_t bytes);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_CACHE_REMOTE_CACHE_FOLDER_H_
