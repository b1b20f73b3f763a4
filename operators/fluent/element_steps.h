// SPDX-License-Identifier: Apache-2.0
// What Reader::Apply, Filter and choices do to each element, and how it is written into programs:
// as python/millhopper/readers/steps.py writes it, under the same names, so that it draws the same
// random numbers.
#ifndef MILLHOPPER_OPERATORS_FLUENT_ELEMENT_STEPS_H_
#define MILLHOPPER_OPERATORS_FLUENT_ELEMENT_STEPS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "proto/framework.pb.h"

namespace millhopper {

struct ElementStep;
// In order. Chains share steps.
using ElementSteps = std::vector<std::shared_ptr<const ElementStep>>;

// An operator on slots of an element, or a choice among steps.
struct ElementStep {
  // Steps that are taken if the draw, from 0 to 1, is below `limit` and not below that of the
  // alternative before.
  struct Alternative {
    float limit;
    ElementSteps steps;
  };

  // No other step of a chain has it, but for those of alternatives, of which one is taken: they may
  // have the names of each other's. It names the operator's variables, and what is drawn depends on
  // it.
  std::string name;
  std::string type;           // of the operator; unused by a choice
  std::vector<size_t> takes;  // slots that the operator reads: it writes the first one
  std::map<std::string, Attribute> attributes;
  // Of a choice, which has one or more; beyond the last one nothing is done.
  std::vector<Alternative> alternatives;
  int32_t seed = 0;  // of a choice
};

// Adds the names of steps, and of those within choices.
void AddStepNames(const ElementSteps& steps, std::set<std::string>* names);

// How many blocks AppendSteps makes of their choices, with those within choices.
size_t BlocksOf(const ElementSteps& steps);

// Adds a block that runs the steps on the elements of the reader `below`, of `slots` slots, and to
// `reader`, which is create_custom_reader or create_filter_reader, what it says of the block.
void AppendSteps(const ElementSteps& steps, const std::string& below, size_t slots,
                 proto::OpDesc* reader, proto::ProgramDesc* program);

// Helpers of all that makes programs.
proto::BlockDesc* AddBlock(int parent, proto::ProgramDesc* program);
void AddArgument(const std::string& parameter, const std::vector<std::string>& names,
                 google::protobuf::RepeatedPtrField<proto::OpDesc::Var>* to);
void AddAttributes(const std::map<std::string, Attribute>& attributes, proto::OpDesc* op);

}  // namespace millhopper

#endif  // MILLHOPPER_OPERATORS_FLUENT_ELEMENT_STEPS_H_
