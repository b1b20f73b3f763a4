// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/recordio/recordio_slots.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

LoDTensor Tensor(DataType dtype, const Dims& dims, const Lod& lod = {}) {
  LoDTensor tensor;
  tensor.Allocate(dtype, dims);
  std::memset(tensor.mutable_raw_data(), 0, tensor.bytes());
  tensor.set_lod(lod);
  return tensor;
}

// The slots of a file of these records, as text; "none" if they have none.
std::string SlotsOf(const std::vector<std::string>& records) {
  const std::string path = TempName("slots.recordio");
  RecordIOWriter writer(path, {});
  for (const std::string& record : records) writer.Write(record);
  writer.Close();
  const std::optional<std::vector<SlotSpec>> slots = SlotsOfFirstRecords(path);
  return slots ? ToText({*slots, {}}) : "none";
}

TEST(RecordIOSlots, AreWhatTheTensorsSay) {
  const std::string record = RecordOf(
      {Tensor(DataType::kUint8, {1, 28, 28}), Tensor(DataType::kInt64, {3, 1}, {{0, 1, 3}})});
  EXPECT_EQ(SlotsOf({record, record}), "uint8[1,28,28] int64[-1,1]:1");
}

TEST(RecordIOSlots, TakeAnyLengthWhereRecordsDiffer) {
  EXPECT_EQ(SlotsOf({RecordOf({Tensor(DataType::kFp32, {1, 4, 3})}),
                     RecordOf({Tensor(DataType::kFp32, {1, 5, 3})})}),
            "float32[1,-1,3]");
}

TEST(RecordIOSlots, AreNoneForOtherRecords) {
  const std::string record = RecordOf({Tensor(DataType::kFp32, {1, 4})});
  EXPECT_EQ(SlotsOf({"just bytes"}), "none");
  EXPECT_EQ(SlotsOf({}), "none");
  EXPECT_EQ(SlotsOf({std::string(4, 0)}), "none");
  EXPECT_EQ(SlotsOf({record, record + "x"}), "none");
  EXPECT_EQ(SlotsOf({record, record.substr(0, record.size() - 1)}), "none");
  EXPECT_EQ(SlotsOf({record, RecordOf({Tensor(DataType::kFp64, {1, 4})})}), "none");
  EXPECT_EQ(SlotsOf({record, RecordOf({Tensor(DataType::kFp32, {1, 4, 1})})}), "none");
  EXPECT_EQ(SlotsOf({std::string(4, '\xff')}), "none");
}

}  // namespace
}  // namespace millhopper
