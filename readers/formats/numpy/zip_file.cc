// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/numpy/zip_file.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/io/compression/compression.h"
#include "readers/support/checksums.h"
#include "readers/support/stored_number.h"

namespace millhopper {
namespace {

constexpr char kMemberMagic[] = "PK\3\4";
constexpr char kEntryMagic[] = "PK\1\2";
constexpr char kEndMagic[] = "PK\5\6";
constexpr char kEnd64Magic[] = "PK\6\6";
constexpr char kLocator64Magic[] = "PK\6\7";
constexpr size_t kMagicBytes = 4;
constexpr size_t kMemberBytes = 30;
constexpr size_t kEntryBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kLocator64Bytes = 20;
constexpr size_t kMostCommentBytes = 0xffff;

constexpr uint16_t kStored = 0;
constexpr uint16_t kDeflated = 8;
constexpr uint16_t kEncrypted = 1 | 1 << 6 | 1 << 13;  // bits of the flags

constexpr size_t kGzipHeadBytes = 10;
constexpr size_t kGzipTailBytes = 8;

template <typename T>
T NumberAt(const std::string& bytes, size_t at) {
  return StoredNumber<T>(bytes.data() + at);
}

bool HasMagicAt(const std::string& bytes, size_t at, const char* magic) {
  return bytes.compare(at, kMagicBytes, magic, kMagicBytes) == 0;
}

// The file up to the end of a stored member.
class StoredMember final : public File {
 public:
  StoredMember(std::shared_ptr<const File> file, uint64_t end)
      : File(file->path()), file_(std::move(file)) {
    set_size(end);
    set_id(file_->id());
    set_is_view();
    set_mapping(file_->mapping());
  }

  void ReadApart(uint64_t offset, char* out, size_t size, size_t stride,
                 size_t count) const override {
    file_->ReadApart(offset, out, size, stride, count);
  }

 private:
  size_t ReadSome(uint64_t offset, char* out, size_t size) const override {
    file_->Read(offset, out, size);
    return size;
  }

  const std::shared_ptr<const File> file_;
};

// A deflated member as the gzip file that it would be: the same bytes at the same offsets, but with
// gzip's head before them and gzip's tail, the CRC-32 and the size, after them.
class DeflatedMember final : public File {
 public:
  DeflatedMember(std::shared_ptr<const File> file, const ZipEntry& entry, uint64_t begin)
      : File(file->path()),
        file_(std::move(file)),
        begin_(begin),
        end_(begin + entry.stored_bytes) {
    set_size(end_ + kGzipTailBytes);
    set_id(file_->id());
    set_is_view();
    const auto bytes = static_cast<uint32_t>(entry.bytes);  // gzip stores 32 bits of it
    std::memcpy(tail_, &entry.crc32, sizeof(entry.crc32));
    std::memcpy(tail_ + sizeof(entry.crc32), &bytes, sizeof(bytes));
  }

  uint64_t begin() const { return begin_ - kGzipHeadBytes; }

 private:
  size_t ReadSome(uint64_t offset, char* out, size_t size) const override {
    static constexpr char kHead[kGzipHeadBytes] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, '\xff'};
    if (offset < begin_) return Copy(kHead, offset - begin(), kGzipHeadBytes, out, size);
    if (offset >= end_) return Copy(tail_, offset - end_, kGzipTailBytes, out, size);
    size = std::min<uint64_t>(size, end_ - offset);
    file_->Read(offset, out, size);
    return size;
  }

  static size_t Copy(const char* from, uint64_t first, size_t all, char* out, size_t size) {
    size = std::min<size_t>(size, all - first);
    std::memcpy(out, from + first, size);
    return size;
  }

  const std::shared_ptr<const File> file_;
  const uint64_t begin_, end_;
  char tail_[kGzipTailBytes];
};

}  // namespace

ZipFile::ZipFile(std::shared_ptr<const File> file) : file_(std::move(file)) { ReadDirectory(); }

void ZipFile::Fail(uint64_t offset, const std::string& problem) const {
  throw Error(ErrorCode::kDataLoss, problem).InFile(file_->path(), static_cast<int64_t>(offset));
}

std::string ZipFile::Bytes(uint64_t offset, uint64_t size, const char* what) const {
  if (offset > file_->size() || size > file_->size() - offset) {
    Fail(std::min(offset, file_->size()),
         StrCat("the ", what, " of the zip file should be ", size, " bytes at byte ", offset,
                ", but the file has ", file_->size()));
  }
  std::string bytes(size, '\0');
  file_->Read(offset, bytes.data(), bytes.size());
  return bytes;
}

