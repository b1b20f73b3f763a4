// SPDX-License-Identifier: Apache-2.0
// One operator of a program against its schema: what the checker of programs and the executor both
// look at.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_CHECK_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_CHECK_H_

#include <functional>
#include <string>
#include <vector>

#include "framework/program/declarations.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"

namespace millhopper {

// Told what is wrong, and with which part of the operator.
using ReportPart = std::function<void(const OperatorPart& part, const std::string& text)>;

// What the lineage writes where a parameter is not connected.
constexpr const char* kEmptyArgument = "@EMPTY@";

// Whether a variable outlives a run: what says so, and readers in any case.
bool IsPersistable(const proto::VarDesc& variable);

// Whether the BLOCK attribute `name` is one that the operator prepares by itself.
bool IsIsolated(const OpSchema& schema, const std::string& name);

// Whether the block of the BLOCK attribute `name` is run again and again.
bool IsLoop(const OpSchema& schema, const std::string& name);

// "no such operator; did you mean 'read'?"
std::string NoSuchOperator(const std::string& type);

// Reports parameters that the schema does not have, parameters given twice or missing, and wrong
// numbers of arguments.
void CheckInputsAndOutputs(const OpSchema& schema, const proto::OpDesc& op,
                           const ReportPart& report);

// The arguments of a parameter: none if it is not connected. `part`, if not null, is set to where
// the parameter stands.
std::vector<std::string> ArgumentsOf(const ParameterSchema& parameter, bool input,
                                     const proto::OpDesc& op, OperatorPart* part = nullptr);

// The attributes as the schema declares them, defaults filled in, less those that were reported:
// unknown, given twice, missing, of a wrong type or out of range.
AttributeMap CheckAttributes(const OpSchema& schema, const proto::OpDesc& op,
                             const ReportPart& report);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_CHECK_H_
