// SPDX-License-Identifier: Apache-2.0
// Slots with their names, and the text by which people and manifests of RecordIO files tell them:
//
//   image uint8[1,28,28] label int64[1,1] "user id" uint8[-1]:1
//
// For each slot its name, which may be left out, its type, its dims (-1 is any) and, after a
// colon, its levels of detail, if it has any. The type str is uint8 that is text: str[-1]:1 is one
// text, str[-1]:2 a list of texts. Between slots stand spaces, commas or semicolons. A
// name that is no word of letters, digits and ._-/# stands in quotes.
#ifndef MILLHOPPER_READERS_FIELDS_NAMED_SLOTS_H_
#define MILLHOPPER_READERS_FIELDS_NAMED_SLOTS_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "framework/tensor/rows.h"

namespace millhopper {

struct NamedSlots {
  std::vector<SlotSpec> slots;
  std::vector<std::string> names;  // as many as slots, or none

  bool operator==(const NamedSlots& other) const {
    return slots == other.slots && names == other.names;
  }
};

// Names are escaped (Escaped), so that the text has one line and is UTF-8. Names of which two are
// the same then are left out, and so is an empty one.
std::string ToText(const NamedSlots& slots);
// Reads such a text; names are as they stand in it. Throws kInvalidArgument for what is none, for
// slots that cannot be (CheckSlots), and if only some have names or two have one name;
// kResourceLimit for more dims than a tensor can have. The text of no slots is empty.
NamedSlots ParseSlots(const std::string& text);

// What all elements that it is shown have in common: the slots that fit each of them. An axis in
// which they differ is -1, and so is the leading one of a slot with levels of detail. One thread at
// a time.
class CommonSlots {
 public:
  // A slot is text if it is in each of these.
  void Add(const std::vector<SlotSpec>& element);
  void Add(const std::vector<LoDTensor>& element);
  // No slots fit what is to come.
  void GiveUp() { differ_ = true; }
  // Nothing if there was no element, or if they differ in the number, the types, the ranks or the
  // levels of their slots.
  std::optional<std::vector<SlotSpec>> slots() const;

 private:
  void Widen(size_t slot, DataType dtype, const Dims& dims, size_t levels);

  std::vector<SlotSpec> slots_;  // empty before the first element
  bool differ_ = false;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FIELDS_NAMED_SLOTS_H_
