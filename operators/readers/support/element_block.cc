// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/element_block.h"

#include <google/protobuf/text_format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/memory/memory_limit.h"
#include "framework/program/declarations.h"
#include "framework/program/executor.h"
#include "framework/program/inference.h"
#include "framework/program/operator_check.h"
#include "framework/program/operator_run.h"
#include "framework/program/program.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "operators/readers/support/reader_creation.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// Whether `block` or a block around it, up to and including `outermost`, declares the name.
bool IsDeclaredWithin(const Program& program, int outermost, int block, const std::string& name) {
  while (program.FindOwnDeclaration(block, name) == nullptr) {
    if (block == outermost) return false;
    block = program.desc().blocks(block).parent_idx();
  }
  return true;
}

// Adds the names that `block` and its sub-blocks use but that are declared outside of `outermost`.
// `block` is `outermost` or lies within it.
void AddOuterNames(const Program& program, int outermost, int block, std::set<std::string>* outer) {
  const auto add = [&](const proto::OpDesc::Var& slot) {
    for (const std::string& name : slot.arguments()) {
      if (!IsDeclaredWithin(program, outermost, block, name)) outer->insert(name);
    }
  };
  for (const proto::OpDesc& op : program.desc().blocks(block).ops()) {
    for (const proto::OpDesc::Var& slot : op.inputs()) add(slot);
    for (const proto::OpDesc::Var& slot : op.outputs()) add(slot);
    for (const proto::OpDesc::Attr& attribute : op.attrs()) {
      if (attribute.type() != proto::BLOCK) continue;
      AddOuterNames(program, outermost, attribute.block_idx(), outer);
    }
  }
}

// Removes the names of variables that `block` and its sub-blocks write.
void RemoveWritten(const Program& program, int block, std::set<std::string>* names) {
  for (const proto::OpDesc& op : program.desc().blocks(block).ops()) {
    for (const proto::OpDesc::Var& slot : op.outputs()) {
      for (const std::string& name : slot.arguments()) names->erase(name);
    }
    for (const proto::OpDesc::Attr& attribute : op.attrs()) {
      if (attribute.type() == proto::BLOCK) {
        RemoveWritten(program, attribute.block_idx(), names);
      }
    }
  }
}

void AddText(const google::protobuf::Message& message, std::string* text) {
  google::protobuf::TextFormat::Printer printer;
  printer.SetSingleLineMode(true);
  std::string one;
  if (!printer.PrintToString(message, &one)) {
    Throw(ErrorCode::kInternal, "a part of a block cannot be printed");
  }
  *text += one;
}

// Adds what a block does. Numbers of blocks are left out: they depend on the rest of the program.
void AddBlock(const Program& program, int block, std::string* text) {
  const proto::BlockDesc& desc = program.desc().blocks(block);
  for (const proto::VarDesc& variable : desc.vars()) AddText(variable, text);
  for (const proto::OpDesc& op : desc.ops()) {
    proto::OpDesc without_numbers = op;
    for (proto::OpDesc::Attr& attribute : *without_numbers.mutable_attrs()) {
      if (attribute.type() == proto::BLOCK) attribute.clear_block_idx();
    }
    AddText(without_numbers, text);
    for (const proto::OpDesc::Attr& attribute : op.attrs()) {
      if (attribute.type() != proto::BLOCK) continue;
      *text += "block { ";
      AddBlock(program, attribute.block_idx(), text);
      *text += "} ";
    }
  }
}

void RequireDeclared(bool is_declared, int block, const std::string& name, const char* attribute) {
  Require(is_declared, "attribute '", attribute, "' names '", name, "', but block ", block,
          " does not declare it");
}

const proto::VarDesc& VariableOfBlock(const Program& program, int block, const std::string& name,
                                      const char* attribute) {
  const proto::VarDesc* const variable = program.FindOwnDeclaration(block, name);
  RequireDeclared(variable != nullptr, block, name, attribute);
  return *variable;
}

