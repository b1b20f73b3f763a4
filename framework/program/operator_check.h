// SPDX-License-Identifier: Apache-2.0
// Checks one operator of a program against its schema, for the checker of programs and for the
// executor.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_CHECK_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_CHECK_H_

#include <functional>
#include <string>
#include <vector>

#include "framework/program/declarations.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"

namespace millhopper {

// Called with a problem and the part of the operator that has it.
using ReportPart = std::function<void(const OperatorPart& part, const std::string& text)>;

// The argument that Paddle writes for a slot that is not connected.
constexpr const char* kEmptyArgument = "@EMPTY@";

// Whether a variable outlives a run: it is declared persistable, or it is a reader.
bool IsPersistable(const proto::VarDesc& variable);

// Whether the schema declares the BLOCK attribute `name` as IsolatedBlock. The operator itself
// prepares such a block.
bool IsIsolated(const OpSchema& schema, const std::string& name);

// Whether the schema declares the BLOCK attribute `name` as LoopBlock: the block runs repeatedly.
bool IsLoop(const OpSchema& schema, const std::string& name);

// The operator that was probably meant: "create_shuffle_reader" for "suffle". "" if there is none
// near enough.
std::string NearestOperator(const std::string& type);

// "no such operator; did you mean 'read'?"
std::string NoSuchOperator(const std::string& type);

// Reports parameters that the schema does not have, parameters given twice or missing, and wrong
// numbers of arguments.
void CheckInputsAndOutputs(const OpSchema& schema, const proto::OpDesc& op,
                           const ReportPart& report);

// The arguments of a slot; none if it is not connected. `part`, if not null, is set to the slot's
// part of the operator, if the operator has the slot.
std::vector<std::string> ArgumentsOf(const ParameterSchema& parameter, bool input,
                                     const proto::OpDesc& op, OperatorPart* part = nullptr);

// What the current exception says against a program. Throws it again if it says nothing against it:
// for a lack of memory, and for a stop. Call inside a catch block only.
std::string CurrentProblem();

// The attributes that the operator may have: those of its schema and those that depend on its other
// attributes. Throws what finding these throws.
std::vector<AttributeSchema> AttributeSchemasOf(const OpSchema& schema, const proto::OpDesc& op);

// The attributes in the types that the schema declares, with defaults filled in. Reports attributes
// that are unknown, given twice, missing, of a wrong type or out of range. Missing and wrong ones
// are left out of the result.
AttributeMap CheckAttributes(const OpSchema& schema, const proto::OpDesc& op,
                             const ReportPart& report);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_CHECK_H_
