// SPDX-License-Identifier: Apache-2.0
// Formats of text without a checksum: every cut and every flipped bit gives records or an error
// with its place, and never changes a record that lies before the damage.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "tests/bytes.h"
#include "tests/readers/field_readers.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

struct Case {
  std::string format;
  std::string content;
  std::vector<std::string> fields;
};

std::vector<Case> Cases() {
  return {
      {"csv",
       "id,name,list\n1,one,1 2\n2,\"t\"\"w\no\",\n-3,,7\n\n4,f,1 1 1\n",
       {"id int64[]", "name bytes", "list int32[-1]"}},
      {"csv", "1,2.5,x\r\n2,,y\r\n3,1e3,z", {"#0 int64[]", "#1 float32[] default=0", "#2 bytes"}},
      {"tsv",
       "0\t1f\t7\n1\tff\t8\n2\t\t9\n",
       {"#0 bool[] missing=skip", "#1 int32[] base=16 default=0"}},
      {"tsv",
       "2024-01-31 12:00:05\t1|2\nNA\t\n2024-02-29T00:00Z\t3\n",
       {"#0 int64[] decode=timestamp null=NA missing=skip", "#1 int64[-1] separator=|"}},
      {"csv",
       "05 Jan 24 9:05 AM,1\n31 Dec 99 12:00 PM,2\n",
       {"#0 int64[] decode=timestamp format=\"%d %b %y %I:%M %p\""}},
      {"jsonl",
       "{\"a\": {\"b\": 1}, \"s\": \"x\\u00e9\"}\n{\"a\": {\"b\": -2.5}, \"s\": \"\"}\n\n[]\n",
       {"/a/b float32[] default=0", "s bytes missing=default"}},
      {"libsvm",
       "+1 qid:3 1:0.5 3:2 # x\n-1 2:1\n\n0.5\n",
       {"label float32[]", "dense float32[4]"}},
      {"libsvm", "+1 1:0.5 3:2\n-1 2:1\n", {}},
      {"libffm", "+1 0:1:0.5 7:3:2\n-1 1:2:1\n", {}},
      {"multislot", "2 1 2 1 0.5\n1 7 1 3\n", {"a int64[-1]", "b float32[]"}},
      {"ctr_svm", "1 11:1 12:2\n0 13:1\n", {"label int64[]", "1 int64[-1] default=0"}},
  };
}

struct Outcome {
  std::vector<std::string> records;
  std::optional<Error> error;
};

Outcome Read(const Case& item, const std::string& content) {
  const TempFile file("a." + item.format, content);
  Outcome outcome;
  std::vector<LoDTensor> element;
  try {
    const auto reader = FieldReader(item.format, file.path(), item.fields);
    while (reader->HasNext()) {
      reader->ReadNext(&element);
      outcome.records.push_back(TextOf(element));
    }
  } catch (const Error& error) {
    outcome.error = error;
    EXPECT_TRUE(error.code() == ErrorCode::kDataLoss) << error.what();
    EXPECT_EQ(error.file(), file.path()) << error.what();
    EXPECT_GE(error.offset(), 0) << error.what();
    EXPECT_LE(error.offset(), static_cast<int64_t>(content.size())) << error.what();
  }
  return outcome;
}

// How many records lie wholly before a byte, in the file without damage.
size_t RecordsBefore(const Case& item, size_t byte) {
  const size_t line = item.content.rfind('\n', byte == 0 ? 0 : byte - 1);
  if (line == std::string::npos || line >= byte) return 0;
  return Read(item, item.content.substr(0, line + 1)).records.size();
}

void ExpectRecordsBefore(const Case& item, size_t byte, const Outcome& whole,
                         const Outcome& outcome) {
  const size_t before = RecordsBefore(item, byte);
  ASSERT_GE(outcome.records.size(), before);
  for (size_t i = 0; i < before; ++i) ASSERT_EQ(outcome.records[i], whole.records[i]);
}

TEST(TextDamage, OfEveryLengthKeepsWhatIsBeforeIt) {
  const PoolSize pool(0);
  for (const Case& item : Cases()) {
    const Outcome whole = Read(item, item.content);
    for (size_t size = 0; size < item.content.size(); ++size) {
      SCOPED_TRACE(StrCat(item.format, " cut to ", size));
      ExpectRecordsBefore(item, size, whole, Read(item, item.content.substr(0, size)));
      if (HasFatalFailure()) return;
    }
  }
}

TEST(TextDamage, OfEveryBitKeepsWhatIsBeforeIt) {
  const PoolSize pool(0);
  for (const Case& item : Cases()) {
    const Outcome whole = Read(item, item.content);
    // The header of a table names what is read, so that its damage is an error of all.
    const size_t header =
        item.fields.empty() || item.fields[0] != "id int64[]" ? 0 : item.content.find('\n') + 1;
    for (size_t bit = 0; bit < 8 * item.content.size(); ++bit) {
      SCOPED_TRACE(StrCat(item.format, " bit ", bit));
      const Outcome outcome = Read(item, FlipBit(item.content, bit));
      if (bit / 8 >= header) ExpectRecordsBefore(item, bit / 8, whole, outcome);
      if (HasFatalFailure()) return;
    }
  }
}

}  // namespace
}  // namespace millhopper
