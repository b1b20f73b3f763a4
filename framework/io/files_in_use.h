// SPDX-License-Identifier: Apache-2.0
// Which files this process reads and which it is about to replace. No file may be both, whatever
// names or links lead to it: the later of the two requests is refused. A new file only takes the
// name of the old one, so a reader that has the old file open continues to read that.
#ifndef MILLHOPPER_FRAMEWORK_IO_FILES_IN_USE_H_
#define MILLHOPPER_FRAMEWORK_IO_FILES_IN_USE_H_

#include <atomic>
#include <string>
#include <vector>

#include "framework/io/file.h"

namespace millhopper {

// What the process uses a file for.
enum class FileRole { kData, kProgram, kFlags, kPlugin, kManifest };

// Files that are being read, as long as this object lives or, by a reader, until its pass ends. One
// thread at a time.
class FilesRead {
 public:
  explicit FilesRead(FileRole role);
  ~FilesRead();
  FilesRead(const FilesRead&) = delete;
  FilesRead& operator=(const FilesRead&) = delete;

  // Throws kInvalidArgument, naming `path`, if the process is replacing the file.
  void Add(const std::string& path, const FileId& id);
  // The same for a local file. Does nothing if the file does not exist.
  void AddLocal(const std::string& path);

  // Says that the files are not read any more until Rewind. Any thread.
  void End();
  // Says that the files are not read until Begin.
  void Rewind();
  // Says that the files are read; has no effect between End and Rewind. Returns true after Rewind:
  // then the names may have come to mean other files, which the caller adds after Clear.
  bool Begin();
  void Clear();

 private:
  friend class FileReplaced;
  enum class State { kRead, kEnded, kRewound };

  const FileRole role_;
  std::atomic<State> state_{State::kRead};  // changed under the mutex
  std::vector<FileId> ids_;                 // sorted by the first search
  bool sorted_ = true;
};

// A file that is about to be replaced, as long as this object lives.
class FileReplaced {
 public:
  // Throws kInvalidArgument, naming `path`, if the process reads the file; a manifest may be
  // replaced while it is read as one.
  FileReplaced(const std::string& path, const FileId& id, FileRole role);
  ~FileReplaced();
  FileReplaced(const FileReplaced&) = delete;
  FileReplaced& operator=(const FileReplaced&) = delete;

 private:
  friend class FilesRead;
  const FileId id_;
  const FileRole role_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_FILES_IN_USE_H_
