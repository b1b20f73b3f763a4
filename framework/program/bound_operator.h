// SPDX-License-Identifier: Apache-2.0
// An operator as the executor has prepared it: what an OpContext offers beside the arguments.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_BOUND_OPERATOR_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_BOUND_OPERATOR_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/scope.h"

namespace millhopper {

struct OpContext::Bound {
  const proto::OpDesc* desc = nullptr;
  const std::shared_ptr<const Program>* program = nullptr;
  int block = 0;
  int index = 0;
  Scope* scope = nullptr;
  RunState* run = nullptr;
  AttributeMap attribute_map;
  std::vector<std::pair<std::string, std::unique_ptr<PreparedBlock>>> blocks;
  // What is run instead of the operator, if PreparedBlock::Replace has replaced it.
  std::function<void()> replacement;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_BOUND_OPERATOR_H_
