// SPDX-License-Identifier: Apache-2.0
#include "framework/prefetcher.h"

#include <algorithm>
#include <utility>

#include "framework/limits.h"
#include "framework/stop.h"

namespace millrace {

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

bool Prefetcher::FillSlowly(ChunkQueue* queue) {
  for (Backoff backoff;;) {
    switch (queue->Poll()) {
      case ChunkQueue::State::kRecords:
        Wake();  // a chunk has left the queue
        return true;
      case ChunkQueue::State::kEnd:
        return false;
      case ChunkQueue::State::kWaiting:
        break;
    }
    CheckStop();
    // Whoever waits, works: on this file if nothing of it is under way, else on any.
    if (queue->load().chunks == 0 && Fetch(queue)) continue;
    const Ref<ChunkQueue> other = Choose(false);
    if (!other || !Fetch(other.get())) backoff.Pause();
  }
}

void Prefetcher::Wake() {
  const size_t most = std::min<size_t>(limits_.workers, ThreadPool::Get().size());
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (workers_ >= most) return;
    ++workers_;
  }
  Submit();
}

bool Prefetcher::Fetch(ChunkQueue* queue) {
  const Ref<Chunk> chunk = queue->Claim();
  if (!chunk) return false;
  Wake();  // somebody else can go on claiming
  queue->Fetch(chunk);
  return true;
}

void Prefetcher::Work() {
  const Ref<ChunkQueue> queue = Choose(true);
  if (!queue) return;
  Fetch(queue.get());
  Submit();
}

Ref<ChunkQueue> Prefetcher::Choose(bool worker) {
  std::lock_guard<std::mutex> lock(mutex_);
  const Ref<ChunkQueue>* best = nullptr;
  ChunkQueue::Load least;
  size_t records = 0;
  size_t bytes = 0;
  for (const Ref<ChunkQueue>& queue : queues_) {
    const ChunkQueue::Load load = queue->load();
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
      best != nullptr && bytes < kMaxReadAheadBytes &&
      (least.chunks == 0 || (least.chunks < limits_.chunks && records < limits_.records));
  if (wanted) return *best;
  // Under the same lock as the look around: whoever makes room later sees that it has left.
  if (worker) --workers_;
  return Ref<ChunkQueue>();
}

}  // namespace millrace
