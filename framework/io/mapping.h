// SPDX-License-Identifier: Apache-2.0
// A local file as memory: the pages in which the kernel keeps it, seen without a copy.
#ifndef MILLHOPPER_FRAMEWORK_IO_MAPPING_H_
#define MILLHOPPER_FRAMEWORK_IO_MAPPING_H_

#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "framework/base/buffer.h"
#include "framework/base/kept.h"
#include "framework/io/guarded_pages.h"

namespace millhopper {

// A whole file, mapped for reading. Memory that shows a file changes when the file does, at any
// moment: so whatever is read here is to be copied or computed first, then CheckUnchanged is to be
// called, and only then may it be used. Nothing that is read here twice needs to be the same. Any
// thread.
class Mapping final : public Kept {
 public:
  // Maps a regular file of at least one byte that is open, with this status. Takes over the
  // descriptor unless it throws: kIo with the file's name.
  Mapping(std::string path, int descriptor, const struct stat& status);

  uint64_t size() const { return size_; }
  // A part of the file, whose memory lives on with it. The memory limit does not count it: the
  // pages are the kernel's, which takes them back when it likes. Throws kInternal for one beyond
  // the end.
  Ref<Buffer> View(uint64_t offset, size_t size);
  // Whether these bytes lie in the mapping.
  bool Has(const char* bytes) const {
    return bytes >= begin_ && bytes - begin_ <= ptrdiff_t(size_);
  }
  // Throws unless what was read here before the call is what the file had when it was opened:
  // kDataLoss if the file is shorter or was written to, kIo if the disk failed. The error names the
  // file and the byte, which is `offset` where no better one is known.
  void CheckUnchanged(uint64_t offset) const;

 private:
  ~Mapping() override;

  const std::string path_;
  const int descriptor_;
  const uint64_t size_;
  const struct timespec modified_;
  char* begin_ = nullptr;
  std::optional<GuardedPages> guard_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_MAPPING_H_