// The operators of a block that are run as one.
std::vector<OperatorRun> FindRuns(const Program& program, int block, const Strings& sinks) {
  const auto& ops = program.desc().blocks(block).ops();
  std::vector<OperatorRun> runs;
  std::set<size_t> taken;
  for (int i = 0; i < ops.size(); ++i) {
    const auto& rewrite = FindOperator(ops[i].type())->schema.rewrite;
    if (!rewrite) continue;
    std::optional<OperatorRun> run = rewrite(program, block, i, sinks);
    if (!run) continue;
    const bool is_free = std::none_of(run->ops.begin(), run->ops.end(),
                                      [&](size_t op) { return taken.count(op) > 0; });
    if (!is_free) continue;
    taken.insert(run->ops.begin(), run->ops.end());
    runs.push_back(*std::move(run));
  }
  return runs;
}

// Says which operators of the block are run as one.
std::vector<std::string> ExplainBlock(const Program& program, int block, int op) {
  const proto::OpDesc& desc = program.desc().blocks(block).ops(op);
  const AttributeMap attributes = CheckAttributes(
      FindOperator(desc.type())->schema, desc,
      [](const OperatorPart&, const std::string& text) { Throw(ErrorCode::kInternal, text); });
  const int number = attributes.Get<BlockIndex>("sub_block").value;
  std::vector<std::string> lines;
  const proto::BlockDesc& inner = program.desc().blocks(number);
  for (const OperatorRun& run :
       FindRuns(program, number, attributes.Get<Strings>("sink_var_names"))) {
    std::string types;
    for (const size_t step : run.ops) {
      types += StrCat(types.empty() ? "" : ", ", inner.ops(static_cast<int>(step)).type());
    }
    lines.push_back(StrCat("block ", number, ": ", types, " are run as one, from '",
                           Escaped(run.source), "' to '", Escaped(run.result),
                           run.only_sink ? "', written straight into the element" : "'"));
  }
  return lines;
}

}  // namespace

std::map<std::string, LoDTensor> ValuesFromOutside(const Program& program, const Scope& scope,
                                                   int block) {
  std::set<std::string> names;
  AddOuterNames(program, block, block, &names);
  std::map<std::string, LoDTensor> values;
  for (const std::string& name : names) {
    const Variable* variable = scope.Find(name);
    Require(variable != nullptr && variable->has_value(), "variable '", name,
            "', which the block reads, has no value when the reader is created");
    values[name] = variable->Get<LoDTensor>().OnHost();
  }
  return values;
}

OpSchema WithElementBlock(OpSchema schema, const std::string& sinks) {
  const auto check = schema.check;
  return std::move(
      schema
          .Attr(AttributeSchema("sub_block", BlockIndex{},
                                "the block; it may write only its own variables, and reads outer "
                                "ones with the values they had when the reader was created")
                    .Required())
          .Attr(AttributeSchema("source_var_names", Strings{},
                                "variables of the block that take the slots of an element")
                    .Required())
          .Attr(AttributeSchema("sink_var_names", Strings{}, sinks).Required())
          .IsolatedBlock("sub_block")
          .Explain(ExplainBlock)
          .Check([check](const proto::OpDesc& op, const AttributeMap& attributes) {
            if (check) check(op, attributes);
            const auto& sources = attributes.Get<Strings>("source_var_names");
            Require(!sources.empty(), "attribute 'source_var_names' is empty");
            Require(std::set<std::string>(sources.begin(), sources.end()).size() == sources.size(),
                    "attribute 'source_var_names' names a variable twice");
            Require(!attributes.Get<Strings>("sink_var_names").empty(),
                    "attribute 'sink_var_names' is empty");
          }));
}

std::vector<TensorSpec> InferSinks(const InferContext& context) {
  const auto& sources = context.Attr<Strings>("source_var_names");
  const std::optional<std::vector<TensorSpec>>& below = context.InVar("UnderlyingReader").slots;
  Require(!below || below->size() == sources.size(), "attribute 'source_var_names' has ",
          sources.size(), " names, but reader '", Escaped(context.InName("UnderlyingReader")),
          "' has ", below ? below->size() : 0, " slots");
  const auto block = context.Attr<BlockIndex>("sub_block");
  for (const char* const attribute : {"source_var_names", "sink_var_names"}) {
    for (const std::string& name : context.Attr<Strings>(attribute)) {
      RequireDeclared(context.Declares(block, name), block.value, name, attribute);
    }
  }
  return context.Run(block, sources, below.value_or(std::vector<TensorSpec>()),
                     context.Attr<Strings>("sink_var_names"));
}

