// SPDX-License-Identifier: Apache-2.0
// Operators: a schema and a function, no state. One operator is one file in operators/ with one
// REGISTER_OPERATOR line:
//
//   OpSchema Schema() {
//     return OpSchema("Adds a constant to every value.")
//         .Input("X", "float32 values")
//         .Output("Out", "the same dims as X")
//         .Attr({"value", 0.0f, "what is added"})
//         .Infer(Like("Out", "X"));
//   }
//   void Run(OpContext& context) { ... }
//   REGISTER_OPERATOR(add_constant, Schema, Run);
//
// The schema checks programs, fills in defaults, prints --list_ops and the reference.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

// Only names: most operators never look at a message, and the generated header is a large one. An
// operator includes what it looks at.
namespace paddle::framework::proto {
class OpDesc;
class VarDesc;
}  // namespace paddle::framework::proto

namespace millhopper {

namespace proto = paddle::framework::proto;

struct AttributeSchema;
struct RunState;
struct SlotSpec;
class AttributeMap;
class InferContext;
class LoDTensor;
class PreparedBlock;
class Program;
class Scope;
class Variable;

// What kind of variable a parameter takes. kAny is for operators such as assign and print.
enum class VariableKind { kTensor, kReader, kAny };

// Programs create and pass on readers without knowing what they are: whoever defines what a
// variable holds of a reader registers functions that tell whether one is held, and the slots of
// one that is created. Before main.
enum class HeldReader { kNone, kNotCreated, kCreated };
bool RegisterReaderVariables(HeldReader (*look)(const Variable& variable),
                             const std::vector<SlotSpec>& (*slots)(const Variable& variable));
// kNone where nobody has registered.
HeldReader LookForReader(const Variable& variable);
// The slots of a reader that LookForReader says is created.
const std::vector<SlotSpec>& SlotsOfReader(const Variable& variable);

// One named list of arguments of an operator.
struct ParameterSchema {
  std::string name;
  std::string doc;
  VariableKind kind = VariableKind::kTensor;
  bool optional = false;  // may be left out
  bool list = false;      // may have more than one argument
};

// How an operator presents itself.
struct OpSchema {
  explicit OpSchema(std::string text);
  OpSchema(const OpSchema&);
  OpSchema& operator=(const OpSchema&);
  OpSchema(OpSchema&&) noexcept;
  OpSchema& operator=(OpSchema&&) noexcept;
  ~OpSchema();

  OpSchema& Input(std::string name, std::string text);          // exactly one
  OpSchema& OptionalInput(std::string name, std::string text);  // none or one
  OpSchema& Inputs(std::string name, std::string text);         // any number
  OpSchema& Output(std::string name, std::string text);
  OpSchema& OptionalOutput(std::string name, std::string text);
  OpSchema& Outputs(std::string name, std::string text);
  // Changes the kind of the parameter declared last.
  OpSchema& Reader();
  OpSchema& AnyKind();
  OpSchema& Attr(AttributeSchema attribute);

  // The operator does more than write its outputs (prints, reads a reader, writes a file), so it
  // is refused in the block of create_custom_reader.
  OpSchema& SideEffects();
  // The operator creates readers: it belongs to startup programs and is refused in others.
  OpSchema& CreatesReader();
  // The BLOCK attribute `name` is run per record, in parallel, in a scope of its own: its block
  // may write only its own variables and contain no operator with side effects.
  OpSchema& IsolatedBlock(std::string name);
  // The BLOCK attribute `name` is run again and again: its block may create no reader.
  OpSchema& LoopBlock(std::string name);
  // More to check when a program is loaded than parameters, kinds and attributes; `attributes` have
  // been checked. Throws kInvalidArgument with what is wrong; the place in the program is added.
  OpSchema& Check(std::function<void(const proto::OpDesc& op, const AttributeMap& attributes)> f);
  // What is known of the outputs before the operator runs: their dims, types and levels of detail,
  // from those of the inputs (inference.h). Without it nothing is. Throws kInvalidArgument if the
  // operator cannot work with what its inputs are known to be. operators/arguments.h has the rules
  // that many operators share.
  OpSchema& Infer(std::function<void(InferContext& context)> rule);
  // Attributes that depend on the others, such as those of the format of the files that an
  // operator names. Called with what the program gives, unchecked.
  OpSchema& MoreAttrs(std::function<std::vector<AttributeSchema>(const proto::OpDesc& op)> f);

  std::string doc;
  std::vector<ParameterSchema> inputs, outputs;
  std::vector<AttributeSchema> attributes;
  bool side_effects = false;
  bool creates_reader = false;
  std::vector<std::string> isolated_blocks, loop_blocks;
  std::function<void(const proto::OpDesc&, const AttributeMap&)> check;
  std::function<void(InferContext&)> infer;
  std::function<std::vector<AttributeSchema>(const proto::OpDesc&)> more_attributes;

 private:
  ParameterSchema& LastParameter();

  bool last_is_input_ = true;
};

// An operator of a prepared block as its function sees it: arguments bound to variables, attributes
// checked. Parameters and attributes are found by name among the few of the schema, which costs
// nanoseconds. Arguments are valid until the block's scope goes away.
class OpContext {
 public:
  OpContext();
  ~OpContext();
  OpContext(const OpContext&) = delete;
  OpContext& operator=(const OpContext&) = delete;

