// SPDX-License-Identifier: Apache-2.0
// A file that is read at any place by any thread.
#ifndef MILLHOPPER_FRAMEWORK_IO_INPUT_FILE_H_
#define MILLHOPPER_FRAMEWORK_IO_INPUT_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "framework/base/memory.h"

namespace millhopper {

// A regular file open for reading. Its size is taken when it is opened: what is appended later is
// not seen, and what is cut off is an error instead of an end. Read is safe on any thread. Files
// are not mapped into memory, because one that shrinks under a mapping kills the process.
//
// Files that the kernel makes up while they are read (/proc, /sys) say that they have no bytes or a
// page of them, whatever comes. They are read to their end when they are opened, and kept.
//
// Where the process may have no more descriptors, files that nobody reads at the moment are closed,
// and opened again when they are read; they must be the same files then.
class InputFile {
 public:
  // Throws kIo with the file's name, and kResourceLimit for more than kMaxUnsizedBytes of a file
  // that does not say how many it has.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Reads exactly `size` bytes from `offset` on. Throws kIo if the system cannot read them, and
  // kDataLoss "file is shorter than when it was opened" if they are gone, or if the name is by now
  // that of another file and the descriptor was needed elsewhere; all name file and byte.
  void Read(uint64_t offset, char* out, size_t size) const;
  // The same for `count` pieces of `size` bytes each, which lie one behind another in the file and
  // `stride` bytes apart in memory.
  void ReadApart(uint64_t offset, char* out, size_t size, size_t stride, size_t count) const;

 private:
  // Keeps the descriptor open while it lives.
  class InUse;
  // The files that hold a descriptor.
  struct Opened;

  // A file that is whole for its destructor, whatever else goes wrong while it is made.
  InputFile(std::string path, int descriptor);

  // The descriptor of a file that is opened now, or -1.
  static int Open(const std::string& path);
  // Closes a file that nobody reads; false if there is none.
  static bool CloseOne();
  // Reads all that comes, into content_.
  void ReadToTheEnd();
  // Copies from content_.
  void Copy(uint64_t offset, char* out, size_t size) const;
  // How many bytes a call of the system has read, 0 to be asked again; throws where it failed.
  size_t Check(ssize_t got, uint64_t offset) const;
  [[noreturn]] void ThrowCannotRead(uint64_t offset) const;

  const std::string path_;
  uint64_t size_ = 0;
  Ref<Buffer> content_;  // of a file that does not know its size
  dev_t device_ = 0;
  ino_t inode_ = 0;

  mutable std::mutex mutex_;  // guards what is below
  mutable int descriptor_;
  mutable size_t users_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_INPUT_FILE_H_
