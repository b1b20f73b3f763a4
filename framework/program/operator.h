// SPDX-License-Identifier: Apache-2.0
// An operator is a schema and a function, without state. Each is one file in operators/ with one
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
// Millhopper uses the schema to check programs, to fill in defaults, and to print --list_ops and
// the reference.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Only declared here: most operators never read a message, and the generated header is large. An
// operator that reads a message includes proto/framework.pb.h itself.
namespace millhopper::proto {
class OpDesc;
class VarDesc;
}  // namespace millhopper::proto

namespace millhopper {

struct AttributeSchema;
struct OperatorRun;
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

// Programs create and pass readers, but code in this folder does not know the type that a variable
// holds for a reader. The file that defines the type registers two functions before main: `look`
// says whether a variable holds a reader, and `slots` gives the slots of a created one.
enum class HeldReader { kNone, kNotCreated, kCreated };
bool RegisterReaderVariables(HeldReader (*look)(const Variable& variable),
                             const std::vector<SlotSpec>& (*slots)(const Variable& variable));
// kNone if no functions are registered.
HeldReader LookForReader(const Variable& variable);
// The slots of the reader in a variable for which LookForReader returns kCreated.
const std::vector<SlotSpec>& SlotsOfReader(const Variable& variable);

// How a created reader orders its elements from pass to pass.
struct PassOrder {
  enum Kind {
    kAsBelow,  // as the readers below do; also for a reader without readers below
    kSame,     // every pass is the same
    kDiffers,  // each pass has another order
  };

  Kind kind = kAsBelow;
  std::string remedy;  // of kDiffers: how to keep the order, such as "give it reshuffle: false"
};

// How the elements of a created reader are put together from those of the readers that it stands
// on, for whoever shows them.
enum class Composition {
  kOther,       // otherwise, or from none
  kSameSlots,   // of one reader, as they are or several as one: a slot means what it does there
  kByTurns,     // of several readers by turns, so that each has a share
  kSideBySide,  // the slots of one reader, then those of the next
  kPackedRows,  // documents in rows; in the last slot but one, 0 is the padding of a row
};

// One named list of arguments of an operator.
struct ParameterSchema {
  std::string name;
  std::string doc;
  VariableKind kind = VariableKind::kTensor;
  bool optional = false;  // may be left out
  bool list = false;      // may have more than one argument
};

// What an operator declares about itself.
struct OpSchema {
  explicit OpSchema(std::string text);
  OpSchema(const OpSchema&);
  OpSchema& operator=(const OpSchema&);
  OpSchema(OpSchema&&) noexcept;
  OpSchema& operator=(OpSchema&&) noexcept;
  ~OpSchema();

  OpSchema& Input(std::string name, std::string text);          // exactly one argument
  OpSchema& OptionalInput(std::string name, std::string text);  // none or one
  OpSchema& Inputs(std::string name, std::string text);         // any number
  OpSchema& Output(std::string name, std::string text);
  OpSchema& OptionalOutput(std::string name, std::string text);
  OpSchema& Outputs(std::string name, std::string text);
  // Changes the kind of the parameter declared last.
  OpSchema& Reader();
  OpSchema& AnyKind();
  // The list declared last has at least one argument.
  OpSchema& OneOrMore();
  OpSchema& Attr(AttributeSchema attribute);

  // The operator does more than write its outputs (prints, reads a reader, writes a file), so it
  // is refused in the block of create_custom_reader.
  OpSchema& SideEffects();
  // The operator creates readers: it belongs to startup programs and is refused in others.
  OpSchema& CreatesReader();
  // The operator runs the block of the BLOCK attribute `name` for each record, in parallel, in its
  // own scope. So the block may write only its own variables and may contain no operator with side
  // effects.
  OpSchema& IsolatedBlock(std::string name);
  // The operator runs the block of the BLOCK attribute `name` repeatedly, so the block may create
  // no reader.
  OpSchema& LoopBlock(std::string name);
  // `f` checks more than slots, kinds and attributes, which are correct when it is called. It
  // throws kInvalidArgument with what is wrong; the checker of programs adds the place.
  OpSchema& Check(std::function<void(const proto::OpDesc& op, const AttributeMap& attributes)> f);
  // `rule` derives the dims, types and levels of detail of the outputs from those of the inputs,
  // before the operator runs (infer_context.h); without a rule they are unknown. A rule throws
  // kInvalidArgument if the operator cannot work with such inputs. operators/support/arguments.h
  // has the rules that many operators share.
  OpSchema& Infer(std::function<void(InferContext& context)> rule);
  // `f` returns attributes that depend on other attributes, such as those of the file format that
  // an attribute names. It gets the operator as the program gives it, unchecked.
  OpSchema& MoreAttrs(std::function<std::vector<AttributeSchema>(const proto::OpDesc& op)> f);

