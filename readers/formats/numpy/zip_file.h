// SPDX-License-Identifier: Apache-2.0
// Members of zip files (PKWARE's APPNOTE, zip64 too), stored or deflated, read where they lie.
#ifndef MILLHOPPER_READERS_FORMATS_NUMPY_ZIP_FILE_H_
#define MILLHOPPER_READERS_FORMATS_NUMPY_ZIP_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/io/file.h"

namespace millhopper {

// A member as the directory at the end of the file describes it. Nothing of this is checked against
// the member itself.
struct ZipEntry {
  std::string name;
  uint16_t flags = 0;
  uint16_t method = 0;
  uint32_t crc32 = 0;
  uint64_t stored_bytes = 0;
  uint64_t bytes = 0;
  uint64_t offset = 0;  // of its own header
};

// One zip file that is open. Any thread.
class ZipFile {
 public:
  // Reads the directory. Throws kDataLoss with file and byte for one that is damaged, and
  // kResourceLimit for one of more than kMaxUnsizedBytes.
  explicit ZipFile(std::shared_ptr<const File> file);

  const std::vector<ZipEntry>& entries() const {
    return entries_;
  }  // in the order of the directory
  // The content of a member. A stored one is plain and read where it lies, unchecked; a deflated
  // one is checked while it is read (ByteStream). Throws kDataLoss with file and byte for a member
  // that is encrypted, stored otherwise, or not where the directory says.
  std::unique_ptr<ByteStream> OpenMember(const ZipEntry& entry) const;
  // Reads a stored member through, and throws kDataLoss with file and byte unless it has its
  // CRC-32. Does nothing for a deflated one.
  void CheckStored(const ZipEntry& entry) const;

 private:
  void ReadDirectory();
  void ParseDirectory(const std::string& directory, uint64_t begin, uint64_t count);
  uint64_t FindContent(const ZipEntry& entry) const;
  std::string Bytes(uint64_t offset, uint64_t size, const char* what) const;
  [[noreturn]] void Fail(uint64_t offset, const std::string& problem) const;

  const std::shared_ptr<const File> file_;
  uint64_t directory_ = 0;  // where the directory begins and the members have ended
  std::vector<ZipEntry> entries_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_NUMPY_ZIP_FILE_H_