// What a worker thread needs to prepare its own block. It holds copies, because the thread may do
// so long after the run that created the reader has ended.
struct ElementBlock::Recipe {
  std::shared_ptr<const Program> program;
  int block = 0;
  RunState run;
  std::map<std::string, LoDTensor> outer;  // variables as they were when the reader was created
  Strings sources, sinks;
  // Operators that are run as one. If `sink` is set, the result is written straight into the place
  // of that sink.
  struct Fused {
    OperatorRun run;
    std::optional<size_t> sink;
  };
  std::vector<Fused> fused;
};

// The block, prepared with its own variables. One thread at a time may use it.
class ElementBlock::Private {
 public:
  explicit Private(const Recipe& recipe)
      : run_(recipe.run), block_(recipe.program, recipe.block, Outer(recipe), &run_) {
    for (const std::string& name : recipe.sources) sources_.push_back(block_.scope().Find(name));
    for (const std::string& name : recipe.sinks) sinks_.push_back(block_.scope().Find(name));
    for (const Recipe::Fused& fused : recipe.fused) {
      fused_.push_back(
          std::make_unique<Fused>(Fused{fused.run.prepare(&block_.scope(), &run_), fused.sink}));
      block_.Replace(fused.run, fused_.back()->operators.get(), &fused_.back()->done);
    }
  }

  void Run(const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out,
           Rows* rows) {
    for (const auto& fused : fused_) {
      if (fused->sink) fused->operators->AppendTo(rows, *fused->sink);
    }
    run_.steps = 0;
    run_.record = &id;
    block_.Refresh();
    for (size_t i = 0; i < sources_.size(); ++i) {
      auto* const source = sources_[i]->GetMutable<LoDTensor>();
      Lod lod = std::move(*source->mutable_lod_unchecked());
      *source = std::move((*in)[i]);
      // The next element's levels of detail use the memory of the last one's.
      *(*in)[i].mutable_lod_unchecked() = std::move(lod);
    }
    block_.RunOperators();
    out->resize(sinks_.size());
    for (size_t i = 0; i < sinks_.size(); ++i) {
      if (rows != nullptr && IsAppended(i)) {
        (*out)[i].Clear();
      } else {
        (*out)[i] = sinks_[i]->Get<LoDTensor>();
      }
    }
    // Otherwise every idle block of the pool would keep an element in memory.
    if (!MemoryLimit::is_set()) return;
    block_.Clear();
    for (const auto& fused : fused_) fused->operators->Clear();
  }

 private:
  Scope* Outer(const Recipe& recipe) {
    for (const auto& [name, tensor] : recipe.outer) {
      *outer_.Var(name)->GetMutable<LoDTensor>() = tensor;
    }
    return &outer_;
  }

  struct Fused {
    std::unique_ptr<FusedOperators> operators;
    std::optional<size_t> sink;
    bool done = false;  // whether the operators were run as one for the current element
  };

  bool IsAppended(size_t sink) const {
    return std::any_of(fused_.begin(), fused_.end(),
                       [&](const auto& fused) { return fused->done && fused->sink == sink; });
  }

  RunState run_;
  Scope outer_;
  PreparedBlock block_;
  std::vector<Variable*> sources_, sinks_;
  std::vector<std::unique_ptr<Fused>> fused_;
};

// Holds prepared blocks. It makes a new one only if threads are using all others. Thread-safe.
class ElementBlock::Pool {
 public:
  explicit Pool(Recipe recipe) : recipe_(std::move(recipe)) { Give(Take()); }

  // A block whose run has thrown is not used again.
  void Run(const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out,
           Rows* rows) {
    std::unique_ptr<Private> block = Take();
    block->Run(id, in, out, rows);
    Give(std::move(block));
  }

 private:
  std::unique_ptr<Private> Take() {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Private> block = std::move(idle_.back());
        idle_.pop_back();
        return block;
      }
    }
    return std::make_unique<Private>(recipe_);
  }

  void Give(std::unique_ptr<Private> block) {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(block));
  }

  const Recipe recipe_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Private>> idle_;
};

