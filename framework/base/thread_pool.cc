// SPDX-License-Identifier: Apache-2.0
#include "framework/base/thread_pool.h"

#include <glog/logging.h>
#include <pthread.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/launcher.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

thread_local bool is_worker = false;
thread_local int forks_at_once = 0;

}  // namespace

// The scope of one call of Work, which tells when the call has to leave its work.
class Job::Call final : public CancelScope {
 public:
  Call(Of of, const Job& job, uint64_t epoch)
      : CancelScope(of), all_(of == Of::kWork), job_(job), epoch_(epoch) {}

 private:
  bool IsOver() const override {
    return job_.epoch_.load() != epoch_ && (!all_ || job_.leaving_all_.load() > 0);
  }

  const bool all_;
  const Job& job_;
  const uint64_t epoch_;
};

Job::Job() { ThreadPool::Get(); }  // installs the fork handlers

bool Job::Submit() noexcept {
  ThreadPool& pool = ThreadPool::Get();
  if (pool.size() == 0) return false;
  // In this order: a call from within Work while Cancel waits either sees the old epoch, and is
  // void, or sees that it is being cancelled.
  const uint64_t epoch = epoch_.load();
  if (cancelling_.load() > 0) return false;
  try {
    return pool.Push(Ref<Job>(this), epoch);
  } catch (const std::bad_alloc&) {  // the caller does the work itself
    return false;
  }
}

void Job::Cancel(Leave leave) {
  cancelling_.fetch_add(1);
  if (leave == Leave::kAll) leaving_all_.fetch_add(1);
  epoch_.fetch_add(1);
  if (process_.IsThis()) {
    const auto is_over = [this] { return running_.load() == 0; };
    while (!is_over()) ended_.TryOrSleep(is_over);
  }
  if (leave == Leave::kAll) leaving_all_.fetch_sub(1);
  cancelling_.fetch_sub(1);
}

// Either this sees the new epoch, or Cancel sees that it runs: both are sequentially consistent.
void Job::RunQueued(uint64_t epoch) {
  running_.fetch_add(1);
  if (epoch_.load() == epoch) {
    const Call call(CancelScope::Of::kWork, *this, epoch);
    const Call waits(CancelScope::Of::kWaits, *this, epoch);
    const auto is_wanted = [&pool = ThreadPool::Get()] { return pool.WantsWorkersToLeave(); };
    const HelpScope until_wanted(is_wanted);
    Work();
  }
  running_.fetch_sub(1);
  ended_.Wake();
}

ThreadPool& ThreadPool::Get() {
  static auto* pool = new ThreadPool;  // never destroyed: workers may outlive static objects
  return *pool;
}

int ThreadPool::DefaultSize() { return std::max(1, OwnProcessors() - 1); }

ThreadPool::ThreadPool() : size_(DefaultSize()) {
  ::pthread_atfork([]() NO_THREAD_SAFETY_ANALYSIS { Get().BeforeFork(); },
                   []() NO_THREAD_SAFETY_ANALYSIS { Get().AfterForkInParent(); },
                   []() NO_THREAD_SAFETY_ANALYSIS { Get().AfterForkInChild(); });
}

void ThreadPool::SetSize(int workers) {
  Require(workers >= 0 && workers <= 1024, "a pool of ", workers,
          " threads; there can be 0 to 1024");
  StopWorkers();
  size_.store(workers);
}

int ThreadPool::started() const {
  const MutexLock lock(&mutex_);
  return static_cast<int>(threads_.size());
}

bool ThreadPool::Push(Ref<Job> job, uint64_t epoch) {
  bool wake = false;
  {
    const MutexLock lock(&mutex_);
    if (stopping_) return false;  // a worker asks while SetSize waits for it
    if (threads_.empty()) StartWorkers();
    if (threads_.empty()) return false;
    queue_.Push({std::move(job), epoch});
    wake = sleeping_ > 0;
  }
  if (wake) wake_.notify_one();
  return true;
}

void ThreadPool::StartWorkers() {
  threads_.reserve(static_cast<size_t>(size()));
  try {
    for (int i = size(); i > 0; --i) threads_.emplace_back([this] { Loop(); });
  } catch (const std::system_error& error) {
    LOG_FIRST_N(WARNING, 1) << "only " << threads_.size() << " of " << size()
                            << " threads could be started: " << error.what();
  }
}

