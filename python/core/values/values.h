// SPDX-License-Identifier: Apache-2.0
// Makes elements of readers from Python values.
#ifndef MILLHOPPER_PYTHON_CORE_VALUES_VALUES_H_
#define MILLHOPPER_PYTHON_CORE_VALUES_VALUES_H_

#include <pybind11/pybind11.h>

#include <string>
#include <vector>

#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// The slots of the element to make. Where they are not declared, `slots` is empty and an element
// may have any.
struct ElementForm {
  std::vector<SlotSpec> slots;
  std::vector<std::string> names;  // of slots; empty if they have none
  // Whether a value may have other axes than declared after the first one, if they hold as many
  // values: [n, 1, 1] is taken for [-1, 1], which mixes no sample with another.
  bool reshapes = false;
};

// Makes an element of `item`: a tuple or list with one value for each slot, a dict of values by
// slot name, or the value of the only slot. A value is an array, a LoDTensor, a millhopper.Ragged,
// a number, lists of numbers, a str or a list of str, which are texts. Numbers and lists get the
// dtype of their slot, and a value without axes gets one of length 1. An array for a slot with one
// level of detail is one sequence. A uint16 array for a slot of bfloat16 holds the bits of the
// values.
//
// `item` must be the caller's only reference to the object. Large arrays without other references
// are shared instead of copied, if they own their memory and lie in C order. Throws what numpy
// throws. Throws kInvalidArgument, with the name of the slot, for another number of values, other
// names, or another dtype, rank or dims than declared.
std::vector<LoDTensor> ToElement(pybind11::object item, const ElementForm& form);
// Which of the slots of such an item have texts: those of millhopper.Texts and str. Of a dict they
// are in the order of the names, or in its own without.
std::vector<bool> AreTexts(const pybind11::object& item,
                           const std::vector<std::string>& names = {});

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_VALUES_VALUES_H_
