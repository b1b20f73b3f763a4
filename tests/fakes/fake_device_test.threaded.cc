// SPDX-License-Identifier: Apache-2.0
// Tests the fake device itself: it must notice every wrong use that other tests rely on it for.
#include "tests/fakes/fake_device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/memory/memory.h"
#include "framework/tensor/tensor.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Words = std::vector<std::string>;

class FakeDeviceTest : public ::testing::Test {
 protected:
  FakeDeviceTest()
      : host_(static_cast<char*>(device_.AllocateHost(64))), memory_(device_.Allocate(64)) {
    std::memset(host_, 'a', 64);
  }

  FakeDevice device_{"fake:test"};
  char* host_;
  void* memory_;
};

TEST_F(FakeDeviceTest, CopiesThereAndBack) {
  const auto event = device_.CopyFromHost(memory_, host_, 64);
  event->Wait();
  EXPECT_TRUE(event->Done());
  char back[64] = {};
  device_.CopyToHost(back, memory_, 64);
  EXPECT_EQ(std::string(back, 64), std::string(64, 'a'));
  EXPECT_EQ(device_.TakeViolations(), Words{});
}

TEST_F(FakeDeviceTest, NothingIsDoneWhilePaused) {
  device_.Pause();
  const auto event = device_.CopyFromHost(memory_, host_, 64);
  EXPECT_FALSE(event->Done());
  device_.Resume();
  event->Wait();
  EXPECT_EQ(device_.copies(), 1u);
}

// F37
TEST_F(FakeDeviceTest, NoticesWritesBeforeTheEvent) {
  device_.Pause();
  const auto event = device_.CopyFromHost(memory_, host_, 64);
  host_[5] = 'b';
  device_.Resume();
  event->Wait();
  EXPECT_EQ(device_.TakeViolations(),
            Words{"host memory is written before the event of the copy from it"});
}

TEST_F(FakeDeviceTest, NoticesMemoryFreedBeforeTheEvent) {
  device_.Pause();
  const auto event = device_.CopyFromHost(memory_, host_, 64);
  device_.Free(memory_);
  device_.FreeHost(host_);
  EXPECT_EQ(device_.TakeViolations(), Words(2, "memory is freed before its event"));
  device_.Resume();
  event->Wait();
  device_.Free(memory_);
  device_.FreeHost(host_);
  EXPECT_EQ(device_.TakeViolations(), Words{});
  EXPECT_EQ(device_.live_blocks(), 0u);
}

TEST_F(FakeDeviceTest, NoticesReadsAndCopiesBeforeTheEvent) {
  device_.Pause();
  const auto first = device_.CopyFromHost(memory_, host_, 64);
  const auto second = device_.CopyFromHost(memory_, host_, 64);
  char back[64];
  device_.CopyToHost(back, memory_, 64);
  EXPECT_EQ(device_.TakeViolations().size(), 2u);
  device_.Resume();
  device_.Drain();
  EXPECT_TRUE(second->Done());
}

TEST_F(FakeDeviceTest, FailsOnDemandAndOnce) {
  device_.FailCopyOf(std::string(64, 'b'));
  device_.CopyFromHost(memory_, host_, 64)->Wait();
  std::memset(host_, 'b', 64);
  const auto failing = device_.CopyFromHost(memory_, host_, 64);
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kIo, "failed to copy", [&] { failing->Wait(); });
  }
  device_.CopyFromHost(memory_, host_, 64)->Wait();
  device_.FailAllocationAfter(0);
  ExpectError(ErrorCode::kResourceLimit, "no memory", [&] { device_.Allocate(64); });
  device_.Free(device_.Allocate(64));
}

TEST_F(FakeDeviceTest, IsAPlace) {
  FakeDevice* device = FakeDevice::Get();
  EXPECT_EQ(FakeDevice::Get(), device);
  EXPECT_EQ(Place::Parse("FAKE:0").device(), device);
}

// F35: everything else works without a GPU.
TEST(Place, ThatNoDeviceHasIsRefusedWithTheReason) {
  ExpectError(ErrorCode::kInvalidArgument, "no place 'cuda:99'; there are: cpu",
              [] { Place::Parse("cuda:99"); });
  ExpectError(ErrorCode::kInvalidArgument, "need a build with --config=cuda and a GPU",
              [] { Place::Parse("cuda:99"); });
}

