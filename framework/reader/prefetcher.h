// SPDX-License-Identifier: Apache-2.0
// Reads the files of one reader ahead: workers of the pool fetch chunks before they are planned.
#ifndef MILLHOPPER_FRAMEWORK_READER_PREFETCHER_H_
#define MILLHOPPER_FRAMEWORK_READER_PREFETCHER_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "framework/base/mutex.h"
#include "framework/base/sleepers.h"
#include "framework/base/thread_pool.h"
#include "framework/reader/chunk_queue.h"

namespace millhopper {

// How far ahead files are read. Each file may always have one chunk waiting after the one that is
// planned from. It may have more while all files together have fewer than `chunks_per_thread`
// chunks per thread or fewer than `records` records waiting. Beyond kMaxReadAheadBytes, or beyond
// the memory limit's share for work ahead of need, only chunks that are needed now are read.
struct ReadAhead {
  size_t workers = SIZE_MAX;  // of the pool that may read for this reader at once
  size_t records = 0;
  size_t chunks_per_thread = 2;
};

// Gives workers of the pool the most urgent chunk: one of the file that has the fewest chunks
// waiting. The planning thread fetches a chunk itself if no worker does, so everything works
// without workers. The cost per chunk hardly depends on the number of files, which are kept in the
// order of their urgency.
class Prefetcher final : public Job {
 public:
  // Memory of chunks is counted for `account`.
  Prefetcher(ReadAhead limits, Ref<MemoryAccount> account)
      : limits_(limits), account_(std::move(account)) {}

  const ReadAhead& limits() const { return limits_; }

  // ---- The planning thread, and the owner. ----

  // Begins to read a file. Of files that have equally much waiting, the one added first is served
  // first.
  void Add(const Ref<ChunkQueue>& queue) EXCLUDES(mutex_);
  // Ends the reading of a file.
  void Remove(const ChunkQueue& queue) EXCLUDES(mutex_);
  // Waits until the file has a record to take; false if it has no more. Throws the file's error in
  // its place, and ThrowNotYet.
  bool Fill(ChunkQueue* queue) { return queue->available() > 0 || FillSlowly(queue); }
  // True if Fill would not wait. Throws as Fill does.
  bool Ready(ChunkQueue* queue) EXCLUDES(mutex_);
  // How many fetched records wait, beside those of the chunks that are planned from. Any thread.
  size_t RecordsInStore() EXCLUDES(mutex_);
  // Fetches a chunk of some file, if one is wanted; false if not. Any thread, but not while Stop is
  // called.
  bool Help() EXCLUDES(mutex_);
  // The same for a caller that waits for another thread's chunk: once `is_there()` says that this
  // has come, it leaves its own to others rather than wait for its bytes. If there is none to
  // fetch, sleeps until another thread has done something and may_go_on().
  template <typename IsThere, typename MayGoOn>
  void HelpOrSleep(const IsThere& is_there, const MayGoOn& may_go_on) {
    {
      const HelpScope<IsThere> scope(is_there);
      if (Help()) return;
    }
    fetched_.TryOrSleep(may_go_on);
  }
  // Ends the reading of all files; waits for the chunks that are being fetched. The owner calls it
  // before it is destroyed.
  void Stop() EXCLUDES(mutex_);

 private:
  void Work() override;
  bool FillSlowly(ChunkQueue* queue);
  size_t most_workers() const;
  // Asks the pool for one more worker if the limit allows. Where a chunk takes less time than to
  // wake a thread for it, it is left to the planning thread.
  void Wake() EXCLUDES(mutex_);
  // Notes that a worker that was asked for has ended.
  void Leave() EXCLUDES(mutex_);
  // Learns how long a chunk takes: a shorter time counts at once, a longer one by an eighth.
  void NoteTime(std::chrono::nanoseconds time);
  // Claims and fetches a chunk of this file; Fetch wakes who waits for it.
  ChunkQueue::Did FetchQuietly(ChunkQueue* queue, MemoryScope::Need need) EXCLUDES(mutex_);
  ChunkQueue::Did Fetch(ChunkQueue* queue, MemoryScope::Need need) EXCLUDES(mutex_);
  // The file that should get another chunk, or null. No other thread is given it before Note. A
  // worker that finds none leaves.
  Ref<ChunkQueue> Choose(bool worker) EXCLUDES(mutex_);
  // Updates the entry of a queue after its backlog has changed.
  void Note(ChunkQueue* queue) EXCLUDES(mutex_);

  struct Entry;
  // The fewer chunks and then the fewer records wait, the sooner a file is served.
  struct Urgency {
    size_t chunks;
    size_t records;
    uint64_t number;  // in the order of Add
    Entry* entry;

    bool operator<(const Urgency& other) const {
      return std::tie(chunks, records, number) <
             std::tie(other.chunks, other.records, other.number);
    }
  };
  using Claimable = std::set<Urgency>;
  struct Entry {
    Ref<ChunkQueue> queue;
    uint64_t number;
    ChunkQueue::Backlog backlog;  // as it was noted
    Claimable::iterator place;    // if it is in claimable_
    bool claimable = false;       // whether it is
    Claimable::node_type spare;   // else, once it was: memory for it
  };

  // Takes a file out of claimable_, if it is there.
  void Withdraw(Entry* entry) REQUIRES(mutex_);

  const ReadAhead limits_;
  const Ref<MemoryAccount> account_;
  // Of the quickest of the last few chunks: others may have been interrupted.
  std::atomic<int64_t> nanoseconds_{INT64_MAX / 2};
  Sleepers fetched_;  // who wait for chunks
  Mutex mutex_;
  std::unordered_map<const ChunkQueue*, Entry> files_ GUARDED_BY(mutex_);
  Claimable claimable_ GUARDED_BY(mutex_);  // files of which a thread may claim a chunk
  uint64_t added_ GUARDED_BY(mutex_) = 0;   // files
  // Chunks, records and bytes of all files together.
  ChunkQueue::Backlog waiting_ GUARDED_BY(mutex_);
  size_t workers_ GUARDED_BY(mutex_) = 0;  // that were asked for and have not left yet
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_PREFETCHER_H_
