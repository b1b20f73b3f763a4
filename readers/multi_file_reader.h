// SPDX-License-Identifier: Apache-2.0
// Reads many files as one stream: open_files.
#ifndef MILLRACE_READERS_MULTI_FILE_READER_H_
#define MILLRACE_READERS_MULTI_FILE_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <vector>

#include "framework/file_reader.h"
#include "framework/random.h"

namespace millrace {

// The attributes of open_files.
struct MultiFileOptions {
  size_t thread_num = 0;       // workers on its files at once; 0 is all workers of the pool
  size_t buffer_size = 256;    // records that wait are at least as many, if there are any to read
  size_t cycle_length = 16;    // files whose records are interleaved
  uint64_t pass_num = 1;       // how often the files are read in one pass
  bool deterministic = true;   // false: a file that is ready may overtake one that is not
  bool shuffle_files = false;  // permute the list of files anew for each time it is read
  RandomKey key{0, 0, ""};     // of that permutation
};

// Yields one record at a time from each of the first `cycle_length` unfinished files, in the order
// of the list; the place of a finished file goes to the next file of the list. The order depends on
// nothing else. Files are opened when their turn comes near, and closed at their end, so that
// neither memory nor open descriptors grow with their number. An error of one file, also that it
// cannot be opened, comes where its record would have come.
class MultiFileReader final : public FileReader {
 public:
  // Throws kInvalidArgument for an empty list or options below 1, and kIo with the names of all
  // files that are missing; reads nothing.
  MultiFileReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> files,
                  const MultiFileOptions& options);

 protected:
  void PlanNext(size_t n, Run* run) override;
  void Rewind(uint64_t pass) override;
};

}  // namespace millrace

#endif  // MILLRACE_READERS_MULTI_FILE_READER_H_
