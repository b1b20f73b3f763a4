// SPDX-License-Identifier: Apache-2.0
// Reads one file ahead: chunks are claimed in order and fetched by the pool.
#ifndef MILLRACE_FRAMEWORK_CHUNK_QUEUE_H_
#define MILLRACE_FRAMEWORK_CHUNK_QUEUE_H_

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>

#include "framework/file_format.h"
#include "framework/thread_pool.h"
#include "framework/ticket.h"

namespace millrace {

// How far a file is read ahead: no further chunk is claimed while this many wait, or while this
// many records do.
struct ReadAhead {
  size_t chunks = 4;
  size_t records = SIZE_MAX;
};

// One pass over one file. Plan is called by one thread at a time; workers fetch meanwhile. The
// owner calls Cancel before it lets go. Chunks that planned tickets point into live on in the run.
class ChunkQueue final : public Job {
 public:
  ChunkQueue(std::unique_ptr<FileSource> source, uint32_t file, ReadAhead read_ahead);

  // Adds up to n tickets of the next records to the run, numbered from *sample on, which advances.
  // Returns how many; 0 is the end of the file. Rethrows the file's error behind what precedes it.
  size_t Plan(size_t n, uint64_t* sample, Run* run);
  // Starts fetching without planning anything.
  void Start();
  // True if Plan would not have to wait.
  bool Ready();

 private:
  void Work() override;
  // Claims and fetches one more chunk; false if there is nothing to do or another thread claims.
  bool Advance();
  Ref<Chunk> Front();

  const std::unique_ptr<FileSource> source_;
  const uint32_t file_;
  const ReadAhead read_ahead_;
  bool started_ = false;
  size_t next_ = 0;  // record of the front chunk that is planned next

  std::mutex claiming_;  // held while a chunk is claimed; also orders pushes
  std::atomic<bool> claimed_all_{false};
  std::mutex mutex_;  // guards what is below
  std::deque<Ref<Chunk>> chunks_;
  size_t records_waiting_ = 0;
};

}  // namespace millrace

#endif  // MILLRACE_FRAMEWORK_CHUNK_QUEUE_H_
