// SPDX-License-Identifier: Apache-2.0
// Converts the protobuf messages of a program to our types: values of attributes, and what
// variables are declared to hold.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_DECLARATIONS_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_DECLARATIONS_H_

#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/tensor/rows.h"
#include "proto/framework.pb.h"

namespace millhopper {

// The value of an attribute, whose `type` must be set or inferred already. Throws kInvalidArgument
// for VAR and VARS, which no operator takes.
Attribute FromProto(const proto::OpDesc::Attr& attribute);
// The other way: gives the message a name, a type and a value.
void ToProto(const std::string& name, const Attribute& value, proto::OpDesc::Attr* attribute);
// The declared element type, dims and levels of a tensor. Throws kInvalidArgument for an element
// type that we do not support, or for impossible dims or levels.
SlotSpec DeclaredTensor(const proto::VarType::LoDTensorDesc& tensor);
// The slots that a READER variable declares; empty if it declares none. Throws kInvalidArgument
// for what DeclaredTensor refuses, a slot without dims, and too many slots.
std::vector<SlotSpec> DeclaredSlots(const proto::VarDesc& variable);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_DECLARATIONS_H_
