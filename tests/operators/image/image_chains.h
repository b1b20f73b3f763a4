// SPDX-License-Identifier: Apache-2.0
// Runs chains of operators on images as a block for the elements of a reader.
#ifndef MILLHOPPER_TESTS_OPERATORS_IMAGE_IMAGE_CHAINS_H_
#define MILLHOPPER_TESTS_OPERATORS_IMAGE_IMAGE_CHAINS_H_

#include <string>
#include <vector>

#include "tests/testing.h"

namespace millhopper {

// An operator X -> Out with its attributes as text.
struct ImageOp {
  std::string type;
  std::string attributes;
};

// Variables and operators of the block as text, before the chain and after it.
struct MoreOps {
  std::string before, after;
};

// A startup program that makes a reader "mapped" of "source", whose elements are encoded images.
// Block 1 has the operators, a chain on the variable "encoded"; the result of operator i is "v<i>".
// `sinks` are names in quotes, with commas between them.
std::string ImageProgram(const std::vector<ImageOp>& ops, const std::string& sinks,
                         const MoreOps& more = {});

// The elements of "mapped" for these encoded images. Throws what they throw.
std::vector<ElementValue> RunImageProgram(const std::vector<std::string>& images,
                                          const std::string& program);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_OPERATORS_IMAGE_IMAGE_CHAINS_H_
