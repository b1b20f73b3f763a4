// SPDX-License-Identifier: Apache-2.0
// Text in any encoding that iconv knows, as UTF-8.
#ifndef MILLHOPPER_FRAMEWORK_IO_COMPRESSION_TEXT_DECODER_H_
#define MILLHOPPER_FRAMEWORK_IO_COMPRESSION_TEXT_DECODER_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <string>

namespace millhopper {

// Whether this is a name of UTF-8.
bool IsUtf8Name(const std::string& encoding);

// One thread at a time.
class TextDecoder {
 public:
  // Reads up to `size` bytes of the stored text; fewer only at its end. May throw.
  using ReadStored = std::function<size_t(char* out, size_t size)>;

  // Throws kInvalidArgument, with the file's name, for an encoding that iconv does not know.
  TextDecoder(std::string path, const std::string& encoding, ReadStored read);
  ~TextDecoder();
  TextDecoder(const TextDecoder&) = delete;
  TextDecoder& operator=(const TextDecoder&) = delete;

  // Reads `size` bytes of UTF-8; fewer only at the end or before an error, which the next call
  // throws: kDataLoss, with the byte of the stored text, for what is no text in the encoding. A
  // request to stop is thrown, and nothing is read then.
  size_t Read(char* out, size_t size);
  // Bytes that were taken and not given out yet.
  size_t held_back() const { return text_.size() - given_ + stored_.size(); }

 private:
  // Adds to text_; false at the end of the text.
  bool Fill();
  void Convert();

  const std::string path_, encoding_;
  const ReadStored read_;
  void* converter_;
  std::string stored_;  // what is not converted yet
  uint64_t begin_ = 0;  // the byte at which it stands
  bool ended_ = false;
  std::string text_;
  size_t given_ = 0;  // bytes of text_
  std::exception_ptr error_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_COMPRESSION_TEXT_DECODER_H_
