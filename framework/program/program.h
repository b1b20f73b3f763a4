// SPDX-License-Identifier: Apache-2.0
// Programs: loading them from text or binary, where everything in them was written, and checking
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

namespace proto = paddle::framework::proto;

// An operator, or a part of it: the number of an attribute, input or output in its message, and of
// an argument of that parameter.
struct OperatorPart {
  enum Kind { kWhole, kAttribute, kInput, kOutput };
  Kind kind = kWhole;
  int index = 0;
  int argument = -1;
};

enum class ProgramRole { kStartup, kMain };

// What is known of the world when a program is checked.
struct CheckContext {
  ProgramRole role = ProgramRole::kMain;
  // Programs that will have been run before in the same scope, in order.
  std::vector<const class Program*> before;
  // Or the scope itself, if it exists already; may be null.
  const Scope* scope = nullptr;
};

// An immutable program. Shared by those that run its blocks.
class Program {
 public:
  // Reads a file: text or binary by its content. `settings` replaces each ${name} in text; inside
  // quotes the value is escaped. Attribute types are inferred where left out. Throws kIo, or
  // kInvalidArgument with all problems of parsing (syntax, unknown fields, limits of limits.h,
  // a ${name} without a value), one a line and no more than Check gives. Does not check operators;
  // Check does.
  static std::shared_ptr<const Program> FromFile(const std::string& path,
                                                 const Settings& settings = {});
  // The same for text or binary in memory; `name` takes the place of the path in messages.
  static std::shared_ptr<const Program> FromString(const std::string& content,
                                                   const std::string& name,
                                                   const Settings& settings = {});

  const proto::ProgramDesc& desc() const { return desc_; }
  const std::string& name() const { return name_; }
  std::string ToText() const;
  std::string ToBinary() const;

  // Everything that can be known to be wrong without running: unknown operators, parameters and
  // attributes, their types and ranges, variables that nobody declares, kinds of variables, block
  // references and cycles, readers that no startup program creates, creation in a main program,
  // impure blocks of create_custom_reader. All problems, in the order of the file, or the first
  // kMaxProblems that are found and how many more there are.
  std::vector<Problem> Check(const CheckContext& context) const;
  // Throws kInvalidArgument with the problems, one a line, if there are any.
  void CheckOrThrow(const CheckContext& context) const;

  // The declaration of a variable as a block sees it: its own, or that of the nearest block around
  // it. Null if there is none.
  const proto::VarDesc* FindDeclaration(int block, const std::string& name) const;
  // The block's own (the first, should there be several), or null.
  const proto::VarDesc* FindOwnDeclaration(int block, const std::string& name) const;

  // Where an operator stands, or a part of one.
  SourcePlace OperatorPlace(int block, int op, const OperatorPart& part = {}) const;
  // "main.pbtxt:30", or "main.pbtxt: operator 3 of block 1" without lines.
  std::string OperatorLocation(int block, int op) const;
  // "main.pbtxt:30:5: operator 'read': <text>".
  Problem OperatorProblem(int block, int op, const OperatorPart& part,
                          const std::string& text) const;
  // "main.pbtxt:7:3: variable 'image': <text>".
  Problem VariableProblem(int block, int variable, const std::string& text) const;

 private:
  friend class ProgramLoader;
  // Where everything stands, as ParseInfoTree knew it.
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
  FilesRead read_{FileRole::kProgram};  // the file that it was read from
  proto::ProgramDesc desc_;
  std::vector<BlockPlaces> places_;  // one a block; empty if the program was binary
  // One a block; the names are those in desc_.
  std::vector<std::unordered_map<std::string_view, const proto::VarDesc*>> declarations_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_PROGRAM_H_
