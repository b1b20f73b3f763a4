// SPDX-License-Identifier: Apache-2.0
// A file that is read at any place by any thread.
#ifndef MILLRACE_READERS_INPUT_FILE_H_
#define MILLRACE_READERS_INPUT_FILE_H_

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace millrace {

// A regular file open for reading. Its size is taken when it is opened: what is appended later is
// not seen, and what is cut off is an error instead of an end. Read is safe on any thread. Files
// are not mapped into memory, because one that shrinks under a mapping kills the process.
class InputFile {
 public:
  // Throws kIo with the file's name.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }
  // Reads exactly `size` bytes from `offset` on. Throws kIo if the system cannot read them, and
  // kDataLoss "file is shorter than when it was opened" if they are gone; both name file and byte.
  void Read(uint64_t offset, char* out, size_t size) const;
  // The same for `count` pieces of `size` bytes each, which lie one behind another in the file and
  // `stride` bytes apart in memory.
  void ReadApart(uint64_t offset, char* out, size_t size, size_t stride, size_t count) const;

 private:
  // How many bytes a call of the system has read, 0 to be asked again; throws where it failed.
  size_t Check(ssize_t got, uint64_t offset) const;

  const std::string path_;
  int descriptor_;
  uint64_t size_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_READERS_INPUT_FILE_H_
