// SPDX-License-Identifier: Apache-2.0
#include "framework/io/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

constexpr size_t kInputBytes = size_t{256} << 10;  // of a gzip file, read at once
// A bit of deflate gives at most 258 bytes: a byte 1032, with what zlib holds back in between.
constexpr uint64_t kMostExpansion = 1032;
constexpr uint64_t kHeldBack = 64 << 10;
constexpr unsigned char kGzipMagic[] = {0x1f, 0x8b};
constexpr char kGzipExtension[] = ".gz";

bool BeginsAsGzip(const InputFile& file) {
  char head[sizeof(kGzipMagic)];
  if (file.size() < sizeof(head)) return false;
  file.Read(0, head, sizeof(head));
  return std::equal(head, head + sizeof(head), reinterpret_cast<const char*>(kGzipMagic));
}

bool IsNamedGzip(const std::string& path) {
  const size_t size = sizeof(kGzipExtension) - 1;
  return path.size() > size && path.compare(path.size() - size, size, kGzipExtension) == 0;
}

}  // namespace

// Members of a gzip file, one behind another. The checksum of a member lies behind its content, so
// some content is held back: a member that fits there is known to be right before any of it is
// given out.
class ByteStream::Inflater {
 public:
  explicit Inflater(const InputFile& file)
      : file_(file),
        input_(std::min<uint64_t>(kInputBytes, file.size())),
        content_(std::min<uint64_t>(kReadBlockBytes, file.size() * kMostExpansion)) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&zlib_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&zlib_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Adds what it reads to *got, so that it is known when this throws.
  void Read(char* out, size_t size, size_t* got) {
    while (size > 0 && (begin_ < end_ || Fill())) {
      const size_t taken = std::min(size, end_ - begin_);
      std::memcpy(out, content_.data() + begin_, taken);
      begin_ += taken;
      out += taken;
      size -= taken;
      *got += taken;
    }
  }

  // No more than so many bytes can follow.
  uint64_t most_left() const {
    return end_ - begin_ + (file_.size() - place()) * kMostExpansion + kHeldBack;
  }

 private:
  // Gets the next bytes; false at the end of the file.
  bool Fill() {
    if (error_ != nullptr) std::rethrow_exception(error_);
    begin_ = end_ = right_ = 0;
    try {
      while (end_ < content_.size() && (zlib_.avail_in > 0 || Refill())) Inflate();
    } catch (const Error&) {
      error_ = std::current_exception();
      if (end_ == 0) throw;
    }
    return end_ > 0;
  }

  void Inflate() {
    if (!in_member_ && !BeginMember()) return;
    zlib_.next_out = reinterpret_cast<Bytef*>(content_.data() + end_);
    zlib_.avail_out = static_cast<uInt>(content_.size() - end_);
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    end_ = content_.size() - zlib_.avail_out;
    if (result == Z_STREAM_END) {
      in_member_ = false;
      right_ = end_;
    } else if (result == Z_MEM_ERROR) {
      throw std::bad_alloc();
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      Fail(StrCat("damaged gzip stream at byte ", place(), ": ",
                  zlib_.msg == nullptr ? "it needs a dictionary" : zlib_.msg));
    }
  }

  // False at the end of the file.
  bool Refill() {
    const size_t size = std::min<uint64_t>(input_.size(), file_.size() - read_);
    if (size == 0) {
      if (in_member_)
        Fail(StrCat("the file ends at byte ", read_, " in the middle of its gzip stream"));
      return false;
    }
    file_.Read(read_, input_.data(), size);
    read_ += size;
    zlib_.next_in = reinterpret_cast<Bytef*>(input_.data());
    zlib_.avail_in = static_cast<uInt>(size);
    return true;
  }

  // False if there are only zeros here, with which a file may be filled up to its end, as by what
  // writes whole blocks. gzip ignores them, too.
  bool BeginMember() {
    while (zlib_.avail_in > 0 && *zlib_.next_in == 0) {
      padded_ = true;
      ++zlib_.next_in;
      --zlib_.avail_in;
    }
    if (zlib_.avail_in == 0) return false;
    if (padded_ || *zlib_.next_in != kGzipMagic[0]) {
      Fail(StrCat("what follows the gzip stream at byte ", place(), " is not gzip"));
    }
    inflateReset(&zlib_);
    in_member_ = true;
    return true;
  }

  // The next byte of the file that will be looked at.
  uint64_t place() const { return read_ - zlib_.avail_in; }

  // What is here of the member is dropped: nobody knows which of it is wrong. A file that seems to
  // be cut off may as well have lost the mark of its last block.
  [[noreturn]] void Fail(const std::string& problem) {
    end_ = right_;
    throw Error(ErrorCode::kDataLoss, problem).InFile(file_.path(), static_cast<int64_t>(place()));
  }

  const InputFile& file_;
  std::vector<char> input_;
  uint64_t read_ = 0;  // bytes of the file
  bool in_member_ = false;
  bool padded_ = false;
  z_stream zlib_ = {};
  std::vector<char> content_;
  size_t begin_ = 0;  // of what is to be given out
  size_t end_ = 0;
  size_t right_ = 0;          // content of members that are whole ends here
  std::exception_ptr error_;  // behind it
};

ByteStream::ByteStream(std::string path) : file_(std::move(path)) {
  if (BeginsAsGzip(file_)) {
    inflater_ = std::make_unique<Inflater>(file_);
  } else if (IsNamedGzip(file_.path())) {
    throw Error(ErrorCode::kDataLoss,
                StrCat("its name ends in ", kGzipExtension,
                       ", but the bytes at byte 0 are not the first of a gzip stream"))
        .InFile(file_.path(), 0);
  }
}

ByteStream::~ByteStream() = default;

size_t ByteStream::Read(char* out, size_t size) {
  if (error_ != nullptr) std::rethrow_exception(error_);
  size_t got = 0;
  if (plain()) {
    got = std::min<uint64_t>(size, file_.size() - position_);
    file_.Read(position_, out, got);
  } else {
    try {
      inflater_->Read(out, size, &got);
    } catch (...) {
      error_ = std::current_exception();
      if (got == 0) throw;
    }
  }
  position_ += got;
  return got;
}

uint64_t ByteStream::most_left() const {
  if (plain()) return file_.size() - position_;
  return inflater_->most_left();
}

std::string ByteStream::Describe(uint64_t position) const {
  return StrCat("byte ", position, plain() ? "" : " of the decompressed content");
}

}  // namespace millhopper
