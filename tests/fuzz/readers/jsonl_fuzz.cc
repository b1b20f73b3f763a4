// SPDX-License-Identifier: Apache-2.0
// Fuzzes lines of JSON, lists and other values.
#include "tests/fuzz/readers/fields_target.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* settings = new std::vector<millhopper::FieldSettings>{
      {"jsonl", {"a int64[] default=0", "/b/c float32[-1]", "d bytes"}},
      {"jsonl", {"a float32[2,2]", "b int8[-1,2] missing=default"}},
      {"jsonl", {"a bytes[-1] missing=skip", "/b/0 int64[] decode=text default=1"}},
      {"jsonl", {"/0 bool[]", "/1 int64[] hash=10"}},
      {"jsonl", {"a int64[-1] decode=timestamp null=NA default=0", "d bytes null=NA missing=skip"}},
      {"jsonl",
       {"a bytes decode=json", "/b/c float64[-1] missing=default"},
       {{"others", std::string("error")}}},
      {"json", {"a bytes decode=json missing=default"}},
      {"json", {"a int64[] missing=skip"}},
  };
  millhopper::FuzzFields(*settings, data, size);
  return 0;
}
