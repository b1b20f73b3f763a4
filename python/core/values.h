// SPDX-License-Identifier: Apache-2.0
// What Python makes, as elements of readers.
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_H_

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// What is made is an element of these slots. Where they are not declared, `slots` is empty and an
// element may have any.
struct ElementForm {
  std::vector<SlotSpec> slots;
  std::vector<std::string> names;  // of slots; empty if they have none
};

// An element: a tuple or list of as many values as there are slots, a dict of them by name, or the
// only value. A value is an array, a LoDTensor, a millhopper.Ragged, a number, or lists of numbers;
// what is no array gets the dtype of its slot, and what has no axis one of length 1. The uint16 of
// a slot of bfloat16 are its bits.
//
// `item` is the only reference to the object that the caller knows of. Large arrays that nothing
// else refers to are shared instead of copied, if they own their memory and lie in C order. Throws
// what numpy throws, and kInvalidArgument for another number of values, other names, or another
// dtype, rank or dims than is declared; it names the slot.
std::vector<LoDTensor> ToElement(pybind11::object item, const ElementForm& form);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_H_
