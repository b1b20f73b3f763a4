// SPDX-License-Identifier: Apache-2.0
// A file system in memory, "memory://...", that fails, stalls and lies when a test says so.
#ifndef MILLHOPPER_TESTS_MEMORY_FILES_H_
#define MILLHOPPER_TESTS_MEMORY_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace millhopper {

// What begins with a call. Calls are those of Stat, Exists, List, Open and of reading, of all files
// together.
enum class FileTrouble {
  kNone,
  kFail,     // this call and all that follow fail
  kShort,    // from this call on, a read gives one byte
  kStall,    // this call waits until Release or a request to stop
  kShrink,   // the files that are open end in the middle
  kReplace,  // every name is that of another file, of the same content; those open are gone
  kLonger,   // if this call is Open, the file says that it has a byte more than it has
  kFlip,     // the last byte of whatever is read has another bit 0
};

// Any thread.
class MemoryFiles {
 public:
  static MemoryFiles& Get();
  static bool IsIn(const std::string& path);  // whether a path has the scheme

  void Write(const std::string& path, std::string content);
  void Remove(const std::string& path);

  // Begins at the call with this number, the first from now on being 0.
  void Break(FileTrouble trouble, int64_t call);
  // Ends the trouble and lets go who stalls. Open files are as they were.
  void Mend();
  // Whether there was such a call.
  bool hit() const;
  // Whether a call waits at this moment.
  bool stalls() const;
  // Lets go the call that waits; none will wait again.
  void Release();
  // The paths that have been opened since this was last asked.
  std::vector<std::string> TakeOpened();
  size_t open_files() const;
  // How many bytes all files have given so far.
  uint64_t bytes_read() const;

 private:
  friend class MemoryFile;
  friend class MemoryFileSystem;
  struct Content {
    std::shared_ptr<const std::string> bytes;
    uint64_t number;
  };

  // Counts the call, waits and fails as it should, and says what trouble there is for it.
  FileTrouble Call(const std::string& path, int64_t offset);
  // The same, and whether it was this very call that the trouble begins with.
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
  uint64_t troubles_ = 0;  // how many there have been
  bool hit_ = false;
  bool stalls_ = false;
  bool released_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_MEMORY_FILES_H_
