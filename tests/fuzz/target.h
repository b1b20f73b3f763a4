// SPDX-License-Identifier: Apache-2.0
// What fuzz targets share. A target is one file <parser>_fuzz.cc that defines
// LLVMFuzzerTestOneInput. It must return for all bytes; it may catch an Error of the right kind.
// Anything else (another exception, a failed CHECK, a sanitizer's report) ends the process, and so
// libFuzzer and the replay test notice it.
#ifndef MILLHOPPER_TESTS_FUZZ_TARGET_H_
#define MILLHOPPER_TESTS_FUZZ_TARGET_H_

#include <glog/logging.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

// One thread calls it again and again. The bytes are in memory of exactly this size.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace millhopper {

// A file in memory, with a path but in no folder, for parsers that open what they read.
class InputFile {
 public:
  InputFile();
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  void Write(const uint8_t* data, size_t size);
  const std::string& path() const { return path_; }

 private:
  const int descriptor_;
  const std::string path_;
};

// Checks that the error blames the content, and neither the system nor a bug.
void CheckBlamesContent(const Error& error);

// The text of the error that `function` throws, or "". The error must blame the content.
std::string Outcome(const std::function<void()>& function);

// What reading a file through a format gave.
struct FileContent {
  std::vector<std::string> records;  // as the chunks list them
  std::vector<std::string> loaded;   // the slots of each record that could be loaded, as bytes
  std::string errors;
};

// Reads the records of a file, at most `most`, chunk by chunk, and loads each of them. No chunk may
// take more than `most_bytes` of memory.
FileContent ReadThrough(FileFormat* format, const FileEntry& file, size_t most, size_t most_bytes);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FUZZ_TARGET_H_
