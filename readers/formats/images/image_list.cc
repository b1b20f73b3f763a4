// SPDX-License-Identifier: Apache-2.0
// The format `image_list`: a text file that names an image and its label in each line,
//
//   path label
//
// with a tab or spaces between them, and LF, CR LF or CR after them. With a tab, the path ends at
// the first one, else at the last space. A path is relative to the folder of the list, or to
// `root`; blank lines have no meaning. A record is an image as the bytes of its file, and its
// label. The list may be compressed. One that comes from a server may name files of servers only
// (framework/io/listed_files.h).
#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/listed_files.h"
#include "readers/formats/images/labeled_files.h"
#include "readers/support/line_ends.h"

namespace millhopper {
namespace {

// Without the white space at the end.
std::string_view Trimmed(std::string_view text) {
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// The list, line by line.
class ListParser {
 public:
  // Relative paths lie in the folder `root`, or if it is "" beside the list.
  ListParser(const std::string& path, const std::string& root)
      : stream_(path), files_(LabeledFiles::NamedIn(path, root)), listed_(path, root) {}

  std::shared_ptr<LabeledFiles> Parse() {
    std::string block;
    for (bool more = true; more;) {
      const size_t rest = block.size();
      if (rest > kMaxLineBytes) {
        ++line_;
        Fail(ErrorCode::kResourceLimit,
             StrCat("has more than ", kMaxLineBytes, " bytes; a line is a path and a label"));
      }
      block.resize(rest + kReadBlockBytes);
      block.resize(rest + stream_.Read(block.data() + rest, kReadBlockBytes));
      more = block.size() == rest + kReadBlockBytes;
      char next;
      if (!more) stream_.Read(&next, 1);  // throws if the list ends where an error is
      block.erase(0, AddLines(block, !more));
    }
    return std::make_shared<LabeledFiles>(std::move(files_));
  }

 private:
  // Adds the whole lines of a block, and what follows them if it is the last one. Returns how many
  // bytes they have.
  size_t AddLines(std::string_view block, bool last) {
    const char* const limit = block.data() + block.size();
    LineEnds ends(block.data(), limit, LoneCr::kEndsLine);
    const char* begin = block.data();
    while (begin < limit) {
      const LineEnds::Line found = ends.From(begin, last);
      if (found.next == nullptr) break;
      ++line_;
      const std::string_view line(begin, static_cast<size_t>(found.end - begin));
      Add(begin_ == 0 ? line.substr(Utf8MarkBytes(line)) : line);
      begin_ += static_cast<uint64_t>(found.next - begin);
      begin = found.next;
    }
    return static_cast<size_t>(begin - block.data());
  }

  void Add(std::string_view line) {
    line = Trimmed(line);
    if (line.empty()) return;
    const size_t tab = line.find('\t');
    const size_t end = tab != std::string_view::npos ? tab : line.rfind(' ');
    const std::string_view path = Trimmed(line.substr(0, end));
    if (end == std::string_view::npos || path.empty()) {
      Fail(ErrorCode::kDataLoss, StrCat("is ", Quoted(line), ", but a line is a path and a label"));
    }
    const std::string_view text = line.substr(line.find_first_not_of(" \t", end));
    int64_t label = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), label);
    if (error != std::errc() || stop != text.data() + text.size()) {
      Fail(ErrorCode::kDataLoss,
           StrCat("has the label ", Quoted(text), ", but a label is one integer of 64 bits",
                  line_ == 1 ? "; a list has no header" : ""));
    }
    files_.Add(path, label, line_);
    files_.GetPath(files_.size() - 1, &path_);
    if (listed_.Allows(path, path_)) return;
    Fail(ErrorCode::kInvalidArgument,
         StrCat("names ", Quoted(path), ", which is no file on a server: ", ListedFiles::Advice()));
  }

  static std::string Quoted(std::string_view text) {
    constexpr size_t kMostBytes = 60;
    return StrCat("'", Escaped(std::string(text.substr(0, kMostBytes))),
                  text.size() > kMostBytes ? "...'" : "'");
  }

  [[noreturn]] void Fail(ErrorCode code, const std::string& problem) const {
    throw Error(code, StrCat("line ", line_, ", at ", stream_.Describe(begin_), ", ", problem))
        .InFile(stream_.path(), static_cast<int64_t>(begin_));
  }

  ByteStream stream_;
  LabeledFiles files_;
  const ListedFiles listed_;
  std::string path_;    // of the last file
  uint64_t line_ = 0;   // the number of the current line, from 1
  uint64_t begin_ = 0;  // its first byte
};

class ImageListFormat final : public LabeledFilesFormat {
 public:
  explicit ImageListFormat(const FormatArguments& arguments)
      : LabeledFilesFormat(arguments), root_(arguments.attributes.Get<std::string>("root")) {}

 private:
  std::shared_ptr<LabeledFiles> FilesOf(const std::string& path) const override {
    return ListParser(path, root_).Parse();
  }

  const std::string root_;
};

FormatSchema Schema() {
  FormatSchema schema(
      "a text file that names an image and its integer label in each line: the bytes of an image "
      "and its label, int64 [1] ([1, 1] if that is declared); plain, gzip, zstd, lz4, bzip2, xz");
  schema
      .Attr({"root", "",
             "the folder that paths in the list are relative to; without it, the "
             "folder of the list"})
      .NamesFilesAnywhere()
      .SlotNames({"image", "label"});
  return schema;
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<ImageListFormat>(arguments);
}

REGISTER_FILE_FORMAT(image_list, Schema, Make);

}  // namespace
}  // namespace millhopper
