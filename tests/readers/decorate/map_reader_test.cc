// SPDX-License-Identifier: Apache-2.0
// Maps, beyond the contract of all readers: functions that fail or misbehave.
#include "readers/decorate/map_reader.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/sources/open_files.h"
#include "tests/fakes/fake_device.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers() {
  SourceSpec spec;
  spec.records = 10;
  return MakePlannedSource(spec);
}

MapReader Mapped(MapReader::Function function) {
  return MapReader(Numbers(), SlotsOf(SourceSpec()), std::move(function));
}

TEST(MapReader, YieldsWhatTheFunctionMakesOfEachElement) {
  SlotSpec text;
  text.dtype = DataType::kUint8;
  text.dims = {-1};
  text.lod_level = 1;
  SlotSpec number;
  number.dims = {1};
  MapReader reader(
      Numbers(), {text, number},
      [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        const int64_t value = (*in)[0].scalar<int64_t>();
        const auto size = static_cast<uint64_t>(value % 3);
        *out = {MakeTensor<uint8_t>({value % 3}, std::vector<uint8_t>(size, 'x'), {{0, size}}),
                MakeTensor<float>({1}, {static_cast<float>(value) / 2})};
      });
  const std::vector<ElementValue> stream = ReadAll(&reader);
  ASSERT_EQ(stream.size(), 10u);
  EXPECT_EQ(stream[5][0].bytes, "xx");
  EXPECT_EQ(stream[5][0].lod, (Lod{{0, 2}}));
  EXPECT_EQ(stream[5][1], ValueOf({MakeTensor<float>({1}, {2.5f})})[0]);
}

// The function writes slot 1 straight into the rows, wherever they are.
TEST(MapReader, LetsTheFunctionAppendASlotOfKnownSize) {
  SlotSpec number;
  number.dims = {1};
  for (const int batch : {1, 4}) {
    auto mapped = std::make_unique<MapReader>(
        Numbers(), std::vector<SlotSpec>{SlotsOf(SourceSpec())[0], number},
        [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows* rows) {
          const auto half = static_cast<float>((*in)[0].scalar<int64_t>()) / 2;
          std::memcpy(rows->Append(1, 1), &half, sizeof(half));
          *out = {std::move((*in)[0]), LoDTensor()};
        });
    BatchReader reader(std::move(mapped), batch, false, BatchMode::kConcat);
    const std::vector<ElementValue> stream = ReadAll(&reader);
    ASSERT_EQ(stream.size(), batch == 1 ? 10u : 3u);
    EXPECT_EQ(stream[1][1], batch == 1 ? ValueOf({MakeTensor<float>({1}, {0.5f})})[0]
                                       : ValueOf({MakeTensor<float>({4}, {2, 2.5f, 3, 3.5f})})[0]);
  }
}

TEST(MapReader, AFailureTakesTheElementsPlaceAndNamesIt) {
  MapReader reader =
      Mapped([](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        if ((*in)[0].scalar<int64_t>() == 4) throw std::runtime_error("no such word");
        std::swap(*in, *out);
      });
  reader.set_origin("reader 'words' (create_custom_reader, startup.pbtxt:9)");
  EXPECT_EQ(ReadSome(&reader, 4).size(), 4u);
  std::vector<LoDTensor> element;
  const std::optional<Thrown> error = ErrorOf([&] { reader.ReadNext(&element); });
  ASSERT_TRUE(error);
  EXPECT_EQ(error->text,
            "no such word\n  while processing element 4 in reader 'words' (create_custom_reader, "
            "startup.pbtxt:9)");
}

TEST(MapReader, AFailureBehindAnotherMapNamesTheRecordOfTheFile) {
  const auto pass_on = [](const RecordId&, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out,
                          Rows*) { std::swap(*in, *out); };
  const TempFile file("lines.txt", "one\ntwo\nthree\n");
  auto lines = OpenFile(*FindFileFormat("text"), file.path(), "", FormatArguments());
  const std::vector<SlotSpec> slots = lines->slots();
  auto first = std::make_unique<MapReader>(std::move(lines), slots, pass_on);
  MapReader second(
      std::move(first), slots,
      [](const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out, Rows*) {
        Require(id.sample != 1, "no such word");
        std::swap(*in, *out);
      });
  EXPECT_EQ(ReadSome(&second, 1).size(), 1u);
  std::vector<LoDTensor> element;
  const std::optional<Thrown> error = ErrorOf([&] { second.ReadNext(&element); });
  ASSERT_TRUE(error);
  EXPECT_NE(error->text.find("lines.txt: no such word\n  in line 2, which begins at byte 4"),
            std::string::npos)
      << error->text;
}

// F18
TEST(MapReader, ChecksWhatTheFunctionYields) {
  const std::vector<std::pair<std::vector<LoDTensor>, std::string>> cases = {
      {{}, "0 results for 1 slots"},
      {{MakeTensor<float>({1, 1}, {1})}, "float32 [1, 1] was found"},
      {{MakeTensor<int64_t>({2, 1}, {1, 2})}, "int64 [2, 1] was found"},
      {{LoDTensor()}, "no values for slot 0"},
  };
  for (const auto& [result, words] : cases) {
    const std::vector<LoDTensor>& yielded = result;
    MapReader reader = Mapped([&yielded](const RecordId&, std::vector<LoDTensor>*,
                                         std::vector<LoDTensor>* out, Rows*) { *out = yielded; });
    std::vector<LoDTensor> element;
    const std::optional<Thrown> error = ErrorOf([&] { reader.ReadNext(&element); });
    ASSERT_TRUE(error);
    EXPECT_NE(error->text.find(words), std::string::npos) << error->text;
  }
}

TEST(MapReader, RefusesElementsOnADevice) {
  ExpectError(ErrorCode::kInvalidArgument, "fake:0", [] {
    MapReader(std::make_unique<DoubleBufferReader>(Numbers(), Place(FakeDevice::Get()), 1),
              SlotsOf(SourceSpec()),
              [](const RecordId&, std::vector<LoDTensor>*, std::vector<LoDTensor>*, Rows*) {});
  });
}

}  // namespace
}  // namespace millhopper
