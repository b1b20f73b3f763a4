// SPDX-License-Identifier: Apache-2.0
#include "framework/memory/memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/tensor/tensor.h"
#include "tests/fakes/fake_device.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

BufferPool& Host() { return BufferPool::At(Place()); }

// The idle limit of the host's pool while one of these lives.
class IdleLimit {
 public:
  explicit IdleLimit(size_t bytes) { Host().set_idle_limit(bytes); }
  ~IdleLimit() { Host().set_idle_limit(size_t{1} << 30); }
};

TEST(SizeClass, IsEnoughAndLosesAtMostAQuarter) {
  size_t before = 0;
  for (size_t bytes = 0; bytes < 100000; bytes += 7) {
    const size_t size = SizeClass(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_EQ(size % 64, 0u);
    ASSERT_GE(size, before);
    ASSERT_LE(size, std::max(bytes + bytes / 4, bytes + 64)) << bytes;
    before = size;
  }
  EXPECT_EQ(SizeClass(size_t{1} << 40), size_t{1} << 40);
}

TEST(SizeClass, HasFewClasses) {
  size_t classes = 0;
  size_t last = 0;
  for (size_t bytes = 1024; bytes < 65536; ++bytes) {
    if (SizeClass(bytes) != last) ++classes;
    last = SizeClass(bytes);
  }
  EXPECT_LE(classes, 6 * 4 + 1u);
}

TEST(CheckedProduct, RefusesToOverflow) {
  EXPECT_EQ(CheckedProduct(1 << 20, 1 << 20), size_t{1} << 40);
  EXPECT_EQ(CheckedProduct(0, SIZE_MAX), 0u);
  ExpectError(ErrorCode::kResourceLimit, "overflows", [] { CheckedProduct(SIZE_MAX / 2, 3); });
}

TEST(BufferPool, GivesAlignedMemoryOfAnySize) {
  for (const size_t bytes : {0, 1, 63, 64, 65, 1000, 100000}) {
    const Ref<Buffer> buffer = Host().Take(bytes);
    EXPECT_GE(buffer->capacity(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % 64, 0u);
    EXPECT_TRUE(buffer->place().is_cpu());
    std::memset(buffer->data(), 1, buffer->capacity());
  }
}

TEST(BufferPool, UsesABufferAgain) {
  Ref<Buffer> buffer = Host().Take(5000);
  const char* const address = buffer->data();
  const size_t capacity = buffer->capacity();
  const size_t in_use = Host().in_use_bytes();
  const size_t idle = Host().idle_bytes();
  buffer = Ref<Buffer>();
  EXPECT_EQ(Host().in_use_bytes(), in_use - capacity);
  EXPECT_EQ(Host().idle_bytes(), idle + capacity);
  buffer = Host().Take(4999);
  EXPECT_EQ(buffer->data(), address);
  EXPECT_EQ(Host().in_use_bytes(), in_use);
  EXPECT_EQ(Host().idle_bytes(), idle);
}

TEST(BufferPool, BoundsWhatLiesIdle) {
  const IdleLimit limit(0);
  EXPECT_EQ(Host().idle_bytes(), 0u);
  Host().set_idle_limit(10000);
  {
    std::vector<Ref<Buffer>> buffers;
    buffers.reserve(10);
    for (int i = 0; i < 10; ++i) buffers.push_back(Host().Take(4096));
  }
  EXPECT_EQ(Host().idle_bytes(), 2 * 4096u);
  Host().set_idle_limit(0);
  EXPECT_EQ(Host().idle_bytes(), 0u);
}

TEST(BufferPool, RefusesWhatCannotBe) {
  const size_t in_use = Host().in_use_bytes();
  for (const size_t bytes : {size_t{1} << 47, SIZE_MAX - 1, SIZE_MAX}) {
    ExpectError(ErrorCode::kResourceLimit, "out of reach", [&] { Host().Take(bytes); });
  }
  EXPECT_EQ(Host().in_use_bytes(), in_use);
}

TEST(BufferPool, FreesWhatLiesIdleBeforeItGivesUp) {
  FakeDevice device("fake:full");
  BufferPool& pool = BufferPool::At(Place(&device));
  { const Ref<Buffer> idle = pool.Take(1000); }
  EXPECT_GT(pool.idle_bytes(), 0u);
  device.FailAllocationAfter(0);
  EXPECT_GE(pool.Take(5000)->capacity(), 5000u);
  EXPECT_EQ(device.live_blocks(), 1u);
  pool.set_idle_limit(0);
}

TEST(BufferPool, IsSafeForManyThreads) {
  const size_t in_use = Host().in_use_bytes();
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([k] {
      for (size_t i = 0; i < 500; ++i) {
        const Ref<Buffer> buffer = Host().Take(64 * (i % 9));
        std::memset(buffer->data(), k, buffer->capacity());
        for (size_t at = 0; at < buffer->capacity(); ++at) ASSERT_EQ(buffer->data()[at], k);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Host().in_use_bytes(), in_use);
}

TEST(PinnedMemory, IsOnTheHost) {
  const Place place(FakeDevice::Get());
  EXPECT_TRUE(BufferPool::PinnedFor(place).Take(10)->place().is_cpu());
  EXPECT_EQ(BufferPool::At(place).Take(10)->place(), place);
  EXPECT_EQ(&BufferPool::PinnedFor(Place()), &Host());
}

// Not even the owner of a tensor writes to memory that a device is still copying from.
TEST(LoDTensor, TakesOtherMemoryWhileADeviceIsAtWork) {
  FakeDevice device("fake:busy");
  device.Pause();
  LoDTensor tensor = MakeTensor<uint8_t>({4}, {1, 2, 3, 4});
  Ref<Buffer> memory = BufferPool::At(Place(&device)).Take(4);
  const auto event = device.CopyFromHost(memory->data(), tensor.raw_data(), 4);
  const void* const copied_from = tensor.raw_data();
  const_cast<Ref<Buffer>&>(tensor.buffer())->set_busy_until(event);
  EXPECT_FALSE(tensor.buffer()->writable());
  const Ref<Buffer> kept = tensor.buffer();
  tensor.mutable_data<uint8_t>()[0] = 9;
  EXPECT_NE(tensor.raw_data(), copied_from);
  device.Resume();
  event->Wait();
  EXPECT_EQ(device.TakeViolations(), std::vector<std::string>{});
  EXPECT_EQ(ValuesOf<uint8_t>(tensor), (std::vector<uint8_t>{9, 2, 3, 4}));
  memory = Ref<Buffer>();
  BufferPool::At(Place(&device)).set_idle_limit(0);
}

TEST(LoDTensor, IsNotWrittenByTheHostWhenItIsOnADevice) {
  FakeDevice device("fake:far");
  LoDTensor tensor;
  tensor.Share(BufferPool::At(Place(&device)).Take(4), DataType::kUint8, {4});
  ExpectError(ErrorCode::kInvalidArgument, "fake:far", [&] { tensor.mutable_raw_data(); });
  tensor.Allocate(DataType::kUint8, {4});  // on the host
  EXPECT_TRUE(tensor.place().is_cpu());
  BufferPool::At(Place(&device)).set_idle_limit(0);
}

}  // namespace
}  // namespace millhopper
