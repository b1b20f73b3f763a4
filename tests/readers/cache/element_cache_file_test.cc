// SPDX-License-Identifier: Apache-2.0
// Cache files whose checksums are right and whose content is not: only an attacker writes them.
// disk_cache_reader_test damages files in all other ways.
#include "readers/cache/element_cache_file.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/file.h"
#include "framework/reader/file_reader.h"
#include "tests/files/element_cache_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

const CacheKey kKey = {'k', 'e', 'y'};

// Where the numbers of a file with one slot of two axes stand.
constexpr size_t kSlots = 24, kType = 28, kLevels = 32, kKnown = 36, kRank = 40, kFirstAxis = 44;
constexpr size_t kBlock = 68, kBody = kBlock + 8, kFirstSize = kBlock + 24;
constexpr size_t kFirstElement = kFirstSize + 2 * sizeof(uint32_t);
constexpr size_t kIdBytes = 40;

// Two elements of a slot that is float32 [-1, 2].
std::string WholeFile() {
  const std::string path = TempName("whole.mhcache");
  SlotSpec slot;
  slot.dims = {-1, 2};
  ElementCacheWriter writer(path, kKey, {slot}, [](uint64_t) {});
  for (uint64_t i = 0; i < 2; ++i) {
    RecordId id;
    id.sample = i;
    writer.Add(id, {MakeTensor<float>({1, 2}, {1, static_cast<float>(i)})});
  }
  writer.Publish();
  return ReadFile(path);
}

// The file with another number at a place, and the right checksums.
template <typename T>
std::string With(size_t at, T number) {
  std::string file = WholeFile();
  std::memcpy(file.data() + at, &number, sizeof(number));
  return WithRightChecksums(file);
}

size_t ElementsOf(const std::string& content) {
  const std::string path = TempName("changed.mhcache");
  WriteFile(path, content);
  FileReader reader(ElementCacheFormat::Read(File::Open(path), kKey), FileEntry{path, "", {}});
  return ReadAll(&reader).size();
}

void ExpectDamage(const std::string& content, const std::string& words) {
  ExpectError(ErrorCode::kDataLoss, words, [&] { ElementsOf(content); });
}

TEST(ElementCacheFile, HasChecksumsAsTheTestsPutThem) {
  EXPECT_EQ(WithRightChecksums(WholeFile()), WholeFile());
  EXPECT_EQ(ElementsOf(WholeFile()), 2u);
  EXPECT_EQ(ElementsOf(With(kFirstAxis + 8, int64_t{-1})), 2u);
}

TEST(ElementCacheFile, HasSlotsThatAReaderCanHave) {
  ExpectDamage(With(kSlots, uint32_t{0}), "0 slots");
  ExpectDamage(With(kSlots, uint32_t{5000}), "5000 slots");
  ExpectDamage(With(kType, int32_t{77}), "type 77");
  ExpectDamage(With(kLevels, int32_t{-1}), "-1 levels of detail");
  ExpectDamage(With(kLevels, int32_t{1} << 30), "1073741824 levels of detail");
  ExpectDamage(With(kRank, uint32_t{1} << 30), "1073741824 axes");
  ExpectDamage(With(kFirstAxis, int64_t{-2}), "an axis of -2");
  std::string file = WholeFile();
  std::memset(file.data() + kRank, 0, sizeof(uint32_t));
  file.erase(kFirstAxis, 2 * sizeof(int64_t));
  ExpectDamage(WithRightChecksums(file), "a slot without axes");
}

TEST(ElementCacheFile, HasBlocksThatHoldTheirElements) {
  ExpectDamage(With(kBlock, uint32_t{1000}), "the block has 1000 elements");
  ExpectDamage(With(kBody, uint64_t{1} << 40), "in 1099511627776 bytes");
  ExpectDamage(With(kFirstSize, uint32_t{39}), "element 0 has 39 bytes");
  ExpectDamage(With(kFirstSize, uint32_t{1} << 31), "element 0 has 2147483648 bytes");
  ExpectDamage(With(kFirstSize, uint32_t{kIdBytes}), "in record 0 of the chunk at byte 68");
}

TEST(ElementCacheFile, HasElementsOfItsSlots) {
  ExpectDamage(With(kType, static_cast<int32_t>(DataType::kInt64)), "int64 [-1, 2] is declared");
  ExpectDamage(With(kLevels, int32_t{1}), "is declared");
  ExpectDamage(With(kFirstAxis + 8, int64_t{3}), "float32 [-1, 3] is declared");
  ExpectDamage(With(kFirstElement + kIdBytes, uint32_t{77}), "in record 0 of the chunk at byte 68");
}

// Blocks of one element of a mebibyte, and of several.
TEST(ElementCacheFile, BeginsAtAnyElement) {
  const std::string path = TempName("blocks.mhcache");
  SlotSpec slot;
  slot.dims = {-1};
  {
    ElementCacheWriter writer(path, kKey, {slot}, [](uint64_t) {});
    for (uint64_t i = 0; i < 10; ++i) {
      RecordId id;
      id.sample = i;
      const auto length = static_cast<size_t>(i % 4 == 0 ? 300000 : 1000);
      writer.Add(id,
                 {MakeTensor<float>({static_cast<int64_t>(length)}, std::vector<float>(length))});
    }
    writer.Publish();
  }
  const auto format = [&] { return ElementCacheFormat::Read(File::Open(path), kKey); };
  const auto samples = [](const TicketRun& run) {
    std::vector<uint64_t> found;
    for (const Ticket& ticket : run.tickets)
      found.push_back(ElementCacheFormat::IdOf(ticket).sample);
    return found;
  };
  for (uint64_t first = 0; first <= 10; ++first) {
    std::unique_ptr<ElementCacheFormat> from = format();
    const uint64_t block = from->StartWith(first);
    ASSERT_LE(block, first);
    FileReader reader(std::move(from), FileEntry{path, "", {}});
    TicketRun run;
    while (reader.Plan(7, &run) > 0) continue;
    const std::vector<uint64_t> found = samples(run);
    ASSERT_EQ(found.size(), 10 - block);
    for (uint64_t i = block; i < 10; ++i) EXPECT_EQ(found[i - block], i);
  }
  ExpectError(ErrorCode::kInvalidArgument, "has 10 elements, and none with the number 11",
              [&] { format()->StartWith(11); });

  const std::vector<uint64_t> wanted = {0, 1, 1, 3, 4, 9};
  ElementNames places;
  places.count = wanted.size();
  places.records = format()->PlacesOf(wanted);
  FileReader reader(format(), FileEntry{path, "", {}});
  TicketRun run;
  reader.PlanRunAgain(places, &run);
  EXPECT_EQ(samples(run), wanted);
  ExpectError(ErrorCode::kInvalidArgument, "none with the number 10", [&] {
    format()->PlacesOf({2, 10});
  });
}

}  // namespace
}  // namespace millhopper