  // `f` says what running the operator does that its program does not show, one line each, such as
  // which operators of its block are run as one. It gets an operator of a checked program.
  OpSchema& Explain(
      std::function<std::vector<std::string>(const Program& program, int block, int op)> f);
  // `f` finds operators that can be run as one, of which this one, which has the number `op`, is
  // the first, in a block of a checked program that is run for every element of a reader. `sinks`
  // are variables of the block that are read after it has run. Nothing if there are none.
  OpSchema& Rewrite(
      std::function<std::optional<OperatorRun>(const Program& program, int block, int op,
                                               const std::vector<std::string>& sinks)>
          f);

  // What an operator that creates a reader says of the reader's elements:
  // They come from objects of the process that runs the program, where nobody sees them change. The
  // attributes `numbers` are the numbers of such objects, which are others in each process.
  OpSchema& FedByProcess(std::vector<std::string> numbers = {});
  // `f` says, as text, what they depend on that is neither in the attributes nor in files that
  // these name (AttributeSchema::NamesRecords), such as what the environment has.
  OpSchema& DependsOn(std::function<std::string(const AttributeMap& attributes)> f);
  OpSchema& Composes(Composition how);
  // On readers with equal lanes, the created reader has them, too: it is made once for each, if
  // `f` says so or is null. `shared` is whether create_shard_reader has shared the lanes.
  OpSchema& LaneWise(std::function<bool(const AttributeMap& attributes, bool shared)> f = nullptr);
  // It always has them, and what it makes of an element depends on nothing but this element.
  OpSchema& ByElement();
  // `f` names the slots that the created reader has after those of the reader below, for Python,
  // where slots have names. In a name, `*` stands for the name of a slot with one level of detail:
  // "*_length" is one slot for each of them.
  OpSchema& AddsSlots(std::function<std::vector<std::string>(const AttributeMap& attributes)> f);
  // `f` says how the passes of the reader that the operator creates are ordered; kAsBelow without.
  OpSchema& Order(std::function<PassOrder(const AttributeMap& attributes)> f);
  // `f` says what an operator of a checked program does that can hardly be meant; "" if nothing.
  OpSchema& Warn(std::function<std::string(const Program& program, int block, int op)> f);

  std::string doc;
  std::vector<ParameterSchema> inputs, outputs;
  std::vector<AttributeSchema> attributes;
  bool side_effects = false;
  bool creates_reader = false;
  std::vector<std::string> isolated_blocks, loop_blocks;
  std::function<void(const proto::OpDesc&, const AttributeMap&)> check;
  std::function<void(InferContext&)> infer;
  std::function<std::vector<AttributeSchema>(const proto::OpDesc&)> more_attributes;
  std::function<std::vector<std::string>(const Program&, int, int)> explain;
  std::function<std::optional<OperatorRun>(const Program&, int, int,
                                           const std::vector<std::string>&)>
      rewrite;
  bool fed_by_process = false;
  std::vector<std::string> process_numbers;
  std::function<std::string(const AttributeMap&)> depends_on;
  Composition composition = Composition::kOther;
  std::function<bool(const AttributeMap&, bool)> lane_wise;  // null: never
  bool by_element = false;
  std::function<std::vector<std::string>(const AttributeMap&)> adds_slots;
  std::function<PassOrder(const AttributeMap&)> order;
  std::function<std::string(const Program&, int, int)> warn;

 private:
  ParameterSchema& LastParameter();

  bool last_is_input_ = true;
};

// What the function of an operator gets: arguments bound to variables, and checked attributes. A
// slot or attribute is found by comparing its name with the few of the schema, which costs
// nanoseconds. Arguments are valid as long as the block's scope.
class OpContext {
 public:
  OpContext();
  ~OpContext();
  OpContext(const OpContext&) = delete;
  OpContext& operator=(const OpContext&) = delete;

  // The tensor of an argument. Throws kInvalidArgument, naming slot and variable, if the variable
  // has no value yet or one of another type, and if the slot has no argument i.
  const LoDTensor& In(std::string_view parameter, size_t i = 0) const {
    const BoundArgument& argument = Argument(inputs_, parameter, i);
    if (__builtin_expect(!*argument.holds_tensor, 0)) {
      ThrowNoTensor(parameter, *argument.variable);
    }
    return *argument.tensor;
  }
  // The tensor to write; an input may be the same tensor. See LoDTensor::Allocate and mutable_data.
  LoDTensor* Out(std::string_view parameter, size_t i = 0) {
    const BoundArgument& argument = Argument(outputs_, parameter, i);
    return *argument.holds_tensor ? argument.tensor : MakeTensor(argument.variable);
  }
  // The number of arguments: 0 for an optional slot that is not connected.
  size_t InCount(std::string_view parameter) const {
    return FindParameter(inputs_, parameter).arguments.size();
  }
  size_t OutCount(std::string_view parameter) const {
    return FindParameter(outputs_, parameter).arguments.size();
  }
  Variable& InVar(std::string_view parameter, size_t i = 0) const {
    return *Argument(inputs_, parameter, i).variable;
  }
  Variable& OutVar(std::string_view parameter, size_t i = 0) {
    return *Argument(outputs_, parameter, i).variable;
  }