// The directory is found from the end of the file, where its place is written.
void ZipFile::ReadDirectory() {
  const uint64_t size = file_->size();
  const uint64_t tail_bytes = std::min<uint64_t>(size, kEndBytes + kMostCommentBytes);
  const uint64_t tail_begin = size - tail_bytes;
  const std::string tail = Bytes(tail_begin, tail_bytes, "end");
  uint64_t at = tail_bytes < kEndBytes ? 0 : tail_bytes - kEndBytes + 1;
  bool found = false;
  while (!found && at > 0) {
    --at;
    found = HasMagicAt(tail, at, kEndMagic) &&
            NumberAt<uint16_t>(tail, at + 20) == tail_bytes - at - kEndBytes;
  }
  if (!found) {
    Fail(size,
         "no zip file, or one that was cut off: the record that ends its directory is "
         "not at its end");
  }
  uint64_t end = tail_begin + at;
  uint64_t disks = uint64_t{NumberAt<uint16_t>(tail, at + 4)} + NumberAt<uint16_t>(tail, at + 6);
  uint64_t here = NumberAt<uint16_t>(tail, at + 8);
  uint64_t count = NumberAt<uint16_t>(tail, at + 10);
  uint64_t bytes = NumberAt<uint32_t>(tail, at + 12);
  uint64_t begin = NumberAt<uint32_t>(tail, at + 16);
  const std::string locator =
      end < kLocator64Bytes ? "" : Bytes(end - kLocator64Bytes, kLocator64Bytes, "locator");
  if (!locator.empty() && HasMagicAt(locator, 0, kLocator64Magic)) {
    end = NumberAt<uint64_t>(locator, 8);
    const std::string end64 = Bytes(end, kEnd64Bytes, "64-bit end");
    if (!HasMagicAt(end64, 0, kEnd64Magic)) {
      Fail(end, "the 64-bit record that ends the zip file's directory is not where it should be");
    }
    disks = uint64_t{NumberAt<uint32_t>(end64, 16)} + NumberAt<uint32_t>(end64, 20);
    here = NumberAt<uint64_t>(end64, 24);
    count = NumberAt<uint64_t>(end64, 32);
    bytes = NumberAt<uint64_t>(end64, 40);
    begin = NumberAt<uint64_t>(end64, 48);
  }
  if (disks != 0 || here != count) {
    Fail(end, "the zip file is divided into several, which is not read");
  }
  if (begin > end || bytes != end - begin) {
    Fail(end, StrCat("the directory of the zip file should be ", bytes, " bytes at byte ", begin,
                     ", but it ends at byte ", end));
  }
  if (bytes > kMaxUnsizedBytes) {
    throw Error(ErrorCode::kResourceLimit, StrCat("the directory of the zip file has ", bytes,
                                                  " bytes; the limit is ", kMaxUnsizedBytes))
        .InFile(file_->path(), static_cast<int64_t>(begin));
  }
  directory_ = begin;
  ParseDirectory(Bytes(begin, bytes, "directory"), begin, count);
}

void ZipFile::ParseDirectory(const std::string& directory, uint64_t begin, uint64_t count) {
  for (size_t at = 0; at < directory.size();) {
    if (directory.size() - at < kEntryBytes || !HasMagicAt(directory, at, kEntryMagic)) {
      Fail(begin + at,
           StrCat("entry ", entries_.size(), " of the zip file's directory is damaged"));
    }
    const size_t name_bytes = NumberAt<uint16_t>(directory, at + 28);
    const size_t extra_bytes = NumberAt<uint16_t>(directory, at + 30);
    const size_t all =
        kEntryBytes + name_bytes + extra_bytes + NumberAt<uint16_t>(directory, at + 32);
    if (all > directory.size() - at) {
      Fail(begin + at, StrCat("entry ", entries_.size(),
                              " of the zip file's directory goes beyond the directory's end"));
    }
    ZipEntry entry;
    entry.flags = NumberAt<uint16_t>(directory, at + 8);
    entry.method = NumberAt<uint16_t>(directory, at + 10);
    entry.crc32 = NumberAt<uint32_t>(directory, at + 16);
    entry.stored_bytes = NumberAt<uint32_t>(directory, at + 20);
    entry.bytes = NumberAt<uint32_t>(directory, at + 24);
    entry.offset = NumberAt<uint32_t>(directory, at + 42);
    entry.name = directory.substr(at + kEntryBytes, name_bytes);
    // The extra fields, of which number 1 has what 32 bits cannot hold, in this order.
    size_t extra = at + kEntryBytes + name_bytes;
    const size_t extra_end = extra + extra_bytes;
    while (extra_end - extra >= 4) {
      const auto id = NumberAt<uint16_t>(directory, extra);
      const size_t end =
          std::min<size_t>(extra_end, extra + 4 + NumberAt<uint16_t>(directory, extra + 2));
      extra += 4;
      for (uint64_t* const value : {&entry.bytes, &entry.stored_bytes, &entry.offset}) {
        if (id != 1 || *value != UINT32_MAX || end - extra < 8) continue;
        *value = NumberAt<uint64_t>(directory, extra);
        extra += 8;
      }
      extra = end;
    }
    entries_.push_back(std::move(entry));
    at += all;
  }
  if (entries_.size() != count) {
    Fail(begin, StrCat("the directory of the zip file has ", entries_.size(),
                       " entries, but its end says ", count));
  }
}

