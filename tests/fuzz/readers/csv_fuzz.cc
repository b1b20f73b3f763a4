// SPDX-License-Identifier: Apache-2.0
// Fuzzes tables: with and without header, quotes, comments and missing values.
#include "tests/fuzz/readers/fields_target.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* settings = new std::vector<millhopper::FieldSettings>{
      {"csv", {"#0 int64[] default=0", "#1 bytes"}},
      {"csv", {"a float32[-1]", "b bytes[-1]"}},
      {"csv", {"a int32[2] missing=skip"}, {{"comment", std::string("#")}}},
      {"csv", {"#0 uint8[]"}, {{"header", std::string("yes")}}},
      {"tsv", {"#0 int64[] base=16", "#1-#2 float64[2] default=0", "#1 int64[] hash=10"}},
      {"csv", {"#0 int16[]", "#0 bytes"}, {{"quote", std::string()}}},
      {"csv",
       {"#0 int64[] decode=timestamp unit=ns null=NA default=0",
        "#1 bytes[-1] separator=| null=NA missing=skip"}},
      {"csv", {"#0 int64[] decode=timestamp format=\"%m/%d/%Y %I:%M:%S.%f %p %z\""}},
      {"csv", {"#0 int64[] decode=timestamp format=\"%d %b %y\" missing=skip"}},
      {"csv",
       {"#0 float64[] default=0", "#1 bytes missing=mask"},
       {{"escape", std::string("\\")},
        {"decimal", std::string(",")},
        {"delimiter", std::string(";")},
        {"ragged_rows", std::string("cut")},
        {"skip_rows", int32_t{1}}}},
      {"csv", {"#0 bytes", "#1 bytes"}, {{"quote", std::string()}, {"escape", std::string("\\")}}},
      {"csv", {"#0 bytes"}, {{"encoding", std::string("utf-8")}}},
      {"csv", {"#0 bytes"}, {{"encoding", std::string("utf-16")}}},
      {"csv", {"#0 bytes"}, {{"encoding", std::string("shift_jis")}}},
  };
  millhopper::FuzzFields(*settings, data, size);
  return 0;
}
