// SPDX-License-Identifier: Apache-2.0
// What every device must do, run on the fake one and on each accelerator of a --config=cuda build;
// tools/dev/check_gpu runs it where there is one.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/memory/memory.h"
#include "framework/memory/place.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/sources/random_data_reader.h"
#include "tests/fakes/fake_device.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::vector<std::string> AllDevices() {
  FakeDevice::Get();
  return DeviceNames();
}

class EveryDevice : public ::testing::TestWithParam<std::string> {
 protected:
  const Place place_ = Place::Parse(GetParam());
};

TEST_P(EveryDevice, CopiesThereAndBack) {
  Ref<Buffer> host = BufferPool::PinnedFor(place_).Take(1 << 20);
  Ref<Buffer> device = BufferPool::At(place_).Take(1 << 20);
  EXPECT_TRUE(host->place().is_cpu());
  EXPECT_EQ(device->place(), place_);
  for (size_t i = 0; i < (1 << 20); ++i) host->data()[i] = static_cast<char>(i * 7);
  const auto copy = place_.device()->CopyFromHost(device->data(), host->data(), 1 << 20);
  copy->Wait();
  EXPECT_TRUE(copy->Done());
  std::vector<char> back(1 << 20);
  place_.device()->CopyToHost(back.data(), device->data(), back.size());
  EXPECT_EQ(0, std::memcmp(back.data(), host->data(), back.size()));
}

TEST_P(EveryDevice, MemoryGoesBackToItsPoolAndIsTakenAgain) {
  // A device may be unable to tell that it is idle, and then has some of the same size.
  std::set<const char*> taken;
  for (int i = 0; i < 100; ++i) taken.insert(BufferPool::At(place_).Take(4096)->data());
  EXPECT_LE(taken.size(), 5u);
}

TEST_P(EveryDevice, AnEventBehindAllComesAfterTheCopies) {
  constexpr size_t kBytes = size_t{4} << 20;
  const Ref<Buffer> host = BufferPool::PinnedFor(place_).Take(kBytes);
  const Ref<Buffer> device = BufferPool::At(place_).Take(kBytes);
  std::memset(host->data(), 1, kBytes);
  const auto copy = place_.device()->CopyFromHost(device->data(), host->data(), kBytes);
  const auto event = place_.device()->EventAfterAll();
  event->Wait();
  EXPECT_TRUE(event->Done());
  EXPECT_TRUE(copy->Done());
}

TEST_P(EveryDevice, DoubleBufferYieldsWhatTheHostYields) {
  const PoolSize pool(2);
  const auto chain = [](Place place) {
    std::vector<SlotSpec> slots(2);
    slots[0].dims = {1, 33};
    slots[1].dims = {2, 3};
    std::unique_ptr<ReaderBase> reader =
        std::make_unique<RandomDataReader>(slots, 0.0f, 1.0f, 500, RandomKey(1, 2, "data"));
    reader = std::make_unique<ShuffleReader>(std::move(reader), 64, RandomKey(1, 2, "shuffle"));
    reader = std::make_unique<BatchReader>(std::move(reader), 7, false, BatchMode::kConcat);
    reader = std::make_unique<DoubleBufferReader>(std::move(reader), place, 3);
    return std::make_unique<MultiPassReader>(std::move(reader), 2);
  };
  const auto wanted = chain(Place());
  const auto found = chain(place_);
  EXPECT_EQ(found->place(), place_);
  std::vector<LoDTensor> element;
  for (int pass = 0; pass < 2; ++pass) {
    for (const ElementValue& value : ReadAll(wanted.get())) {
      found->ReadNext(&element);
      EXPECT_EQ(element[0].place(), place_);
      ASSERT_EQ(value, ValueOf(element));
    }
    EXPECT_FALSE(found->HasNext());
    wanted->ReInit();
    found->ReInit();
  }
}

TEST_P(EveryDevice, RefusesToComputeOnItsValues) {
  std::vector<SlotSpec> slots(1);
  slots[0].dims = {1, 4};
  DoubleBufferReader reader(
      std::make_unique<RandomDataReader>(slots, 0.0f, 1.0f, 4, RandomKey(0, 0, "data")), place_, 2);
  std::vector<LoDTensor> element;
  reader.ReadNext(&element);
  ExpectError(ErrorCode::kInvalidArgument, "needed on the cpu", [&] { element[0].data<float>(); });
}

INSTANTIATE_TEST_SUITE_P(Devices, EveryDevice, ::testing::ValuesIn(AllDevices()),
                         [](const auto& device) {
                           std::string name = device.param;
                           for (char& c : name) c = c == ':' ? '_' : c;
                           return name;
                         });

}  // namespace
}  // namespace millhopper
