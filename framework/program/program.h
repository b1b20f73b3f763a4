// SPDX-License-Identifier: Apache-2.0
// Programs: loading them from text or binary, the places of their parts in the file, and checking
// them before anything is run.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_PROGRAM_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_PROGRAM_H_

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "framework/io/files_in_use.h"
#include "framework/program/problems.h"
#include "framework/program/program_text.h"
#include "framework/program/scope.h"
#include "proto/framework.pb.h"

namespace millhopper {

// An operator, or a part of it: `index` is the index of the attribute, input or output in the
// operator's message, and `argument` the index of an argument of that slot (-1: the slot itself).
struct OperatorPart {
  enum Kind { kWhole, kAttribute, kInput, kOutput };
  Kind kind = kWhole;
  int index = 0;
  int argument = -1;
};

enum class ProgramRole { kStartup, kMain };

// What the checker knows of the scope in which a program will run.
struct CheckContext {
  ProgramRole role = ProgramRole::kMain;
  // The programs that will run before this one in the same scope, in order.
  std::vector<const class Program*> before;
  // The scope itself, if it exists already; null otherwise.
  const Scope* scope = nullptr;
};

// An immutable program, shared by everything that runs its blocks.
class Program {
 public:
  // Reads a file; its content says whether it is text or binary. `settings` replaces each ${name}
  // in text; inside quotes the value is escaped. Attribute types that the file omits are inferred.
  // Throws kIo, or kInvalidArgument with the problems of parsing (syntax, unknown fields, limits of
  // limits.h, a ${name} without a value), one per line and at most as many as Check returns. Check
  // checks the operators; this does not.
  static std::shared_ptr<const Program> FromFile(const std::string& path,
                                                 const Settings& settings = {});
  // The same for text or binary in memory; messages name `name` instead of the path.
  static std::shared_ptr<const Program> FromString(const std::string& content,
                                                   const std::string& name,
                                                   const Settings& settings = {});

  const proto::ProgramDesc& desc() const { return desc_; }
  const std::string& name() const { return name_; }
  std::string ToText() const;
  std::string ToBinary() const;

  // Finds everything that can be known to be wrong without running the program: unknown operators,
  // slots and attributes, types and ranges of attributes, undeclared variables, wrong kinds of
  // variables, block references and cycles, readers that no startup program creates, creation in a
  // main program or a loop, side effects in the block of create_custom_reader and, if all else is
  // right, types and dims that do not fit. Returns all problems in the order of the file, or the
  // first kMaxProblems found and how many more there are.
  std::vector<Problem> Check(const CheckContext& context) const;
  // Throws kInvalidArgument with the problems, one per line, if there are any.
  void CheckOrThrow(const CheckContext& context) const;

  // Warnings of the operators of a checked program (OpSchema::Warn), in the order of the operators.
  std::vector<Problem> Warnings() const;

  // The declaration of a variable for use in a block: in the block itself, or in the nearest block
  // around it. Null if there is none.
  const proto::VarDesc* FindDeclaration(int block, const std::string& name) const;
  // The declaration in the block itself (the first, if there are several), or null.
  const proto::VarDesc* FindOwnDeclaration(int block, const std::string& name) const;

  // The place in the file of an operator or of a part of it; line 0 if the program was binary.
  SourcePlace OperatorPlace(int block, int op, const OperatorPart& part = {}) const;
  // "main.pbtxt:30", or "main.pbtxt: operator 3 of block 1" if the program was binary.
  std::string OperatorLocation(int block, int op) const;
  // "main.pbtxt:30:5: operator 'read': <text>".
  Problem OperatorProblem(int block, int op, const OperatorPart& part,
                          const std::string& text) const;
  // "main.pbtxt:7:3: variable 'image': <text>".
  Problem VariableProblem(int block, int variable, const std::string& text) const;

 private:
  friend class ProgramLoader;
  // The places of all parts of the program in its text.
  struct ParameterPlaces {
    SourcePlace self;
    std::vector<SourcePlace> arguments;
  };
  struct OperatorPlaces {
    SourcePlace self;
    std::vector<SourcePlace> attributes;
    std::vector<ParameterPlaces> inputs, outputs;
  };
  struct BlockPlaces {
    SourcePlace self;
    std::vector<SourcePlace> variables;
    std::vector<OperatorPlaces> operators;
  };
  Program() = default;

  std::string name_;
  FilesRead read_{FileRole::kProgram};  // the program's file, which must not be replaced
  proto::ProgramDesc desc_;
  std::vector<BlockPlaces> places_;  // one per block; empty if the program was binary
  // One map per block; its keys point into desc_.
  std::vector<std::unordered_map<std::string_view, const proto::VarDesc*>> declarations_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_PROGRAM_H_
