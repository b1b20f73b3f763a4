// SPDX-License-Identifier: Apache-2.0
#include "readers/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <new>
#include <utility>
#include <vector>

#include "framework/error.h"

namespace millrace {
namespace {

constexpr size_t kInputBytes = size_t{256} << 10;  // of a gzip file, read at once
constexpr size_t kMostAtOnce = size_t{1} << 30;    // zlib counts in 32 bits
// A bit of deflate gives at most 258 bytes: a byte 1032, with what zlib holds back in between.
constexpr uint64_t kMostExpansion = 1032;
constexpr uint64_t kHeldBack = 64 << 10;
constexpr unsigned char kGzipMagic[] = {0x1f, 0x8b};

bool BeginsAsGzip(const InputFile& file) {
  char head[sizeof(kGzipMagic)];
  if (file.size() < sizeof(head)) return false;
  file.Read(0, head, sizeof(head));
  return std::equal(head, head + sizeof(head), reinterpret_cast<const char*>(kGzipMagic));
}

}  // namespace

// Members of a gzip file, one behind another.
class ByteStream::Inflater {
 public:
  explicit Inflater(const InputFile& file) : file_(file), input_(kInputBytes) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&zlib_, kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&zlib_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Adds what it reads to *got, so that it is known when this throws.
  void Read(char* out, size_t size, size_t* got) {
    while (size > 0) {
      if (zlib_.avail_in == 0 && !Refill()) return;
      if (!in_member_) BeginMember();
      const size_t asked = std::min(size, kMostAtOnce);
      zlib_.next_out = reinterpret_cast<Bytef*>(out);
      zlib_.avail_out = static_cast<uInt>(asked);
      const int result = inflate(&zlib_, Z_NO_FLUSH);
      const size_t written = asked - zlib_.avail_out;
      out += written;
      size -= written;
      *got += written;
      if (result == Z_STREAM_END) {
        in_member_ = false;
      } else if (result == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (result != Z_OK && result != Z_BUF_ERROR) {
        Fail(StrCat("damaged gzip stream at byte ", place(), ": ",
                    zlib_.msg == nullptr ? "it needs a dictionary" : zlib_.msg));
      }
    }
  }

  // The next byte of the file that will be looked at.
  uint64_t place() const { return read_ - zlib_.avail_in; }

 private:
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

  void BeginMember() {
    if (*zlib_.next_in != kGzipMagic[0]) {
      Fail(StrCat("what follows the gzip stream at byte ", place(), " is not gzip"));
    }
    inflateReset(&zlib_);
    in_member_ = true;
  }

  [[noreturn]] void Fail(const std::string& problem) const {
    throw Error(ErrorCode::kDataLoss, problem).InFile(file_.path(), static_cast<int64_t>(place()));
  }

  const InputFile& file_;
  std::vector<char> input_;
  uint64_t read_ = 0;  // bytes of the file
  bool in_member_ = false;
  z_stream zlib_ = {};
};

ByteStream::ByteStream(std::string path) : file_(std::move(path)) {
  if (BeginsAsGzip(file_)) inflater_ = std::make_unique<Inflater>(file_);
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
  return (file_.size() - inflater_->place()) * kMostExpansion + kHeldBack;
}

std::string ByteStream::Describe(uint64_t position) const {
  return StrCat("byte ", position, plain() ? "" : " of the decompressed content");
}

}  // namespace millrace
