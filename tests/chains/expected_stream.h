// SPDX-License-Identifier: Apache-2.0
// What a reader is expected to yield in one pass.
#ifndef MILLHOPPER_TESTS_CHAINS_EXPECTED_STREAM_H_
#define MILLHOPPER_TESTS_CHAINS_EXPECTED_STREAM_H_

#include <string>
#include <vector>

#include "framework/tensor/tensor.h"
#include "tests/testing.h"

namespace millhopper {

struct ExpectedElement {
  ElementValue value;
  std::string error;  // words of the error that loading it throws, or ""
};

struct ExpectedStream {
  std::vector<ExpectedElement> elements;
  std::string error;  // words of the error that follows them, or "" for the end
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_EXPECTED_STREAM_H_
