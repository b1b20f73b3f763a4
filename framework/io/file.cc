// SPDX-License-Identifier: Apache-2.0
#include "framework/io/file.h"

#include <algorithm>
#include <cstring>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/counted_reads.h"
#include "framework/io/file_system.h"
#include "framework/memory/memory.h"

namespace millhopper {

std::unique_ptr<const File> File::Open(const std::string& path, BufferType buffer_type) {
  const FileSystem& system = FileSystemOf(path);
  return buffer_type == BufferType::kMmap ? system.OpenMapped(path) : system.Open(path);
}

void File::Read(uint64_t offset, char* out, size_t size) const {
  while (size > 0) {
    const size_t got = ReadSome(offset, out, size);
    if (got == 0) ThrowShorter(offset);
    if (!is_view_) CountedReads::Add(got);
    out += got;
    offset += got;
    size -= got;
  }
}

// Reads are few and large because each may take a round trip over a network.
void File::ReadApart(uint64_t offset, char* out, size_t size, size_t stride, size_t count) const {
  if (size == 0 || count == 0) return;
  const size_t at_once = std::clamp<size_t>(kReadBlockBytes / size, 1, count);
  const Ref<Buffer> block = BufferPool::At(Place()).Take(at_once * size);
  while (count > 0) {
    const size_t pieces = std::min(at_once, count);
    Read(offset, block->data(), pieces * size);
    for (size_t i = 0; i < pieces; ++i, out += stride) {
      std::memcpy(out, block->data() + i * size, size);
    }
    offset += pieces * size;
    count -= pieces;
  }
}

void File::ThrowShorter(uint64_t offset) const {
  throw Error(ErrorCode::kDataLoss,
              StrCat("file is shorter than when it was opened: it ends before byte ", offset,
                     " and had ", size_, " bytes"))
      .InFile(path_, static_cast<int64_t>(offset));
}

}  // namespace millhopper
