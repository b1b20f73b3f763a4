// SPDX-License-Identifier: Apache-2.0
// A local file as memory: the pages in which the kernel keeps it, seen without a copy.
#ifndef MILLHOPPER_FRAMEWORK_IO_MAPPING_H_
#define MILLHOPPER_FRAMEWORK_IO_MAPPING_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>

#include "framework/base/mutex.h"
#include "framework/base/ref_counted.h"
#include "framework/io/guarded_pages.h"
#include "framework/memory/buffer.h"

namespace millhopper {

// A whole file, mapped for reading. The memory changes whenever the file does. So a caller copies
// bytes or computes something from them, then calls CheckUnchanged, and only then uses the result.
// Reading the same byte twice may give two values. Any thread.
class Mapping final : public RefCounted {
 public:
  // Maps an open regular file of at least one byte; `status` is its status. Owns the descriptor
  // unless the constructor throws kIo with the file's name.
  Mapping(std::string path, int descriptor, const struct stat& status);

  uint64_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  // Whether this is a mapping of the file with this status, which has not changed since. False,
  // too, if that is uncertain: a change so shortly before the mapping that a later one may have the
  // same time on the file system's clock.
  bool IsOf(const struct stat& status) const;
  // A part of the file; the mapping lives as long as the buffer. The memory limit does not count
  // it, because the kernel may take its pages back at any time. Throws kInternal if the part lies
  // beyond the end.
  Ref<Buffer> View(uint64_t offset, size_t size);
  // Whether these bytes lie in the mapping.
  bool Has(const char* bytes) const {
    return bytes >= begin_ && bytes - begin_ <= ptrdiff_t(size_);
  }
  // Throws unless all bytes that were read here before the call are those that the file had when it
  // was opened: kDataLoss if the file is shorter or was written to, kIo if the disk failed. The
  // error has the file and the byte, which is `offset` unless the failing byte is known.
  void CheckUnchanged(uint64_t offset) const;
  // Notes that the checksum of the bytes that begin at `offset` was right, so that it need not be
  // computed each time that the same mapping is read; and whether that was noted.
  void SetChecked(uint64_t offset) const;
  bool IsChecked(uint64_t offset) const;

 private:
  ~Mapping() override;

  const std::string path_;
  const int descriptor_;
  const uint64_t size_;
  const dev_t device_;
  const ino_t inode_;
  const struct timespec modified_;  // its content
  const struct timespec changed_;   // anything; no call can set it back
  const bool settled_;              // it had not changed for a while
  char* begin_ = nullptr;
  std::optional<GuardedPages> guard_;
  mutable Mutex mutex_;
  mutable std::unordered_set<uint64_t> checked_ GUARDED_BY(mutex_);
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_MAPPING_H_