// Where the content of a member begins; its own header tells it.
uint64_t ZipFile::FindContent(const ZipEntry& entry) const {
  const std::string who = StrCat("member '", Escaped(entry.name), "'");
  if ((entry.flags & kEncrypted) != 0) Fail(entry.offset, who + " is encrypted, which is not read");
  if (entry.method != kStored && entry.method != kDeflated) {
    Fail(entry.offset, StrCat(who, " is compressed by method ", entry.method,
                              "; stored (0) and deflated (8) ones are read"));
  }
  if (entry.offset > directory_ || directory_ - entry.offset < kMemberBytes) {
    Fail(directory_, StrCat(who, " should begin at byte ", entry.offset,
                            ", but the directory begins at byte ", directory_));
  }
  const std::string header = Bytes(entry.offset, kMemberBytes, "header of a member");
  const uint64_t name_bytes = NumberAt<uint16_t>(header, 26);
  const uint64_t begin = entry.offset + kMemberBytes + name_bytes + NumberAt<uint16_t>(header, 28);
  if (!HasMagicAt(header, 0, kMemberMagic) || NumberAt<uint16_t>(header, 8) != entry.method ||
      (NumberAt<uint16_t>(header, 6) & kEncrypted) != 0 || name_bytes != entry.name.size() ||
      Bytes(entry.offset + kMemberBytes, name_bytes, "name of a member") != entry.name) {
    Fail(entry.offset, who + " does not begin with the header that the directory promises");
  }
  if (begin > directory_ || entry.stored_bytes > directory_ - begin) {
    Fail(entry.offset, StrCat(who, " should have ", entry.stored_bytes, " bytes from byte ", begin,
                              " on, but the directory begins at byte ", directory_));
  }
  if (entry.method == kStored && entry.bytes != entry.stored_bytes) {
    Fail(entry.offset, StrCat(who, " is stored as it is, but its size is said to be both ",
                              entry.bytes, " and ", entry.stored_bytes));
  }
  return begin;
}

void ZipFile::CheckStored(const ZipEntry& entry) const {
  if (entry.method != kStored) return;
  const uint64_t begin = FindContent(entry);
  std::vector<char> block(std::min<uint64_t>(kReadBlockBytes, entry.bytes));
  uint32_t crc = 0;
  for (uint64_t done = 0; done < entry.bytes;) {
    CheckStop();
    const size_t size = std::min<uint64_t>(block.size(), entry.bytes - done);
    file_->Read(begin + done, block.data(), size);
    crc = Crc32(block.data(), size, crc);
    done += size;
  }
  if (crc != entry.crc32) {
    Fail(begin, StrCat("the checksum of member '", Escaped(entry.name), "' is ", Hex(crc),
                       ", the directory says ", Hex(entry.crc32)));
  }
}

std::unique_ptr<ByteStream> ZipFile::OpenMember(const ZipEntry& entry) const {
  const uint64_t begin = FindContent(entry);
  if (entry.method == kStored) {
    return std::make_unique<ByteStream>(
        std::make_unique<StoredMember>(file_, begin + entry.stored_bytes), begin, nullptr);
  }
  auto member = std::make_unique<DeflatedMember>(file_, entry, begin);
  const uint64_t gzip_begin = member->begin();
  return std::make_unique<ByteStream>(std::move(member), gzip_begin, &kGzip);
}

}  // namespace millhopper
