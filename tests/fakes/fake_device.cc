// SPDX-License-Identifier: Apache-2.0
#include "tests/fakes/fake_device.h"

#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/memory/memory.h"

namespace millhopper {
namespace {

uint64_t SumOf(const char* bytes, size_t size) {
  uint64_t sum = size;
  for (size_t i = 0; i < size; ++i) sum = MixBits(sum ^ static_cast<unsigned char>(bytes[i]));
  return sum;
}

// Counts down to the call that fails.
bool IsDue(int* after) { return *after >= 0 && (*after)-- == 0; }

}  // namespace

class FakeDevice::Event final : public DeviceEvent {
 public:
  bool Done() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return done_;
  }
  void Finish(bool failed) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      done_ = true;
      failed_ = failed;
    }
    finished_.notify_all();
  }

 private:
  bool WaitFor(std::chrono::milliseconds moment) override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!finished_.wait_for(lock, moment, [this] { return done_; })) return false;
    if (failed_) Throw(ErrorCode::kIo, "the fake device failed to copy");
    return true;
  }

  std::mutex mutex_;
  std::condition_variable finished_;
  bool done_ = false;
  bool failed_ = false;
};

FakeDevice::FakeDevice(std::string name, uint64_t seed) : name_(std::move(name)), seed_(seed) {}

FakeDevice::~FakeDevice() {
  Resume();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (auto& [address, block] : blocks_) {
    if (block.on_host) {
      std::free(const_cast<char*>(address));
    } else {
      munmap(const_cast<char*>(address), block.bytes);
      std::free(block.content);
    }
  }
}

FakeDevice* FakeDevice::Get() {
  static auto* device =
      static_cast<FakeDevice*>(RegisterDevice(std::make_unique<FakeDevice>("fake:0")));
  return device;
}

void* FakeDevice::Allocate(size_t bytes) { return AddBlock(bytes, false); }

void FakeDevice::Free(void* memory) noexcept { RemoveBlock(memory, false); }

void* FakeDevice::AllocateHost(size_t bytes) { return AddBlock(bytes, true); }

void FakeDevice::FreeHost(void* memory) noexcept { RemoveBlock(memory, true); }

void* FakeDevice::AddBlock(size_t bytes, bool on_host) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (fail_allocations_ || IsDue(&fail_allocation_after_)) {
    Throw(ErrorCode::kResourceLimit, "the fake device has no memory for ", bytes, " bytes");
  }
  Block block;
  block.bytes = bytes;
  block.on_host = on_host;
  char* address = nullptr;
  if (on_host) {
    ++host_allocations_;
    address = static_cast<char*>(std::aligned_alloc(64, (bytes + 63) / 64 * 64));
  } else {
    ++allocations_;
    address = static_cast<char*>(
        mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    block.content = static_cast<char*>(std::malloc(bytes));
  }
  blocks_[address] = block;
  return address;
}

void FakeDevice::RemoveBlock(void* memory, bool on_host) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = blocks_.find(static_cast<const char*>(memory));
  if (found == blocks_.end() || found->second.on_host != on_host) {
    violations_.push_back("memory is freed that this device did not hand out");
    return;
  }
  if (found->second.pending + found->second.reads > 0) {
    violations_.push_back("memory is freed before its event");
    return;  // the block stays, since the copy still uses it
  }
  if (on_host) {
    std::free(memory);
  } else {
    munmap(memory, found->second.bytes);
    std::free(found->second.content);
  }
  blocks_.erase(found);
}

FakeDevice::Block* FakeDevice::Find(const void* memory, size_t bytes, size_t* offset) {
  const auto* address = static_cast<const char*>(memory);
  auto found = blocks_.upper_bound(address);
  if (found == blocks_.begin()) return nullptr;
  --found;
  *offset = static_cast<size_t>(address - found->first);
  return *offset + bytes <= found->second.bytes ? &found->second : nullptr;
}

std::shared_ptr<DeviceEvent> FakeDevice::CopyFromHost(void* device, const void* host,
                                                      size_t bytes) {
  auto event = std::make_shared<Event>();
  std::lock_guard<std::mutex> lock(mutex_);
  size_t offset = 0;
  Block* to = Find(device, bytes, &offset);
  if (to == nullptr || to->on_host) {
    violations_.push_back("a copy goes to memory that is not the device's");
    event->Finish(true);
    return event;
  }
  if (to->pending + to->reads > 0) {
    violations_.push_back("memory is copied to before the event of other work on it");
  }
  ++to->pending;
  // A copy from ordinary host memory is allowed. On real devices it is only slower.
  Block* from = Find(host, bytes, &offset);
  if (from != nullptr) ++from->pending;
  if (!thread_.joinable()) thread_ = std::thread([this] { Loop(); });
  const auto* source = static_cast<const char*>(host);
  const bool fails = fail_copy_of_ == std::string_view(source, bytes);
  if (fails) fail_copy_of_.reset();
  ++copies_;
  queue_.push_back({static_cast<char*>(device), source, bytes, SumOf(source, bytes), fails, event});
  changed_.notify_all();
  return event;
}