  // The tensor of an argument. Throws kInvalidArgument naming parameter and variable if it has no
  // value yet or holds something else, and if the parameter has no argument i.
  const LoDTensor& In(std::string_view parameter, size_t i = 0) const {
    return TensorOf(parameter, Argument(inputs_, parameter, i));
  }
  // The tensor to write; it may be the one of an input. See LoDTensor::Allocate and mutable_data.
  LoDTensor* Out(std::string_view parameter, size_t i = 0) {
    return TensorToWrite(&Argument(outputs_, parameter, i));
  }
  // Number of arguments: 0 for an optional parameter that is not connected.
  size_t InCount(std::string_view parameter) const {
    return FindParameter(inputs_, parameter).variables.size();
  }
  size_t OutCount(std::string_view parameter) const {
    return FindParameter(outputs_, parameter).variables.size();
  }
  Variable& InVar(std::string_view parameter, size_t i = 0) const {
    return Argument(inputs_, parameter, i);
  }
  Variable& OutVar(std::string_view parameter, size_t i = 0) {
    return Argument(outputs_, parameter, i);
  }

  // The value of an attribute; T is one of the types of attribute.h.
  template <typename T>
  const T& Attr(std::string_view name) const {
    return ValueOf<T>(name, FindAttribute(name));
  }
  const AttributeMap& attributes() const;
  // Whether the program gives the attribute, rather than its default.
  bool IsGiven(std::string_view attribute) const;

  // The block of a BLOCK attribute, prepared inside the block of this operator: Run it, any number
  // of times, each in a fresh scope. Throws kInternal for an optional one that is not given.
  PreparedBlock& Block(std::string_view attribute);

  // For creation operators: "'files' (open_files, startup.pbtxt:12)", and the declaration of an
  // output variable (null if it has none).
  const std::string& type() const;
  std::string Location() const;
  const proto::VarDesc* OutDesc(std::string_view parameter, size_t i = 0) const;
  const proto::OpDesc& desc() const;
  // The program that this operator is part of, for those that keep one of its blocks.
  const std::shared_ptr<const Program>& program() const;
  // The scope of the block that this operator is in.
  Scope& scope();
  RunState& run();

 private:
  friend class PreparedBlock;
  struct Parameter {
    const ParameterSchema* schema;
    std::vector<Variable*> variables;
  };
  struct NamedAttribute {
    std::string_view name;
    const void* value;  // an Attribute of attribute.h
  };
  struct Bound;

  // Here, so that comparing with the literals that operators name becomes a few instructions.
  const Parameter& FindParameter(const std::vector<Parameter>& parameters,
                                 std::string_view name) const {
    for (const Parameter& parameter : parameters) {
      if (parameter.schema->name == name) return parameter;
    }
    ThrowNoParameter(name);
  }
  Variable& Argument(const std::vector<Parameter>& parameters, std::string_view name,
                     size_t i) const {
    const Parameter& parameter = FindParameter(parameters, name);
    const bool given = i < parameter.variables.size();
    if (__builtin_expect(!given, 0)) ThrowNoArgument(parameters, parameter, i);
    return *parameter.variables[i];
  }
  const void* FindAttribute(std::string_view name) const {
    for (const NamedAttribute& attribute : attributes_) {
      if (attribute.name == name) return attribute.value;
    }
    ThrowNoAttribute(name);
  }
  static const LoDTensor& TensorOf(std::string_view parameter, const Variable& variable);
  static LoDTensor* TensorToWrite(Variable* variable);
  template <typename T>
  static const T& ValueOf(std::string_view name, const void* attribute);
  [[noreturn]] void ThrowNoParameter(std::string_view name) const;
  [[noreturn]] void ThrowNoArgument(const std::vector<Parameter>& parameters,
                                    const Parameter& parameter, size_t i) const;
  [[noreturn]] void ThrowNoAttribute(std::string_view name) const;

  std::vector<Parameter> inputs_, outputs_;
  std::vector<NamedAttribute> attributes_;
  const std::unique_ptr<Bound> bound_;
};

using OpFunction = void (*)(OpContext& context);

struct OperatorDef {
  std::string type;
  OpSchema schema;
  OpFunction run;
};

// Registers an operator. Before main, or while a plugin is loaded; if the type is taken, the
// process ends with a message, or the plugin is refused.
bool RegisterOperator(const std::string& type, OpSchema schema, OpFunction run);
// Null if there is none. Asks the lookups below for types that nobody registered.
const OperatorDef* FindOperator(const std::string& type);
std::vector<std::string> OperatorTypes();  // sorted, with those of the lookups

// A family of operators made on demand, such as create_<format>_file_reader for every format.
struct OperatorLookup {
  std::function<const OperatorDef*(const std::string& type)> find;  // result lives for ever
  std::function<std::vector<std::string>()> types;
};
bool RegisterOperatorLookup(OperatorLookup lookup);

#define REGISTER_OPERATOR(type, schema, run)                \
  [[maybe_unused]] static const bool registered_op_##type = \
      ::millhopper::RegisterOperator(#type, schema(), run)

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_H_