// F37
TEST(DeviceBuffer, ReturnsToItsPoolBehindItsEvent) {
  FakeDevice* device = FakeDevice::Get();
  const Place place(device);
  Ref<Buffer> pinned = BufferPool::PinnedFor(place).Take(1000);
  std::memset(pinned->data(), 7, 1000);
  Ref<Buffer> memory = BufferPool::At(place).Take(1000);
  EXPECT_EQ(memory->place(), place);
  const auto event = device->CopyFromHost(memory->data(), pinned->data(), 1000);
  pinned->set_busy_until(event);
  memory->set_busy_until(event);
  event->Wait();
  const char* address = pinned->data();
  device->Pause();
  const auto later = device->CopyFromHost(memory->data(), pinned->data(), 1000);
  pinned->set_busy_until(later);
  pinned = Ref<Buffer>();  // which does not wait
  EXPECT_NE(BufferPool::PinnedFor(place).Take(1000)->data(), address);
  device->Resume();
  later->Wait();
  std::vector<Ref<Buffer>> all;
  do {
    all.push_back(BufferPool::PinnedFor(place).Take(1000));
    ASSERT_LE(all.size(), 2u);
  } while (all.back()->data() != address);
  pinned = std::move(all.back());
  EXPECT_EQ(pinned->busy_until(), nullptr);
  std::memset(pinned->data(), 8, 1000);

  LoDTensor tensor;
  tensor.Share(memory, DataType::kUint8, {1000});
  EXPECT_EQ(ValuesOf<uint8_t>(tensor), std::vector<uint8_t>(1000, 7));
  ExpectError(ErrorCode::kInvalidArgument, "fake:0", [&] { tensor.data<uint8_t>(); });
  EXPECT_EQ(device->TakeViolations(), Words{});
}

TEST(DeviceBuffer, IsGivenBackAfterAFailedCopyToo) {
  FakeDevice* device = FakeDevice::Get();
  Ref<Buffer> pinned = BufferPool::PinnedFor(Place(device)).Take(10);
  Ref<Buffer> memory = BufferPool::At(Place(device)).Take(10);
  std::memset(pinned->data(), 9, 10);
  device->FailCopyOf(std::string(10, 9));
  const auto event = device->CopyFromHost(memory->data(), pinned->data(), 10);
  memory->set_busy_until(event);
  LoDTensor tensor;
  tensor.Share(std::move(memory), DataType::kUint8, {10});
  ExpectError(ErrorCode::kIo, "failed to copy", [&] { tensor.OnHost(); });
  const size_t before = BufferPool::At(Place(device)).in_use_bytes();
  tensor.Clear();
  EXPECT_LT(BufferPool::At(Place(device)).in_use_bytes(), before);
}

// Memory that a consumer has released while work that it has queued on the device still reads it.
class BusyMemory : public ::testing::Test {
 protected:
  ~BusyMemory() override {
    device_.EndReads();
    pool_.set_idle_limit(0);
    EXPECT_EQ(device_.TakeViolations(), Words{});
    EXPECT_EQ(device_.live_blocks(), lost_blocks_);
  }
  // Takes buffers, has the device read them, and releases them. Returns where they are.
  std::vector<char*> TakeReadAndLetGo(int count) {
    std::vector<Ref<Buffer>> buffers;
    std::vector<char*> places;
    for (int i = 0; i < count; ++i) {
      buffers.push_back(pool_.Take(64));
      places.push_back(buffers.back()->data());
      device_.BeginRead(places.back());
    }
    return places;
  }

  FakeDevice& device_ = *new FakeDevice("fake:read");  // its pool lives as long as the process
  BufferPool& pool_ = BufferPool::At(Place(&device_));
  size_t lost_blocks_ = 0;
};

TEST_F(BusyMemory, IsNotUsedBeforeTheDeviceHasReadIt) {
  const char* const place = TakeReadAndLetGo(1)[0];
  const Ref<Buffer> other = pool_.Take(64);
  EXPECT_NE(other->data(), place);
  device_.EndReads();
  EXPECT_EQ(pool_.Take(64)->data(), place);
  EXPECT_EQ(device_.allocations(), 2u);
}

TEST_F(BusyMemory, IsWaitedForIfThereIsMuchOfIt) {
  const std::vector<char*> places = TakeReadAndLetGo(4);
  std::thread device([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device_.EndReads();
  });
  const std::set<char*> known(places.begin(), places.end());
  EXPECT_EQ(known.count(pool_.Take(64)->data()), 1u);
  device.join();
  EXPECT_EQ(device_.allocations(), 4u);
}

// A thread that waits for a device can be made to leave.
TEST_F(BusyMemory, IsNotWaitedForByAThreadThatIsToLeave) {
  TakeReadAndLetGo(4);
  RequestStop();
  ExpectError(ErrorCode::kCancelled, "stopped", [this] { pool_.Take(64); });
  ClearStop();
  device_.EndReads();
  EXPECT_EQ(pool_.Take(64)->capacity(), 64u);
  EXPECT_EQ(device_.allocations(), 4u);
}

TEST_F(BusyMemory, IsFreedWhenTheDeviceHasReadIt) {
  TakeReadAndLetGo(1);
  std::thread device([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    device_.EndReads();
  });
  pool_.set_idle_limit(0);
  device.join();
  EXPECT_EQ(device_.live_blocks(), 0u);
}

TEST_F(BusyMemory, OfALostDeviceIsLeftAlone) {
  Ref<Buffer> buffer = pool_.Take(64);
  device_.LoseEvents(true);
  buffer = Ref<Buffer>();
  device_.LoseEvents(false);
  EXPECT_EQ(pool_.in_use_bytes(), 0u);
  EXPECT_EQ(pool_.idle_bytes(), 0u);
  lost_blocks_ = 1;
}

}  // namespace
}  // namespace millhopper
