// SPDX-License-Identifier: Apache-2.0
// What an OpContext shows: an operator whose arguments the executor has bound to variables.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_BOUND_OPERATOR_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_BOUND_OPERATOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/scope.h"

namespace millhopper {

// Whether two names are the same: those of slots and attributes are short, and a call of memcmp
// takes longer than comparing them.
inline bool IsName(std::string_view left, std::string_view right) {
  const size_t size = left.size();
  if (size != right.size()) return false;
  if (size <= 3) {
    return size == 0 || (left[0] == right[0] && left[size / 2] == right[size / 2] &&
                         left[size - 1] == right[size - 1]);
  }
  if (size > 8) return left == right;
  const auto word = [](const char* bytes) {
    uint32_t value;
    __builtin_memcpy(&value, bytes, sizeof(value));
    return value;
  };
  return word(left.data()) == word(right.data()) &&
         word(left.data() + size - 4) == word(right.data() + size - 4);
}

struct OpContext::Bound {
  struct Slot {
    const SlotSchema* schema;
    std::vector<Variable*> variables;
  };

  const Slot& FindSlot(const std::vector<Slot>& slots, std::string_view name) const {
    for (const Slot& slot : slots) {
      if (IsName(slot.schema->name, name)) return slot;
    }
    ThrowNoSlot(name);
  }
  Variable& Argument(const std::vector<Slot>& slots, std::string_view name, size_t i) const {
    const Slot& slot = FindSlot(slots, name);
    if (__builtin_expect(i >= slot.variables.size(), 0)) ThrowNoArgument(slots, slot, i);
    return *slot.variables[i];
  }
  const Attribute& FindAttribute(std::string_view name) const {
    for (const auto& [candidate, value] : attributes) {
      if (IsName(candidate, name)) return *value;
    }
    ThrowNoAttribute(name);
  }
  [[noreturn]] void ThrowNoSlot(std::string_view name) const;
  [[noreturn]] void ThrowNoArgument(const std::vector<Slot>& slots, const Slot& slot,
                                    size_t i) const;
  [[noreturn]] void ThrowNoAttribute(std::string_view name) const;

  const proto::OpDesc* desc = nullptr;
  const std::shared_ptr<const Program>* program = nullptr;
  int block = 0;
  int index = 0;
  Scope* scope = nullptr;
  RunState* run = nullptr;
  std::vector<Slot> inputs, outputs;
  AttributeMap attribute_map;
  std::vector<std::pair<std::string_view, const Attribute*>> attributes;  // those of the map
  std::vector<std::pair<std::string, std::unique_ptr<PreparedBlock>>> blocks;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_BOUND_OPERATOR_H_