  // The value of an attribute; T is one of the types of attribute.h.
  template <typename T>
  const T& Attr(std::string_view name) const {
    return ValueOf<T>(name, FindAttribute(name));
  }
  const AttributeMap& attributes() const;
  // Whether the program gives the attribute; otherwise it has its default.
  bool IsGiven(std::string_view attribute) const;

  // The block of a BLOCK attribute, prepared inside the block of this operator. Its Run may be
  // called any number of times. Throws kInternal if the attribute is optional and not given, or
  // isolated.
  PreparedBlock& Block(std::string_view attribute);

  const std::string& type() const;
  // What names the first output and the operator in errors:
  // "'files' (open_files, startup.pbtxt:12)".
  std::string Location() const;
  // The declaration of the variable of an output; null if it has none.
  const proto::VarDesc* OutDesc(std::string_view parameter, size_t i = 0) const;
  const proto::OpDesc& desc() const;
  // The program of this operator, for operators that keep one of its blocks after the run.
  const std::shared_ptr<const Program>& program() const;
  // The scope of the block that this operator is in.
  Scope& scope();
  RunState& run();

 private:
  friend class PreparedBlock;
  // A variable, and where it keeps its tensor. In and Out are called for every run of an operator,
  // and must not cost a call into another file.
  struct BoundArgument {
    Variable* variable;
    LoDTensor* tensor;
    const bool* holds_tensor;
  };
  struct Parameter {
    const ParameterSchema* schema;
    std::vector<BoundArgument> arguments;
  };
  struct NamedAttribute {
    std::string_view name;
    const void* value;  // an Attribute of attribute.h
  };
  struct Bound;

  // Defined in the header so that comparing with a literal name compiles to a few instructions.
  const Parameter& FindParameter(const std::vector<Parameter>& parameters,
                                 std::string_view name) const {
    for (const Parameter& parameter : parameters) {
      if (parameter.schema->name == name) return parameter;
    }
    ThrowNoParameter(name);
  }
  const BoundArgument& Argument(const std::vector<Parameter>& parameters, std::string_view name,
                                size_t i) const {
    const Parameter& parameter = FindParameter(parameters, name);
    const bool given = i < parameter.arguments.size();
    if (__builtin_expect(!given, 0)) ThrowNoArgument(parameters, parameter, i);
    return parameter.arguments[i];
  }
  const void* FindAttribute(std::string_view name) const {
    for (const NamedAttribute& attribute : attributes_) {
      if (attribute.name == name) return attribute.value;
    }
    ThrowNoAttribute(name);
  }
  static BoundArgument Bind(Variable* variable);
  // Gives a variable a tensor in place of what it holds.
  static LoDTensor* MakeTensor(Variable* variable);
  template <typename T>
  static const T& ValueOf(std::string_view name, const void* attribute);
  [[noreturn]] void ThrowNoParameter(std::string_view name) const;
  [[noreturn]] void ThrowNoArgument(const std::vector<Parameter>& parameters,
                                    const Parameter& parameter, size_t i) const;
  [[noreturn]] void ThrowNoAttribute(std::string_view name) const;
  [[noreturn]] static void ThrowNoTensor(std::string_view parameter, const Variable& variable);

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

// Registers an operator, before main or while a plugin is loaded. If the type is taken, the process
// ends with a message or, while a plugin is loaded, the plugin is refused.
bool RegisterOperator(const std::string& type, OpSchema schema, OpFunction run);
// The operator of this type: a registered one, or else one of the lookups below. Null if there is
// none.
const OperatorDef* FindOperator(const std::string& type);
std::vector<std::string> OperatorTypes();  // sorted, including those of the lookups

// A family of operators made on demand, such as create_<format>_file_reader for every format.
struct OperatorLookup {
  std::function<const OperatorDef*(const std::string& type)> find;  // the result is never deleted
  std::function<std::vector<std::string>()> types;
};
bool RegisterOperatorLookup(OperatorLookup lookup);

#define REGISTER_OPERATOR(type, schema, run)                \
  [[maybe_unused]] static const bool registered_op_##type = \
      ::millhopper::RegisterOperator(#type, schema(), run)

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_OPERATOR_H_