std::shared_ptr<DeviceEvent> FakeDevice::EventAfterAll() {
  auto event = std::make_shared<Event>();
  std::lock_guard<std::mutex> lock(mutex_);
  if (lost_) Throw(ErrorCode::kIo, "the fake device is lost");
  behind_.push_back({copies_, reads_ended_ + reads_.size(), event});
  FinishEvents();
  return event;
}

void FakeDevice::FinishEvents() {
  const auto rest = std::partition(behind_.begin(), behind_.end(), [this](const Behind& one) {
    return one.copies > copies_done_ || one.reads > reads_ended_;
  });
  for (auto one = rest; one != behind_.end(); ++one) one->event->Finish(false);
  behind_.erase(rest, behind_.end());
}

void FakeDevice::Settle() {
  Drain();
  BufferPool::At(Place()).Take(1);
}

void FakeDevice::BeginRead(const void* memory) {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t offset = 0;
  Block* const block = Find(memory, 0, &offset);
  Require(block != nullptr && !block->on_host, "work reads memory that is not the device's");
  ++block->reads;
  reads_.push_back(block);
}

void FakeDevice::EndReads() {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Block* const block : reads_) --block->reads;
  reads_ended_ += reads_.size();
  reads_.clear();
  FinishEvents();
}

void FakeDevice::LoseEvents(bool lost) {
  std::lock_guard<std::mutex> lock(mutex_);
  lost_ = lost;
}

void FakeDevice::CopyToHost(void* host, const void* device, size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t offset = 0;
  Block* from = Find(device, bytes, &offset);
  if (from == nullptr || from->on_host) {
    violations_.push_back("memory is read that is not the device's");
    return;
  }
  if (from->pending > 0) violations_.push_back("memory is read before the event of the copy to it");
  if (bytes > 0) std::memcpy(host, from->content + offset, bytes);
}

void FakeDevice::Loop() {
  for (uint64_t index = 0;; ++index) {
    Copy copy;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || (!paused_ && !queue_.empty()); });
      if (queue_.empty()) return;
      copy = std::move(queue_.front());
      queue_.pop_front();
      copying_ = true;
    }
    const uint64_t bits = MixBits(seed_ + index);
    if (bits % 4 == 0) {
      std::this_thread::sleep_for(std::chrono::microseconds((bits >> 8) % 200));
    }
    Run(copy);
  }
}

void FakeDevice::Run(const Copy& copy) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (SumOf(copy.host, copy.bytes) != copy.sum) {
      violations_.push_back("host memory is written before the event of the copy from it");
    }
    size_t offset = 0;
    Block* to = Find(copy.device, copy.bytes, &offset);
    if (!copy.fails && copy.bytes > 0) std::memcpy(to->content + offset, copy.host, copy.bytes);
    --to->pending;
    Block* from = Find(copy.host, copy.bytes, &offset);
    if (from != nullptr) --from->pending;
    copying_ = false;
    copy.event->Finish(copy.fails);
    ++copies_done_;
    FinishEvents();
  }
  changed_.notify_all();
}

void FakeDevice::FailCopyOf(std::string content) {
  std::lock_guard<std::mutex> lock(mutex_);
  fail_copy_of_ = std::move(content);
}

void FakeDevice::FailAllocationAfter(int allocations) {
  std::lock_guard<std::mutex> lock(mutex_);
  fail_allocation_after_ = allocations;
}

void FakeDevice::FailAllocations(bool fail) {
  std::lock_guard<std::mutex> lock(mutex_);
  fail_allocations_ = fail;
}

void FakeDevice::Pause() {
  std::lock_guard<std::mutex> lock(mutex_);
  paused_ = true;
}

void FakeDevice::Resume() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    paused_ = false;
  }
  changed_.notify_all();
}

void FakeDevice::Drain() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [this] { return queue_.empty() && !copying_; });
}

std::vector<std::string> FakeDevice::TakeViolations() {
  std::lock_guard<std::mutex> lock(mutex_);
  return std::exchange(violations_, {});
}

size_t FakeDevice::allocations() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return allocations_;
}

size_t FakeDevice::host_allocations() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return host_allocations_;
}

size_t FakeDevice::copies() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return copies_;
}

size_t FakeDevice::live_blocks() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return blocks_.size();
}

}  // namespace millhopper
