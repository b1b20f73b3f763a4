// SPDX-License-Identifier: Apache-2.0
// What the messages of a program say, in our types: values of attributes, and what variables are
// declared to hold.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_DECLARATIONS_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_DECLARATIONS_H_

#include <vector>

#include "framework/base/attribute.h"
#include "framework/tensor/rows.h"
#include "proto/framework.pb.h"

namespace millhopper {

namespace proto = paddle::framework::proto;

// The value of an attribute as the message holds it; its `type` has been set or inferred.
Attribute FromProto(const proto::OpDesc::Attr& attribute);
// What a tensor is declared to be. Throws kInvalidArgument for a type that is none of ours, or dims
// or levels that are impossible.
SlotSpec DeclaredTensor(const proto::VarType::LoDTensorDesc& tensor);
// The slots that a READER variable declares; empty if it declares none. Throws kInvalidArgument
// for a type that is none of ours or a missing dim.
std::vector<SlotSpec> DeclaredSlots(const proto::VarDesc& variable);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_DECLARATIONS_H_
