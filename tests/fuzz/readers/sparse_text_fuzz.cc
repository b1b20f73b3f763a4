// SPDX-License-Identifier: Apache-2.0
// Fuzzes the formats of sparse features.
#include "tests/fuzz/readers/fields_target.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* settings = new std::vector<millhopper::FieldSettings>{
      {"libsvm", {}},
      {"libsvm", {"label int64[-1]", "qid int32[] missing=skip", "dense float32[5] default=-1"}},
      {"libffm", {}},
      {"multislot", {"a int64[-1]", "b float32[2]", "c int8[]"}},
      {"multislot", {"#2 int64[-1,2] base=16"}},
      {"ctr_svm", {"label int64[]", "1 int64[-1] default=0", "2 int64[-1] missing=skip"}},
  };
  millhopper::FuzzFields(*settings, data, size);
  return 0;
}
