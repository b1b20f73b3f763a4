// SPDX-License-Identifier: Apache-2.0
// How Arrow's library gets at our files and our memory: it reads through File, so that every file
// system, limit and counter holds, and allocates from the host's pool, so that the memory limit
// counts what it needs.
#ifndef MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_ACCESS_H_
#define MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_ACCESS_H_

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>
#include <arrow/status.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/io/file.h"
#include "readers/arrow/arrow_columns.h"

namespace millhopper {

// A stretch of a file.
struct Stretch {
  uint64_t offset = 0;
  uint64_t size = 0;
};

// The access of one reader of Arrow's to one file. An exception of File or of the pool cannot pass
// through Arrow; it is kept here and thrown when Arrow has returned. One thread at a time. All that
// Arrow allocates in memory() must be freed before shared_memory() is.
class ArrowAccess {
 public:
  // A chunk as stored and as expanded.
  static constexpr int64_t kMostBytes = kMaxChunkBytes + kMaxExpandedChunkBytes;

  // All of the file, or some stretches of it as if they were their own file. Arrow may hold
  // `most_bytes` for a chunk.
  explicit ArrowAccess(std::shared_ptr<const File> file, int64_t most_bytes = kMostBytes);
  ArrowAccess(std::shared_ptr<const File> file, std::vector<Stretch> stretches,
              int64_t most_bytes = kMostBytes);
  ~ArrowAccess();
  ArrowAccess(const ArrowAccess&) = delete;
  ArrowAccess& operator=(const ArrowAccess&) = delete;

  arrow::MemoryPool* memory() const;
  // The same, for code that keeps what has been read.
  std::shared_ptr<ArrowMemory> shared_memory() const;
  const std::shared_ptr<arrow::io::RandomAccessFile>& file() const { return file_; }

  // Begins a chunk: memory that is in use now does not count towards the chunk's limit.
  void BeginChunk();

  // Reads a stretch of the file, which may then be read several times without being asked for
  // again. Called within Run.
  arrow::Status Keep(Stretch stretch);

  // Runs a function that calls Arrow. Returns what it returns, a Status, a Result or any other
  // value, without the wrapping. Throws kDataLoss with Arrow's words for what Arrow refuses or
  // throws, kResourceLimit if it needs too much memory, and what File and the pool threw.
  template <typename Function>
  auto Run(const Function& function) {
    ForgetProblem();
    try {
      return Unwrapped(function());
    } catch (const Error&) {
      throw;
    } catch (...) {
      Refused();
    }
  }

 private:
  class Memory;
  class Reads;

  void ForgetProblem();

  void Unwrapped(const arrow::Status& status) {
    if (!status.ok()) Refused(status);
  }
  template <typename T>
  T Unwrapped(arrow::Result<T> result) {
    if (!result.ok()) Refused(result.status());
    return std::move(result).ValueUnsafe();
  }
  template <typename T>
  T Unwrapped(T value) {
    return value;
  }
  [[noreturn]] void Refused(const arrow::Status& status) const;
  // For the exception that is being handled.
  [[noreturn]] void Refused() const;

  const std::shared_ptr<Memory> memory_;
  std::shared_ptr<arrow::io::RandomAccessFile> file_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_PLUGIN_ARROW_ACCESS_H_
