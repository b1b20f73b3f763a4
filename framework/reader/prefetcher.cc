// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/prefetcher.h"

#include <algorithm>
#include <new>
#include <utility>

#include "framework/base/limits.h"
#include "framework/base/stop.h"

namespace millhopper {

void Prefetcher::Add(const Ref<ChunkQueue>& queue) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queues_.push_back(queue);
  }
  Wake();
}

void Prefetcher::Remove(const ChunkQueue& queue) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = std::find_if(queues_.begin(), queues_.end(),
                                  [&](const auto& other) { return other.get() == &queue; });
  if (found != queues_.end()) queues_.erase(found);
}

void Prefetcher::Stop() {
  Cancel();
  std::lock_guard<std::mutex> lock(mutex_);
  queues_.clear();
  workers_ = 0;
}

bool Prefetcher::Ready(ChunkQueue* queue) {
  if (queue->available() > 0) return true;
  const MemoryScope scope(account_);
  const ChunkQueue::State state = queue->Poll();
  if (state == ChunkQueue::State::kRecords) Wake();  // the used-up chunk leaves room for another
  return state != ChunkQueue::State::kWaiting;
}

bool Prefetcher::FillSlowly(ChunkQueue* queue) {
  for (Backoff backoff; !Ready(queue);) {
    CheckWait();
    // The waiting thread works itself: on this file if no thread fetches its next chunk, else on
    // any file.
    const Result result = Fetch(queue, MemoryScope::Need::kNow);
    if (result == Result::kFetched) continue;
    if (result == Result::kLeft) {
      CheckWait();
      MemoryScope::ThrowRefused();  // the caller is ahead of need
    }
    if (!HelpUntil([queue] { return !queue->IsNextUnderWay(); })) backoff.Pause();
  }
  return queue->available() > 0;
}

size_t Prefetcher::RecordsInStore() {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t records = 0;
  for (const Ref<ChunkQueue>& queue : queues_) records += queue->backlog().records;
  return records;
}

bool Prefetcher::Help() {
  const Ref<ChunkQueue> queue = Choose(false);
  return queue && Fetch(queue.get(), MemoryScope::Need::kAhead) == Result::kFetched;
}

size_t Prefetcher::most_workers() const {
  return std::min<size_t>(limits_.workers, ThreadPool::Get().size());
}

void Prefetcher::Wake() {
  const size_t most = most_workers();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (workers_ >= most) return;
    ++workers_;
  }
  if (!Submit()) {
    std::lock_guard<std::mutex> lock(mutex_);
    --workers_;
  }
}

Prefetcher::Result Prefetcher::Fetch(ChunkQueue* queue, MemoryScope::Need need) {
  Ref<Chunk> chunk;
  try {
    const MemoryScope scope(account_, need);
    chunk = queue->Claim(need);
  } catch (const Error&) {
    return Result::kLeft;
  }
  if (!chunk) return Result::kNothing;
  Wake();  // another worker can claim the next chunk
  return queue->Fetch(std::move(chunk), account_, need) ? Result::kFetched : Result::kLeft;
}

void Prefetcher::Work() {
  const Ref<ChunkQueue> queue = Choose(true);
  if (!queue) return;
  try {
    if (Fetch(queue.get(), MemoryScope::Need::kAhead) != Result::kLeft && Submit()) return;
  } catch (const std::bad_alloc&) {  // nothing was claimed; the planning thread will report a lack
                                     // of memory
  }
  // This worker leaves; the planning thread makes room and wakes one again.
  std::lock_guard<std::mutex> lock(mutex_);
  --workers_;
}

Ref<ChunkQueue> Prefetcher::Choose(bool worker) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Ref<ChunkQueue>* best = nullptr;
  ChunkQueue::Backlog least;
  size_t chunks = 0;
  size_t records = 0;
  size_t bytes = 0;
  for (const Ref<ChunkQueue>& queue : queues_) {
    const ChunkQueue::Backlog load = queue->backlog();
    chunks += load.chunks;
    records += load.records;
    bytes += load.bytes;
    if (!load.claimable) continue;
    if (best == nullptr || load.chunks < least.chunks ||
        (load.chunks == least.chunks && load.records < least.records)) {
      best = &queue;
      least = load;
    }
  }
  const bool wanted =
      best != nullptr && bytes < kMaxReadAheadBytes && MemoryLimit::HasRoomAhead(1) &&
      (least.chunks == 0 || chunks < limits_.chunks_per_thread * (most_workers() + 1) ||
       records < limits_.records);
  if (wanted) return *best;
  // Counted under the same lock as the check above, so that a thread that makes room later sees
  // that this worker has left.
  if (worker) --workers_;
  return Ref<ChunkQueue>();
}

}  // namespace millhopper
