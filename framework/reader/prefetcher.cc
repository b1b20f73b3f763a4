// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/prefetcher.h"

#include <algorithm>
#include <new>
#include <utility>

#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/memory/attempt.h"

namespace millhopper {
namespace {

using Clock = std::chrono::steady_clock;

// Waking a thread costs a few microseconds of the thread that wakes it, and as many of the woken
// one.
constexpr std::chrono::microseconds kQuick(10);
// A worker that finds more chunks to fetch goes to the end of the pool's queue after so long.
constexpr std::chrono::microseconds kTurn(200);

}  // namespace

void Prefetcher::Add(const Ref<ChunkQueue>& queue) {
  {
    const MutexLock lock(&mutex_);
    Entry& entry = files_[queue.get()];
    entry.queue = queue;
    entry.number = added_++;
  }
  Note(queue.get());
  Wake();
}

void Prefetcher::Remove(const ChunkQueue& queue) {
  const MutexLock lock(&mutex_);
  const auto found = files_.find(&queue);
  if (found == files_.end()) return;
  Withdraw(&found->second);
  waiting_.chunks -= found->second.backlog.chunks;
  waiting_.records -= found->second.backlog.records;
  waiting_.bytes -= found->second.backlog.bytes;
  files_.erase(found);
}

void Prefetcher::Stop() {
  Cancel();
  const MutexLock lock(&mutex_);
  claimable_.clear();
  files_.clear();
  waiting_ = ChunkQueue::Backlog();
  workers_ = 0;
}

void Prefetcher::Withdraw(Entry* file) {
  if (!file->claimable) return;
  file->spare = claimable_.extract(file->place);
  file->claimable = false;
}

void Prefetcher::Note(ChunkQueue* queue) {
  const MutexLock lock(&mutex_);
  const auto found = files_.find(queue);
  if (found == files_.end()) return;
  Entry* const file = &found->second;
  const ChunkQueue::Backlog before = std::exchange(file->backlog, queue->backlog());
  waiting_.chunks += file->backlog.chunks - before.chunks;
  waiting_.records += file->backlog.records - before.records;
  waiting_.bytes += file->backlog.bytes - before.bytes;
  Withdraw(file);
  if (!file->backlog.claimable) return;
  const Urgency urgency{file->backlog.chunks, file->backlog.records, file->number, file};
  if (file->spare) {
    file->spare.value() = urgency;
    file->place = claimable_.insert(std::move(file->spare)).position;
  } else {
    file->place = claimable_.insert(urgency).first;
  }
  file->claimable = true;
}

bool Prefetcher::Ready(ChunkQueue* queue) {
  if (queue->available() > 0) return true;
  const MemoryScope scope(account_);
  const ChunkQueue::State state = queue->Poll();
  if (state == ChunkQueue::State::kWaiting) return false;
  Note(queue);
  if (state == ChunkQueue::State::kRecords) Wake();  // the used-up chunk makes room for another one
  return true;
}

bool Prefetcher::FillSlowly(ChunkQueue* queue) {
  const auto is_there = [queue] { return !queue->IsNextUnderWay(); };
  while (!Ready(queue)) {
    CheckWait();
    // The waiting thread works itself: on this file if no thread fetches its next chunk, else on
    // any file.
    const ChunkQueue::Did did = Fetch(queue, MemoryScope::Need::kNow);
    if (did == ChunkQueue::Did::kNotYet) ThrowNotYet();  // the caller is ahead of need, or left
    if (did == ChunkQueue::Did::kNothing) HelpOrSleep(is_there, is_there);
  }
  return queue->available() > 0;
}

size_t Prefetcher::RecordsInStore() {
  const MutexLock lock(&mutex_);
  return waiting_.records;
}

bool Prefetcher::Help() {
  const Ref<ChunkQueue> queue = Choose(false);
  return queue && Fetch(queue.get(), MemoryScope::Need::kAhead) == ChunkQueue::Did::kDone;
}

size_t Prefetcher::most_workers() const {
  return std::min<size_t>(limits_.workers, ThreadPool::Get().size());
}

void Prefetcher::NoteTime(std::chrono::nanoseconds time) {
  const int64_t before = nanoseconds_.load(std::memory_order_relaxed);
  nanoseconds_.store(std::min<int64_t>(time.count(), before + before / 8 + 1),
                     std::memory_order_relaxed);
}

void Prefetcher::Wake() {
  if (nanoseconds_.load(std::memory_order_relaxed) < std::chrono::nanoseconds(kQuick).count()) {
    return;
  }
  const size_t most = most_workers();
  {
    const MutexLock lock(&mutex_);
    if (workers_ >= most) return;
    ++workers_;
  }
  if (!Submit()) Leave();
}

ChunkQueue::Did Prefetcher::Fetch(ChunkQueue* queue, MemoryScope::Need need) {
  const ChunkQueue::Did did = FetchQuietly(queue, need);
  fetched_.Wake();
  return did;
}

ChunkQueue::Did Prefetcher::FetchQuietly(ChunkQueue* queue, MemoryScope::Need need) {
  const Clock::time_point begin = Clock::now();
  const MemoryScope scope(account_, need);
  Ref<Chunk> chunk;
  const ChunkQueue::Did claimed = queue->Claim(need, &chunk);
  Note(queue);
  if (claimed != ChunkQueue::Did::kDone) return claimed;
  Wake();  // another worker can claim the next chunk
  const ChunkQueue::Did fetched = queue->Fetch(std::move(chunk));
  Note(queue);
  NoteTime(Clock::now() - begin);
  return fetched;
}

void Prefetcher::Work() {
  const Clock::time_point until = Clock::now() + kTurn;
  do {
    const Ref<ChunkQueue> queue = Choose(true);
    if (!queue) return;
    try {
      if (Fetch(queue.get(), MemoryScope::Need::kAhead) != ChunkQueue::Did::kNotYet) continue;
    } catch (const std::bad_alloc&) {
      Note(queue.get());  // nothing was claimed; the planning thread will report a lack of memory
    }
    return Leave();  // the planning thread makes room and wakes a worker again
  } while (Clock::now() < until);
  if (!Submit()) Leave();
}

void Prefetcher::Leave() {
  const MutexLock lock(&mutex_);
  --workers_;
}

Ref<ChunkQueue> Prefetcher::Choose(bool worker) {
  const MutexLock lock(&mutex_);
  const bool wanted = !claimable_.empty() && waiting_.bytes < kMaxReadAheadBytes &&
                      MemoryLimit::HasRoomAhead(1) &&
                      (claimable_.begin()->chunks == 0 ||
                       waiting_.chunks < limits_.chunks_per_thread * (most_workers() + 1) ||
                       waiting_.records < limits_.records);
  if (wanted) {
    Entry* const file = claimable_.begin()->entry;
    Withdraw(file);
    return file->queue;
  }
  // Decremented under the lock under which it was found that no chunk is wanted: a thread that
  // makes room later sees that this worker has left, and calls another one.
  if (worker) --workers_;
  return Ref<ChunkQueue>();
}

}  // namespace millhopper