std::vector<SlotSpec> ElementBlock::SinkSlots(const Recipe& recipe, const ReaderBase& below) {
  std::map<std::string, TensorSpec> given;
  for (const auto& [name, tensor] : recipe.outer) given[name] = SpecOf(tensor);
  for (size_t i = 0; i < recipe.sources.size(); ++i) {
    given[recipe.sources[i]] = SpecOf(below.slots()[i]);
  }
  const std::vector<TensorSpec> made =
      InferBlock(*recipe.program, recipe.block, given, recipe.sinks);
  std::vector<SlotSpec> slots;
  // What holds texts and is not written to still does at the end.
  std::set<std::string> texts;
  for (size_t i = 0; i < recipe.sources.size(); ++i) {
    if (below.slots()[i].text) texts.insert(recipe.sources[i]);
  }
  RemoveWritten(*recipe.program, recipe.block, &texts);
  for (size_t i = 0; i < recipe.sinks.size(); ++i) {
    const std::string& name = recipe.sinks[i];
    const proto::VarDesc& sink =
        VariableOfBlock(*recipe.program, recipe.block, name, "sink_var_names");
    if (sink.type().has_lod_tensor()) {
      slots.push_back(DeclaredTensor(sink.type().lod_tensor()));
      slots.back().text = texts.count(name) > 0;
      Require(MayBeSame(made[i], SpecOf(slots.back())), "the sink '", name, "' is declared ",
              ToString(slots.back()), ", but the block makes ", ToString(made[i]));
      continue;
    }
    const std::optional<SlotSpec> slot = SlotOf(made[i]);
    Require(
        slot.has_value(), "the sink '", name,
        "' must declare its type { type: LOD_TENSOR lod_tensor { ... } }: what is known of it "
        "before it runs is ",
        ToString(made[i]),
        "; where a condition or a choice (random_apply, random_choice) decides its type or number "
        "of dims, convert it in one way (cast), or change it after the choice");
    slots.push_back(*slot);
    slots.back().text = texts.count(name) > 0;
  }
  CheckSlots(slots);
  return slots;
}

std::string ElementBlock::Describe(const Recipe& recipe) {
  std::string text = StrCat("seed: ", recipe.run.seed, " ");
  for (const std::string& name : recipe.sources) text += StrCat("source: \"", Escaped(name), "\" ");
  for (const std::string& name : recipe.sinks) text += StrCat("sink: \"", Escaped(name), "\" ");
  AddBlock(*recipe.program, recipe.block, &text);
  return text;
}

ElementBlock::ElementBlock(OpContext& context, const ReaderBase& below) {
  Recipe recipe;
  recipe.program = context.program();
  recipe.block = context.Attr<BlockIndex>("sub_block").value;
  recipe.run = context.run();
  recipe.run.place = Place();  // elements come from the host and stay there
  recipe.run.watcher = nullptr;
  recipe.sources = context.Attr<Strings>("source_var_names");
  recipe.sinks = context.Attr<Strings>("sink_var_names");
  for (const std::string& name : recipe.sources) {
    VariableOfBlock(*recipe.program, recipe.block, name, "source_var_names");
  }
  recipe.outer = ValuesFromOutside(*context.program(), context.scope(), recipe.block);
  Require(below.slots().size() == recipe.sources.size(), "attribute 'source_var_names' has ",
          recipe.sources.size(), " names, but ", below.origin(), " has ", below.slots().size(),
          " slots");
  sinks_ = SinkSlots(recipe, below);
  description_ = Describe(recipe);
  for (OperatorRun& run : FindRuns(*recipe.program, recipe.block, recipe.sinks)) {
    std::optional<size_t> sink;
    for (size_t i = 0; i < sinks_.size(); ++i) {
      if (recipe.sinks[i] == run.result && sinks_[i].lod_level == 0 && run.only_sink) sink = i;
    }
    recipe.fused.push_back({std::move(run), sink});
  }
  pool_ = std::make_unique<Pool>(std::move(recipe));
}

ElementBlock::~ElementBlock() = default;

void ElementBlock::Run(const RecordId& id, std::vector<LoDTensor>* in, std::vector<LoDTensor>* out,
                       Rows* rows) const {
  pool_->Run(id, in, out, rows);
}

}  // namespace millhopper
