// SPDX-License-Identifier: Apache-2.0
// A device that exists only in tests: its copies run on their own thread, late by random amounts,
// and fail on demand. It notes every access to memory that a copy has not finished with.
#ifndef MILLHOPPER_TESTS_FAKES_FAKE_DEVICE_H_
#define MILLHOPPER_TESTS_FAKES_FAKE_DEVICE_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "framework/memory/place.h"

namespace millhopper {

// The host cannot touch its memory: the addresses that Allocate returns fault. Thread-safe.
class FakeDevice final : public Device {
 public:
  explicit FakeDevice(std::string name, uint64_t seed = 1);
  ~FakeDevice() override;
  // The registered device "fake:0", for tests that need a place; the first call registers it.
  static FakeDevice* Get();

  const std::string& name() const override { return name_; }
  void* Allocate(size_t bytes) override;
  void Free(void* memory) noexcept override;
  void* AllocateHost(size_t bytes) override;
  void FreeHost(void* memory) noexcept override;
  std::shared_ptr<DeviceEvent> CopyFromHost(void* device, const void* host, size_t bytes) override;
  std::shared_ptr<DeviceEvent> EventAfterAll() override;
  void CopyToHost(void* host, const void* device, size_t bytes) override;

  // ---- What tests ask it to do. ----

  // The next copy of exactly these bytes fails: its event is done, and Wait throws kIo. The bytes
  // name the copy, since threads queue their copies in any order.
  void FailCopyOf(std::string content);
  // The next `allocations` allocations, of either kind of memory, succeed; the one after them
  // throws kResourceLimit.
  void FailAllocationAfter(int allocations);
  // Makes every allocation throw, until it is called with false.
  void FailAllocations(bool fail);
  // Queues copies but begins none until Resume.
  void Pause();
  void Resume();
  // Waits until no copy is queued.
  void Drain();
  // The same, and has what was kept for the copies given back to its pools (KeepUntilDone).
  void Settle();
  // Has the device read a block of its memory, as work that a consumer has queued does, until
  // EndReads.
  void BeginRead(const void* memory);
  void EndReads();
  // EventAfterAll throws, as that of a device which is lost.
  void LoseEvents(bool lost);

  // ---- What tests ask it about. ----

  // What callers did wrong since the last call, in words: memory freed, reused, written or read too
  // early.
  std::vector<std::string> TakeViolations();
  size_t allocations() const;       // of device memory, so far
  size_t host_allocations() const;  // of pinned memory, so far
  size_t copies() const;            // queued so far
  size_t live_blocks() const;       // of both kinds of memory

 private:
  class Event;
  struct Block {
    size_t bytes = 0;
    bool on_host = false;
    char* content = nullptr;  // the bytes of a block of device memory
    int pending = 0;          // copies to or from it that are queued or run
    int reads = 0;            // by work of a consumer
  };
  struct Copy {
    char* device;
    const char* host;
    size_t bytes;
    uint64_t sum;  // of the host's bytes, when the copy was queued
    bool fails;
    std::shared_ptr<Event> event;
  };

  void* AddBlock(size_t bytes, bool on_host);
  void RemoveBlock(void* memory, bool on_host) noexcept;
  // The block that these bytes lie in, and their offset in it; null if there is none.
  Block* Find(const void* memory, size_t bytes, size_t* offset);
  void Loop();
  void Run(const Copy& copy);
  // Ends the events after work that is done.
  void FinishEvents();

  const std::string name_;
  const uint64_t seed_;
  mutable std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::map<const char*, Block> blocks_;
  std::deque<Copy> queue_;
  bool paused_ = false;
  bool stopping_ = false;
  bool copying_ = false;
  std::optional<std::string> fail_copy_of_;
  int fail_allocation_after_ = -1;
  bool fail_allocations_ = false;
  size_t allocations_ = 0;
  size_t host_allocations_ = 0;
  size_t copies_ = 0;
  size_t copies_done_ = 0;
  std::vector<Block*> reads_;
  size_t reads_ended_ = 0;
  bool lost_ = false;
  // Events after all work, and how many copies and reads have to end before.
  struct Behind {
    size_t copies;
    size_t reads;
    std::shared_ptr<Event> event;
  };
  std::vector<Behind> behind_;
  std::vector<std::string> violations_;
  std::thread thread_;  // started by the first copy
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FAKES_FAKE_DEVICE_H_
