// SPDX-License-Identifier: Apache-2.0
// Reads the files of one reader ahead: chunks are fetched by the pool before they are planned.
#ifndef MILLHOPPER_FRAMEWORK_READER_PREFETCHER_H_
#define MILLHOPPER_FRAMEWORK_READER_PREFETCHER_H_

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "framework/base/thread_pool.h"
#include "framework/reader/chunk_queue.h"

namespace millhopper {

// How far is read ahead. A file may always have one chunk waiting behind the one that is planned
// from; there may be more while they are fewer than two a thread or hold fewer than `records`, all
// files together. Beyond kMaxReadAheadBytes, or the share of the memory limit for what is ahead of
// need, nothing is read that is not needed at once.
struct ReadAhead {
  size_t workers = SIZE_MAX;  // of the pool, at work for this reader at once
  size_t records = 0;
};

// Gives the workers of the pool the chunk that is wanted first: of the file that has the least in
// store. The planning thread never waits idly for a chunk that nobody fetches, so everything works
// without any worker.
class Prefetcher final : public Job {
 public:
  // Memory of chunks is counted for `account`.
  Prefetcher(ReadAhead limits, Ref<MemoryAccount> account)
      : limits_(limits), account_(std::move(account)) {}

  // ---- The planning thread, and the owner. ----

  // Begins to read a file. Files that are added first come first where all else is equal.
  void Add(const Ref<ChunkQueue>& queue);
  // Ends the reading of a file.
  void Remove(const ChunkQueue& queue);
  // Waits until the file has a record to take; false if it has no more. Throws its error at its
  // place, kCancelled on a request to stop, and a refusal of memory to who is ahead of need.
  bool Fill(ChunkQueue* queue) { return queue->available() > 0 || FillSlowly(queue); }
  // True if Fill would not wait. Throws as Fill does.
  bool Ready(ChunkQueue* queue);
  // How many records wait behind the chunks that are planned from. Any thread.
  size_t RecordsInStore();
  // Fetches a chunk of some file, if one is wanted; false if not.
  bool Help();
  // Ends the reading of all files; waits for the chunks that are being fetched. The owner calls it
  // before it goes away.
  void Stop();

 private:
  void Work() override;
  bool FillSlowly(ChunkQueue* queue);
  size_t most_workers() const;
  // Asks the pool for one more worker if the limit allows.
  void Wake();
  // What came of it.
  enum class Result { kFetched, kNothing, kNoMemory };
  // Claims and fetches a chunk of this file. There is no memory only for what is ahead of need.
  Result Fetch(ChunkQueue* queue, MemoryScope::Need need);
  // The file that should get another chunk, or null. A worker that finds none leaves.
  Ref<ChunkQueue> Choose(bool worker);

  const ReadAhead limits_;
  const Ref<MemoryAccount> account_;
  std::mutex mutex_;  // guards what is below
  std::vector<Ref<ChunkQueue>> queues_;
  size_t workers_ = 0;  // that have been asked for and have not left
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_PREFETCHER_H_
