// SPDX-License-Identifier: Apache-2.0
#include "framework/io/compression/text_decoder.h"

#include <iconv.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

constexpr size_t kStoredBytes = size_t{64} << 10;  // of one read

// "latin1" of "Latin-1", as people and Python write names that iconv has without signs.
std::string WithoutSigns(const std::string& name) {
  std::string plain;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c != '-' && c != '_' && c != ' ') plain.push_back(static_cast<char>(std::tolower(byte)));
  }
  return plain;
}

iconv_t OpenConverter(const std::string& encoding) {
  constexpr char kTo[] = "UTF-8";
  const auto refused = reinterpret_cast<iconv_t>(-1);  // NOLINT: it is how iconv says so
  iconv_t opened = refused;
  // A sign such as // would have iconv leave out what it does not know.
  if (encoding.find('/') == std::string::npos) {
    opened = iconv_open(kTo, encoding.c_str());
    if (opened == refused) opened = iconv_open(kTo, WithoutSigns(encoding).c_str());
  }
  Require(
      opened != refused, "the encoding '", Escaped(encoding),
      "' is none that iconv knows; `iconv -l` lists them, such as utf-16, latin-1, windows-1252, "
      "shift_jis");
  return opened;
}

}  // namespace

bool IsUtf8Name(const std::string& encoding) {
  const std::string name = WithoutSigns(encoding);
  return name == "utf8" || name == "utf8sig";
}

TextDecoder::TextDecoder(std::string path, const std::string& encoding, ReadStored read)
    : path_(std::move(path)),
      encoding_(encoding),
      read_(std::move(read)),
      converter_(OpenConverter(encoding)) {}

TextDecoder::~TextDecoder() { iconv_close(static_cast<iconv_t>(converter_)); }

size_t TextDecoder::Read(char* out, size_t size) {
  size_t got = 0;
  try {
    while (got < size && (given_ < text_.size() || Fill())) {
      const size_t taken = text_.copy(out + got, size - got, given_);
      got += taken;
      given_ += taken;
    }
  } catch (...) {
    if (CurrentError().interrupts()) {
      text_.replace(0, given_, out, got);
      given_ = 0;
      throw;
    }
    error_ = std::current_exception();
    if (got == 0) throw;
  }
  return got;
}

bool TextDecoder::Fill() {
  if (error_ != nullptr) std::rethrow_exception(error_);
  text_.clear();
  given_ = 0;
  while (text_.empty() && !ended_) {
    const size_t had = stored_.size();
    stored_.resize(had + kStoredBytes);
    size_t size = 0;
    try {
      size = read_(stored_.data() + had, kStoredBytes);
    } catch (...) {
      stored_.resize(had);
      throw;
    }
    stored_.resize(had + size);
    ended_ = size == 0;
    Convert();
  }
  return !text_.empty();
}

void TextDecoder::Convert() {
  constexpr size_t kMostBytes = 8;  // of a character, in any encoding
  char* in = stored_.data();
  size_t left = stored_.size();
  const auto fail = [&](const char* problem) {
    const uint64_t byte = begin_ + (stored_.size() - left);
    error_ = std::make_exception_ptr(
        Error(ErrorCode::kDataLoss, StrCat("byte ", byte, " ", problem, " ", Escaped(encoding_),
                                           "; encoding tells what the text is in"))
            .InFile(path_, static_cast<int64_t>(byte)));
  };
  const char* problem = nullptr;
  while (left > 0 && problem == nullptr) {
    const size_t had = text_.size();
    text_.resize(had + 4 * left + kMostBytes);
    char* out = text_.data() + had;
    size_t room = text_.size() - had;
    const bool failed =
        iconv(static_cast<iconv_t>(converter_), &in, &left, &out, &room) == static_cast<size_t>(-1);
    const int reason = errno;
    text_.resize(static_cast<size_t>(out - text_.data()));
    if (!failed || reason == E2BIG) continue;
    if (reason == EINVAL && !ended_) break;  // a character goes on after what was read
    problem = reason == EINVAL ? "is the first of a character that is cut off, in"
                               : "is none of a text in";
  }
  if (problem != nullptr) {
    fail(problem);
    ended_ = true;
  }
  begin_ += stored_.size() - left;
  stored_.erase(0, stored_.size() - left);
  if (error_ != nullptr && text_.empty()) std::rethrow_exception(error_);
}

}  // namespace millhopper