void ThreadPool::Loop() {
  is_worker = true;
  const CrashStack stack;
  for (;;) {
    Entry entry;
    {
      MutexLock lock(&mutex_);
      while (queue_.empty() || forking_ > 0) {
        if (stopping_ && queue_.empty()) return;
        ++sleeping_;
        wake_.wait(lock.native());
        --sleeping_;
      }
      entry = queue_.Pop();
      working_.fetch_add(1);
    }
    entry.job->RunQueued(entry.epoch);
    entry.job = Ref<Job>();
    working_.fetch_sub(1);
    ended_.Wake();
  }
}

void ThreadPool::Pause() {
  {
    const MutexLock lock(&mutex_);
    ++forking_;
  }
  if (is_worker || forks_at_once > 0) return;
  // Jobs may take the lock, so it is not held here.
  const auto none_works = [this] { return working_.load() == 0; };
  while (!none_works()) ended_.TryOrSleep(none_works);
}

void ThreadPool::Resume() {
  {
    const MutexLock lock(&mutex_);
    --forking_;
  }
  wake_.notify_all();
}

void ThreadPool::BeforeFork() {
  Pause();
  mutex_.Lock();  // until the process is forked
}

void ThreadPool::AfterForkInParent() {
  --forking_;
  mutex_.Unlock();
  wake_.notify_all();
}

void ThreadPool::AfterForkInChild() {
  // The parent's threads do not exist here: they can be neither joined nor waited for.
  new std::vector<std::thread>(std::move(threads_));
  threads_.clear();
  new (&wake_) std::condition_variable;
  sleeping_ = 0;
  working_.store(is_worker ? 1 : 0);
  forking_.store(0);
  Ring dropped;  // destroyed after the unlock, because that may dispose of jobs
  std::swap(dropped, queue_);
  mutex_.Unlock();
}

ForksAtOnce::ForksAtOnce() { ++forks_at_once; }

ForksAtOnce::~ForksAtOnce() { --forks_at_once; }

void ThreadPool::StopWorkers() {
  std::vector<std::thread> threads;
  {
    const MutexLock lock(&mutex_);
    stopping_ = true;
    threads.swap(threads_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads) thread.join();
  const MutexLock lock(&mutex_);
  stopping_ = false;
}

void ThreadPool::Ring::Push(Entry entry) {
  if (count_ == entries_.size()) {
    std::vector<Entry> larger(std::max<size_t>(16, entries_.size() * 2));
    for (size_t i = 0; i < count_; ++i) {
      larger[i] = std::move(entries_[(first_ + i) % entries_.size()]);
    }
    entries_ = std::move(larger);
    first_ = 0;
  }
  entries_[(first_ + count_) % entries_.size()] = std::move(entry);
  ++count_;
}

ThreadPool::Entry ThreadPool::Ring::Pop() {
  Entry entry = std::move(entries_[first_]);
  first_ = (first_ + 1) % entries_.size();
  --count_;
  return entry;
}

namespace internal {

void ParallelJob::Start(size_t n, Function function, const void* context) {
  n_ = n;
  function_ = function;
  context_ = context;
  lane_ = ThisLane();
  done_.store(0, std::memory_order_relaxed);
  next_.store(0, std::memory_order_release);
}

void ParallelJob::TakePart() {
  for (size_t i; (i = next_.fetch_add(1, std::memory_order_acq_rel)) < n_;) {
    try {
      const ShareLane share(lane_);
      function_(context_, i);
    } catch (...) {
      const MutexLock lock(&mutex_);
      if (i < failed_) {
        failed_ = i;
        error_ = std::current_exception();
      }
      // No thread begins the parts after the failed one.
      const size_t begun = next_.exchange(n_, std::memory_order_acq_rel);
      if (begun < n_) done_.fetch_add(n_ - begun, std::memory_order_release);
    }
    if (done_.fetch_add(1) + 1 == n_) all_done_.Wake();
  }
}

void ParallelJob::Finish() {
  const auto are_done = [this] { return done_.load() >= n_; };
  while (!are_done()) all_done_.TryOrSleep(are_done);
  if (error_ != nullptr) {
    std::exception_ptr error = std::exchange(error_, nullptr);
    failed_ = SIZE_MAX;
    std::rethrow_exception(error);
  }
}

// A job returns to its pool only when no queued call refers to it any more, so that no late call
// can take a part of its next use.
void ParallelJob::Dispose() {
  next_.store(SIZE_MAX / 2);
  n_ = 0;
  error_ = nullptr;
  failed_ = SIZE_MAX;
  Pool<ParallelJob>::Give(this);
}

}  // namespace internal
}  // namespace millhopper
