// SPDX-License-Identifier: Apache-2.0
// The one pool of threads that loads, shared by all readers of the process.
#ifndef MILLHOPPER_FRAMEWORK_BASE_THREAD_POOL_H_
#define MILLHOPPER_FRAMEWORK_BASE_THREAD_POOL_H_

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "framework/base/forks.h"
#include "framework/base/lane_context.h"
#include "framework/base/mutex.h"
#include "framework/base/ref_counted.h"
#include "framework/base/sleepers.h"
#include "framework/base/stop.h"

namespace millhopper {

// Work that its owner can have the pool do, again and again. The pool holds a reference to a queued
// job. An owner calls Cancel before it is destroyed; calls that are still queued then do nothing.
//
// Two rules prevent deadlocks even with one worker or one core: Work may wait only for work that
// has begun, and a thread that has to wait works itself instead, as long as there is work.
class Job : public RefCounted {
 public:
  Job();
  // Asks for one call of Work on some worker. False where the pool has no workers or can start
  // none, while it is given another size and while Cancel waits, so a job must be work that its
  // owner can also do. Never throws. Any thread, Work included.
  bool Submit() noexcept;
  enum class Leave {
    kAll,    // the work is over (CancelScope): loops and waits are left
    kWaits,  // what has begun may still be used, so only waits are left
  };
  // Makes queued calls void and waits for running ones (a forked child has none), which leave their
  // work. Submit may be called again afterwards. Work must not call Cancel on its own job.
  void Cancel(Leave leave = Leave::kAll);

 protected:
  // Called on a worker thread, perhaps on several at once. Must not throw.
  virtual void Work() = 0;

 private:
  friend class ThreadPool;
  class Call;
  void RunQueued(uint64_t epoch);

  std::atomic<uint64_t> epoch_{0};
  std::atomic<int> running_{0};
  std::atomic<int> cancelling_{0};   // calls of Cancel that wait,
  std::atomic<int> leaving_all_{0};  // and those of them with kAll
  Sleepers ended_;                   // who wait for calls of Work to end
  const OwnProcess process_;
};

// A fixed number of workers over one queue, first in, first out. Threads start at the first
// Submit, and end with the process or at SetSize.
//
// The process may fork. The fork waits until no worker has a job, so that the child inherits no
// lock that a worker holds; workers leave their waits for it (CancelScope). The child's pool starts
// without threads. The thread that forks must make sure that no other thread is in a call of a
// reader. A fork from within a job does not wait,
// because another thread may wait for that job: its child must run another program or exit.
class ThreadPool {
 public:
  static ThreadPool& Get();
  // One worker less than the process has processors (OwnProcessors), because the consumer's thread
  // works too instead of waiting; at least 1, so that a worker reads ahead. More workers would only
  // compete for processors.
  static int DefaultSize();

  // Ends the present workers once they have finished or left what was submitted, and sets how many
  // workers the next Submit starts; 0 means that callers do all work. Throws kInvalidArgument for a
  // number below 0 or above 1024. Call it only while no reader is at work.
  void SetSize(int workers);
  int size() const { return size_.load(std::memory_order_relaxed); }
  // Threads that have been started: 0 before the first Submit. For tests.
  int started() const;
  // Lets no job begin until Resume, and waits for the jobs that have begun, unless the calling
  // thread is a worker or has a ForksAtOnce. A thread that holds a lock which jobs may want, such
  // as Python's, must release that lock and call Pause before it forks. The child's pool is not
  // held.
  void Pause() EXCLUDES(mutex_);
  void Resume() EXCLUDES(mutex_);

 private:
  friend class Job;
  // Whether a fork or SetSize waits for the workers, which then leave their waits.
  bool WantsWorkersToLeave() const { return forking_.load() > 0 || stopping_.load(); }
  struct Entry {
    Ref<Job> job;
    uint64_t epoch;
  };
  // A first-in-first-out queue that keeps its memory.
  class Ring {
   public:
    bool empty() const { return count_ == 0; }
    void Push(Entry entry);
    Entry Pop();

   private:
    std::vector<Entry> entries_;
    size_t first_ = 0;
    size_t count_ = 0;
  };

  ThreadPool();
  bool Push(Ref<Job> job, uint64_t epoch) EXCLUDES(mutex_);
  void StartWorkers() REQUIRES(mutex_);
  void Loop();
  void StopWorkers() EXCLUDES(mutex_);
  void BeforeFork() ACQUIRE(mutex_);
  void AfterForkInParent() RELEASE(mutex_);
  void AfterForkInChild() RELEASE(mutex_);

  std::atomic<int> size_;
  mutable Mutex mutex_;
  std::condition_variable wake_;
  Ring queue_ GUARDED_BY(mutex_);
  int sleeping_ GUARDED_BY(mutex_) = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> forking_{0};  // threads that are about to fork: no job is begun
  std::vector<std::thread> threads_ GUARDED_BY(mutex_);
  std::atomic<int> working_{0};  // workers that have a job
  Sleepers ended_;               // who wait for jobs to end
  const OwnProcess process_;     // counts forks before AfterForkInChild is called
};

// While one exists, a fork by this thread does not wait for jobs, like a fork from within a job. It
// is for code that a reader calls on the consumer's thread.
class ForksAtOnce {
 public:
  ForksAtOnce();
  ~ForksAtOnce();
  ForksAtOnce(const ForksAtOnce&) = delete;
  ForksAtOnce& operator=(const ForksAtOnce&) = delete;
};

namespace internal {

// The shared state of one ParallelFor. Pooled: a helper that comes late finds nothing to do.
class ParallelJob final : public Job {
 public:
  using Function = void (*)(const void* context, size_t index);

  void Start(size_t n, Function function, const void* context);
  // Runs parts until none is left.
  void TakePart();
  // Waits for the parts that others took; rethrows the error of the lowest-numbered part.
  void Finish();

 private:
  void Work() override { TakePart(); }
  void Dispose() override;

  std::atomic<size_t> next_{SIZE_MAX / 2};
  std::atomic<size_t> done_{0};
  Sleepers all_done_;
  size_t n_ = 0;
  Function function_ = nullptr;
  const void* context_ = nullptr;
  LaneContext lane_;  // of the thread that waits for the parts
  Mutex mutex_;       // guards the members below while parts are run
  size_t failed_ = SIZE_MAX;
  std::exception_ptr error_;
};

}  // namespace internal

// Calls function(0) ... function(n - 1), on idle workers too, which work in the caller's lane
// (ShareLane); the caller takes part and waits.
// Parts are begun in order, and none after an error. All that are begun are finished when this
// returns or throws; of several errors the one of the lowest-numbered part is thrown, whatever the
// timing.
template <typename F>
void ParallelFor(size_t n, const F& function) {
  if (n == 0) return;
  if (n == 1 || ThreadPool::Get().size() == 0) {
    for (size_t i = 0; i < n; ++i) function(i);
    return;
  }
  Ref<internal::ParallelJob> job = Pool<internal::ParallelJob>::Take();
  job->Start(
      n, [](const void* context, size_t i) { (*static_cast<const F*>(context))(i); }, &function);
  const size_t helpers = std::min<size_t>(n - 1, ThreadPool::Get().size());
  for (size_t i = 0; i < helpers; ++i) job->Submit();
  job->TakePart();
  job->Finish();
}

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_THREAD_POOL_H_
