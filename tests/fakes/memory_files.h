// SPDX-License-Identifier: Apache-2.0
// A file system in memory, "memory://...", that fails, stalls and lies when a test says so.
#ifndef MILLHOPPER_TESTS_FAKES_MEMORY_FILES_H_
#define MILLHOPPER_TESTS_FAKES_MEMORY_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace millhopper {

// What goes wrong from a given call on. The calls of Stat, Exists, List, Open, Remove, the reads
// and the moments when what was written gets its name are counted, over all files together.
enum class FileTrouble {
  kNone,
  kFail,     // this call and all later ones fail
  kShort,    // from this call on, a read gives one byte
  kStall,    // this call waits until Release, or until the thread is to leave it (CheckWait)
  kShrink,   // files that are open now end in the middle
  kReplace,  // each path now names another file with the same content; open files cannot be read
  kLonger,   // if this call is Open, the file claims to have one byte more
  kFlip,     // bit 0 of the last byte of every read is flipped
};

// Any thread.
class MemoryFiles {
 public:
  static MemoryFiles& Get();
  static bool IsIn(const std::string& path);  // whether a path has the scheme

  void Write(const std::string& path, std::string content);
  void Remove(const std::string& path);

  // The trouble begins at the call with this number; the next call has number 0.
  void Break(FileTrouble trouble, int64_t call);
  // Ends the trouble and releases the call that waits. Open files can be read as before.
  void Mend();
  // Whether the call came at which the trouble begins.
  bool hit() const;
  // Whether a call waits at this moment.
  bool stalls() const;
  // Releases the call that waits; no later call will wait.
  void Release();
  // The paths that have been opened since the last call of TakeOpened.
  std::vector<std::string> TakeOpened();
  size_t open_files() const;
  // How many bytes all files have given so far.
  uint64_t bytes_read() const;

 private:
  friend class MemoryFile;
  friend class MemoryUpload;
  friend class MemoryFileSystem;
  struct Content {
    std::shared_ptr<const std::string> bytes;
    uint64_t number;
  };

  // Counts the call, waits or throws as the trouble demands, and returns the trouble that the
  // caller must apply.
  FileTrouble Call(const std::string& path, int64_t offset);
  // The same; sets *first if the trouble begins at this very call.
  FileTrouble Call(const std::string& path, int64_t offset, bool* first);

  mutable std::mutex mutex_;  // guards what is below
  std::map<std::string, Content> files_;
  std::vector<std::string> opened_;
  size_t open_files_ = 0;
  uint64_t bytes_read_ = 0;
  uint64_t next_number_ = 1;
  FileTrouble trouble_ = FileTrouble::kNone;
  int64_t first_ = 0;
  int64_t calls_ = 0;
  uint64_t troubles_ = 0;  // how often Break was called
  bool hit_ = false;
  bool stalls_ = false;
  bool released_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FAKES_MEMORY_FILES_H_
