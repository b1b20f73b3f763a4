// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/pass_order.h"

#include <map>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/operator.h"
#include "framework/program/operator_check.h"
#include "framework/program/program.h"
#include "proto/framework.pb.h"

namespace millhopper {
namespace {

using OperatorIndex = std::pair<int, int>;  // block and operator

// The operators of a program that create readers, by what they create.
std::map<std::string, OperatorIndex> Creators(const Program& program) {
  std::map<std::string, OperatorIndex> creators;
  for (int block = 0; block < program.desc().blocks_size(); ++block) {
    for (int op = 0; op < program.desc().blocks(block).ops_size(); ++op) {
      const proto::OpDesc& desc = program.desc().blocks(block).ops(op);
      const OperatorDef* const def = FindOperator(desc.type());
      if (def == nullptr || !def->schema.creates_reader) continue;
      for (const auto& output : desc.outputs()) {
        for (const std::string& name : output.arguments()) creators[name] = {block, op};
      }
    }
  }
  return creators;
}

}  // namespace

std::string WhyPassesDiffer(const Program& program, int block, int op) {
  std::map<std::string, OperatorIndex> creators = Creators(program);
  std::vector<OperatorIndex> above = {{block, op}};  // whose inputs are yet to be looked at
  while (!above.empty()) {
    const auto [in_block, index] = above.back();
    above.pop_back();
    const proto::OpDesc& desc = program.desc().blocks(in_block).ops(index);
    for (const ParameterSchema& input : FindOperator(desc.type())->schema.inputs) {
      if (input.kind != VariableKind::kReader) continue;
      for (const std::string& name : ArgumentsOf(input, true, desc)) {
        const auto found = creators.find(name);
        if (found == creators.end()) continue;  // another program creates it, or it was looked at
        const OperatorIndex creator = found->second;
        const auto [its_block, its_index] = creator;
        creators.erase(found);
        const proto::OpDesc& below = program.desc().blocks(its_block).ops(its_index);
        const OpSchema& schema = FindOperator(below.type())->schema;
        PassOrder order;
        if (schema.order != nullptr) {
          order = schema.order(CheckAttributes(schema, below, [](const auto&, const auto&) {}));
        }
        if (order.kind == PassOrder::kDiffers) {
          return StrCat("reader '", Escaped(name), "' (", below.type(), ", ",
                        program.OperatorLocation(its_block, its_index),
                        ") puts them in another order: ", order.remedy);
        }
        if (order.kind == PassOrder::kAsBelow) above.push_back(creator);
      }
    }
  }
  return "";
}

}  // namespace millhopper
