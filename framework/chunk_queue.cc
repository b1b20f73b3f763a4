// SPDX-License-Identifier: Apache-2.0
#include "framework/chunk_queue.h"

#include <algorithm>
#include <utility>

#include "framework/stop.h"

namespace millrace {

ChunkQueue::ChunkQueue(std::unique_ptr<FileSource> source, uint32_t file, ReadAhead read_ahead)
    : source_(std::move(source)), file_(file), read_ahead_(read_ahead) {}

void ChunkQueue::Start() {
  if (std::exchange(started_, true)) return;
  const size_t helpers = std::min<size_t>(read_ahead_.chunks, ThreadPool::Get().size());
  for (size_t i = 0; i < helpers; ++i) Submit();
}

bool ChunkQueue::Ready() {
  if (claimed_all_.load(std::memory_order_acquire)) return true;
  const Ref<Chunk> front = Front();
  return front && front->ready_.load(std::memory_order_acquire);
}

size_t ChunkQueue::Plan(size_t n, uint64_t* sample, Run* run) {
  Start();
  const size_t before = run->tickets.size();
  while (n > 0) {
    Ref<Chunk> chunk;
    for (Backoff backoff; !(chunk = Front());) {
      if (claimed_all_.load(std::memory_order_acquire) && !(chunk = Front())) {
        return run->tickets.size() - before;
      }
      if (chunk) break;
      if (!Advance()) backoff.Pause();
      CheckStop();
    }
    // Whoever waits, works: another chunk is fetched meanwhile.
    for (Backoff backoff; !chunk->ready_.load(std::memory_order_acquire);) {
      if (!Advance()) backoff.Pause();
      CheckStop();
    }
    const size_t taken = std::min(n, chunk->pieces.size() - next_);
    if (taken > 0) run->Keep(chunk.get());
    for (size_t i = 0; i < taken; ++i, ++next_) {
      Ticket ticket;
      ticket.where = chunk->bytes->data() + chunk->pieces[next_].offset;
      ticket.owner = chunk.get();
      ticket.sample = (*sample)++;
      ticket.offset = chunk->offset;
      ticket.size = chunk->pieces[next_].size;
      ticket.file = file_;
      ticket.record = static_cast<uint32_t>(next_);
      ticket.bytes = true;
      run->tickets.push_back(ticket);
    }
    n -= taken;
    if (next_ < chunk->pieces.size()) continue;
    if (chunk->error_ != nullptr) {
      if (n == 0) break;  // what precedes the error comes first
      std::rethrow_exception(chunk->error_);
    }
    next_ = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      records_waiting_ -= chunk->pieces.size();
      chunks_.pop_front();
    }
    if (!claimed_all_.load(std::memory_order_relaxed)) Submit();
  }
  return run->tickets.size() - before;
}

void ChunkQueue::Work() {
  if (Advance()) Submit();
}

Ref<Chunk> ChunkQueue::Front() {
  std::lock_guard<std::mutex> lock(mutex_);
  return chunks_.empty() ? Ref<Chunk>() : chunks_.front();
}

bool ChunkQueue::Advance() {
  Ref<Chunk> chunk;
  {
    std::unique_lock<std::mutex> claiming(claiming_, std::try_to_lock);
    if (!claiming || claimed_all_.load(std::memory_order_relaxed)) return false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!chunks_.empty() &&
          (chunks_.size() >= read_ahead_.chunks || records_waiting_ >= read_ahead_.records)) {
        return false;
      }
    }
    chunk = Pool<Chunk>::Take();
    bool found = false;
    try {
      found = source_->Claim(chunk.get());
    } catch (...) {
      chunk->error_ = std::current_exception();
    }
    if (!found && chunk->error_ == nullptr) {
      claimed_all_.store(true, std::memory_order_release);
      return true;
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      chunks_.push_back(chunk);
    }
    if (!found) {
      claimed_all_.store(true, std::memory_order_release);
      chunk->ready_.store(true, std::memory_order_release);
      return true;
    }
  }
  try {
    source_->Fetch(chunk.get());
  } catch (...) {
    chunk->error_ = std::current_exception();
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    records_waiting_ += chunk->pieces.size();
  }
  chunk->ready_.store(true, std::memory_order_release);
  return true;
}

}  // namespace millrace
