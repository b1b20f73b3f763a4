// SPDX-License-Identifier: Apache-2.0
// Reads a whole file of any format to find what is wrong with it.
#ifndef MILLHOPPER_READERS_SOURCES_CHECKED_FILE_H_
#define MILLHOPPER_READERS_SOURCES_CHECKED_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"

namespace millhopper {

// A file that is checked, once, record by record: each is loaded as a reader loads it.
class CheckedFile final : public FileReader {
 public:
  // What was found.
  struct Found {
    uint64_t records = 0;  // that are right
    uint64_t bad = 0;      // errors
  };

  // Throws what FileReader throws.
  CheckedFile(std::unique_ptr<FileFormat> format, FileEntry file)
      : FileReader(std::move(format), std::move(file)) {
    DealChunks();
  }

  // Calls report(error) for each record that is wrong, in order, and for each chunk whose records
  // cannot all be found: those after the error are not looked at, but the chunks after it are. An
  // error that keeps the next chunk from being found is the last one. `progress` is called with the
  // bytes of the file up to the next chunk. Throws what opening the file throws, and a request to
  // stop.
  Found Check(const std::function<void(const Error& error)>& report,
              const std::function<void(uint64_t bytes)>& progress);

 private:
  // What is found in a chunk.
  struct Looked {
    uint64_t records = 0;
    std::vector<Error> errors;
  };

  Looked CheckChunk(DealtChunk* dealt, uint64_t first) const;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_CHECKED_FILE_H_
