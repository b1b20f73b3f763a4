// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/images/whole_file.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "readers/support/byte_records.h"

namespace millhopper {
namespace {

using std::literals::operator""sv;

struct Kind {
  std::string_view name;
  std::string_view begin;  // a ? stands for any byte
};

// The kinds that the formats read, and those that files are often taken for.
constexpr Kind kKinds[] = {
    {kJpegImage, "\xff\xd8\xff"sv},
    {kPngImage, "\x89PNG\r\n\x1a\n"sv},
    {kWebpImage, "RIFF????WEBP"sv},
    {kGifImage, "GIF8"sv},
    {kBmpImage, "BM????\0\0\0\0"sv},
    {kTiffImage, "II*\0"sv},
    {kTiffImage, "MM\0*"sv},
    {kTiffImage, "II+\0"sv},  // of 64 bits
    {kTiffImage, "MM\0+"sv},
    {"a HEIF or AVIF image", "????ftyp"sv},
    {"a file compressed by gzip", "\x1f\x8b"sv},
    {"a file compressed by zstd", "\x28\xb5\x2f\xfd"sv},
    {"a file compressed by bzip2", "BZh"sv},
    {"a file compressed by xz", "\xfd\x37zXZ"sv},
    {"a zip archive", "PK\x03\x04"sv},
    {"a web page", "<!DOCTYPE"sv},
    {"a web page", "<html"sv},
};

constexpr std::string_view kImages[] = {kJpegImage, kPngImage, kWebpImage, kGifImage,
                                        kBmpImage,  kPnmImage, kTiffImage};

// Whether a kind of file is the one that is wanted, or one of those.
bool IsKind(std::string_view found, std::string_view wanted) {
  if (wanted != kAnyImage) return found == wanted;
  return std::find(std::begin(kImages), std::end(kImages), found) != std::end(kImages);
}

bool Begins(std::string_view head, std::string_view begin) {
  return head.size() >= begin.size() &&
         std::equal(begin.begin(), begin.end(), head.begin(),
                    [](char wanted, char found) { return wanted == '?' || wanted == found; });
}

// PBM, PGM and PPM: "P", a number from 1 to 6, and white space.
bool IsPnm(std::string_view head) {
  return head.size() > 2 && head[0] == 'P' && head[1] >= '1' && head[1] <= '6' &&
         (head[2] == ' ' || (head[2] >= '\t' && head[2] <= '\r'));
}

// What the file is instead of what it should be.
std::string Found(std::string_view head) {
  const std::string_view kind = KindOfFile(head);
  if (!kind.empty()) {
    return StrCat(
        "it begins as ", kind, " does",
        IsKind(kind, kAnyImage) ? "; the prefix 'image:' reads images of any format" : "");
  }
  std::string bytes;
  for (const char c : head.substr(0, 8)) {
    constexpr char kDigits[] = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(c);
    bytes += {' ', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return StrCat("it begins with the bytes", bytes);
}

// One chunk of one record.
class WholeFile final : public FileSource {
 public:
  explicit WholeFile(const FileEntry& file) : file_(File::Open(file.path, file.buffer_type)) {}

  bool Claim(Chunk* chunk) override {
    if (claimed_) return false;
    claimed_ = true;
    chunk->offset = 0;
    chunk->length = file_->size();
    chunk->records = 1;
    return true;
  }

  void Fetch(Chunk* chunk) const override {
    const uint64_t size = file_->size();
    if (size > kMaxRecordBytes) {
      throw Error(
          ErrorCode::kResourceLimit,
          StrCat("the file has ", size, " bytes; the limit of a record is ", kMaxRecordBytes))
          .InFile(file_->path(), 0);
    }
    chunk->Read(*file_, 0, size);
    chunk->pieces.push_back({0, static_cast<uint32_t>(size)});
  }

 private:
  const std::unique_ptr<const File> file_;
  bool claimed_ = false;
};

class WholeFileFormat final : public FileFormat {
 public:
  WholeFileFormat(const FormatArguments& arguments, std::string_view kind)
      : FileFormat(AgreeOnSlots(arguments.declared, {BytesSlot()})), kind_(kind) {}

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    return std::make_unique<WholeFile>(file);
  }

  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    return files.size();
  }

  bool chunks_tell_records() const override { return true; }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    for (size_t i = 0; i < n; ++i) {
      const std::string_view bytes(tickets[i].bytes, tickets[i].size);
      if (IsKind(KindOfFile(bytes), kind_)) continue;
      Throw(ErrorCode::kDataLoss, "the file is not ", kind_, ": ",
            bytes.empty() ? "it is empty" : Found(bytes));
    }
    LoadBytes(tickets, n, rows);
  }

 private:
  const std::string_view kind_;
};

}  // namespace

std::string_view KindOfFile(std::string_view head) {
  for (const Kind& kind : kKinds) {
    if (Begins(head, kind.begin)) return kind.name;
  }
  return IsPnm(head) ? kPnmImage : "";
}

std::unique_ptr<FileFormat> MakeWholeFileFormat(const FormatArguments& arguments,
                                                std::string_view kind) {
  return std::make_unique<WholeFileFormat>(arguments, kind);
}

}  // namespace millhopper
