// SPDX-License-Identifier: Apache-2.0
// What a thread knows of the lane that it runs: when it has to stop, whose memory it takes, where
// bytes and waits count, which record errors are about.
#ifndef MILLHOPPER_FRAMEWORK_BASE_LANE_CONTEXT_H_
#define MILLHOPPER_FRAMEWORK_BASE_LANE_CONTEXT_H_

#include <atomic>
#include <chrono>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace millhopper {

class CancelScope;
class MappingCache;
class MemoryScope;
class OnePassFiles;
class RecordPlace;
class WaitTimer;

// One object of each thread, and no parameter, because those who ask for it are called by code that
// cannot pass one on: an allocator by containers of the standard library, a file by a library that
// reads it, a pool of buffers by an operator or a plugin, which know no readers. Who hands work to
// another thread passes the object on as a whole (ShareLane). It is set by scopes only, each of
// which says what its member means.
//
// What a crash prints is no part of it (at_work.h), since a handler of signals reads that, nor are
// properties of the thread itself, such as whether it is a worker.
struct LaneContext {
  // The innermost scopes; null where there are none.
  CancelScope* work = nullptr;
  CancelScope* waits = nullptr;
  const MemoryScope* memory = nullptr;
  std::atomic<uint64_t>* bytes_read = nullptr;  // CountedReads
  RecordPlace* place = nullptr;
  const WaitTimer* timer = nullptr;
  std::chrono::steady_clock::duration waited{0};  // over all timers that have ended
  OnePassFiles* inputs = nullptr;                 // that are opened
  MappingCache* mappings = nullptr;
  bool tickets_stay = false;  // TicketsStay
};

namespace internal {
inline thread_local LaneContext lane_context;
}  // namespace internal

// That of the calling thread.
inline LaneContext& ThisLane() { return internal::lane_context; }

// While it lives, one member of the calling thread's context has another value. Scopes nest.
template <auto kMember>
class LaneScope {
 public:
  using Value = std::decay_t<decltype(std::declval<LaneContext>().*kMember)>;

  explicit LaneScope(Value value) : before_(std::exchange(ThisLane().*kMember, value)) {}
  ~LaneScope() { ThisLane().*kMember = before_; }
  LaneScope(const LaneScope&) = delete;
  LaneScope& operator=(const LaneScope&) = delete;

 private:
  const Value before_;
};

// While it lives, the calling thread does a part of the work of another thread, which waits for it:
// it stops when that one does, and what it takes and reads counts there.
class ShareLane {
 public:
  // `lane` is the context of that thread.
  explicit ShareLane(const LaneContext& lane)
      : work_(lane.work), waits_(lane.waits), memory_(lane.memory), bytes_read_(lane.bytes_read) {}

 private:
  const LaneScope<&LaneContext::work> work_;
  const LaneScope<&LaneContext::waits> waits_;
  const LaneScope<&LaneContext::memory> memory_;
  const LaneScope<&LaneContext::bytes_read> bytes_read_;
};

// While it lives, the calling thread, which waits in its own lane, runs another one: nothing of
// that counts for its own. It still stops when its own work or wait is over.
class OtherLane {
 public:
  OtherLane() : memory_(nullptr), bytes_read_(nullptr), place_(nullptr) {}

 private:
  const LaneScope<&LaneContext::memory> memory_;
  const LaneScope<&LaneContext::bytes_read> bytes_read_;
  const LaneScope<&LaneContext::place> place_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_LANE_CONTEXT_H_
