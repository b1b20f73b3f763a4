// SPDX-License-Identifier: Apache-2.0
// Checks a whole program before anything is run, and reports all problems.
#include <algorithm>
#include <climits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/program/declarations.h"
#include "framework/program/infer_context.h"
#include "framework/program/inference.h"
#include "framework/program/operator.h"
#include "framework/program/operator_check.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

// After this many problems the checker suggests no names: a suggestion takes a comparison with
// every name, and so many problems are no typing errors.
constexpr size_t kMostSuggestions = 100;
constexpr int kOutside = -1;  // the "block" of variables that are declared outside the program

std::vector<int> BlocksOf(const proto::OpDesc::Attr& attribute) {
  if (attribute.type() == proto::BLOCK) return {attribute.block_idx()};
  if (attribute.type() != proto::BLOCKS) return {};
  return {attribute.blocks_idx().begin(), attribute.blocks_idx().end()};
}

// What a name in an operator refers to: a declaration, or a variable that exists already, or
// nothing.
struct Meaning {
  const proto::VarDesc* declared = nullptr;
  const Variable* existing = nullptr;

  bool found() const { return declared != nullptr || existing != nullptr; }
  bool MayBe(VariableKind kind) const {
    if (kind == VariableKind::kAny) return true;
    if (declared != nullptr) {
      const proto::VarType::Type type = declared->type().type();
      return IsDataType(type) ||  // CheckType reports it
             type == (kind == VariableKind::kReader ? proto::VarType::READER
                                                    : proto::VarType::LOD_TENSOR);
    }
    return !existing->has_value() ||
           (kind == VariableKind::kReader ? LookForReader(*existing) != HeldReader::kNone
                                          : existing->Holds<LoDTensor>());
  }
};

}  // namespace

class ProgramChecker {
 public:
  ProgramChecker(const Program& program, const CheckContext& context)
      : program_(program), context_(context), desc_(program.desc()), problems_(program.name()) {
    for (const Program* before : context.before) LearnFrom(*before);
  }

  std::vector<Problem> Check() {
    for (int block = 0; block < desc_.blocks_size(); ++block) CheckVariables(block);
    ForEachOperator([this](int block, int op) { CheckOperator(block, op); });
    ForEachOperator([this](int block, int op) { CheckBlockReferences(block, op); });
    ForEachOperator([this](int block, int op) { CheckIsolatedBlocks(block, op); });
    ForEachOperator([this](int block, int op) { CheckLoops(block, op); });
    CheckReaders(0);
    if (problems_.count() == 0) CheckShapes();
    return problems_.InOrder();
  }

 private:
  const proto::OpDesc& Op(int block, int op) const { return desc_.blocks(block).ops(op); }

  template <typename Function>
  void ForEachOperator(const Function& function) const {
    for (int block = 0; block < desc_.blocks_size(); ++block) {
      for (int op = 0; op < desc_.blocks(block).ops_size(); ++op) function(block, op);
    }
  }

  void Report(int block, int op, const OperatorPart& part, const std::string& text) {
    if (problems_.full()) {
      problems_.AddUnread();
    } else {
      problems_.Add(program_.OperatorProblem(block, op, part, text), block, op);
    }
  }

  // Notes what an earlier program leaves in the scope: persistable variables and readers.
  void LearnFrom(const Program& before) {
    for (const proto::BlockDesc& block : before.desc().blocks()) {
      for (const proto::VarDesc& variable : block.vars()) {
        if (IsPersistable(variable)) inherited_[variable.name()] = &variable;
      }
      for (const proto::OpDesc& op : block.ops()) NoteCreated(op);
    }
    if (before.desc().blocks_size() == 0) return;
    ProgramInference inference = Inference(before, [](int, int, const std::string&) {});
    inference.Follow(0);
    for (const std::string& name : created_) slots_[name] = inference.Find(0, name).slots;
  }

  ProgramInference Inference(const Program& program, ProgramInference::Report report) const {
    return ProgramInference(
        program, 0, [this](const std::string& name) { return SpecOfOutside(name); },
        std::move(report));
  }

  // What is known of a variable that an earlier program leaves: the slots if it is a reader. Of a
  // tensor nothing is known, because it may be given any value before this program runs.
  VariableSpec SpecOfOutside(const std::string& name) const {
    const auto created = slots_.find(name);
    if (created != slots_.end()) return {{}, created->second};
    const Variable* existing = context_.scope == nullptr ? nullptr : context_.scope->Find(name);
    if (existing == nullptr || LookForReader(*existing) != HeldReader::kCreated) return {};
    VariableSpec spec;
    spec.slots.emplace();
    for (const SlotSpec& slot : SlotsOfReader(*existing)) spec.slots->push_back(SpecOf(slot));
    return spec;
  }

  // Reports dims and types that do not fit, as far as they are known before the run.
  void CheckShapes() {
    Inference(program_, [this](int block, int op, const std::string& problem) {
      Report(block, op, {}, problem);
    }).Follow(0);
  }

  // Notes the readers that an operator creates. An operator of unknown type may create any reader,
  // so all its outputs count.
  void NoteCreated(const proto::OpDesc& op) {
    const OperatorDef* def = FindOperator(op.type());
    if (def != nullptr && !def->schema.creates_reader) return;
    for (const auto& parameter : op.outputs()) {
      created_.insert(parameter.arguments().begin(), parameter.arguments().end());
    }
  }

  void CheckVariables(int block) {
    for (int i = 0; i < desc_.blocks(block).vars_size(); ++i) {
      const proto::VarDesc& variable = desc_.blocks(block).vars(i);
      const auto report = [&](const std::string& text) {
        problems_.Add(program_.VariableProblem(block, i, text), block, -1);
      };
      if (variable.name().empty()) report("a name is needed");
      if (program_.FindOwnDeclaration(block, variable.name()) != &variable) {
        report(StrCat("declared twice in block ", block));
      }
      CheckType(variable, report);
    }
  }

  template <typename ReportText>
  void CheckType(const proto::VarDesc& variable, const ReportText& report) const {
    const proto::VarType& type = variable.type();
    const std::string name = proto::VarType::Type_Name(type.type());
    const bool is_reader = type.type() == proto::VarType::READER;
    if (IsDataType(type.type())) {
      report(
          StrCat("type ", name, " is an element type; a variable is a LOD_TENSOR, a READER ..."));
    } else if (is_reader && type.has_lod_tensor()) {
      report("its type is READER, so its slots stand in 'reader', not in 'lod_tensor'");
    } else if (type.type() == proto::VarType::LOD_TENSOR && type.has_reader()) {
      report("its type is LOD_TENSOR, but 'reader' is given");
    } else {
      try {
        if (is_reader) DeclaredSlots(variable);
        if (type.has_lod_tensor()) DeclaredTensor(type.lod_tensor());
      } catch (const Error& error) {
        report(error.message());
      }
    }
  }

  Meaning Find(int block, const std::string& name) const {
    const proto::VarDesc* const declared = program_.FindDeclaration(block, name);
    if (declared != nullptr) return {declared, nullptr};
    const auto inherited = inherited_.find(name);
    if (inherited != inherited_.end()) return {inherited->second, nullptr};
    return {nullptr, context_.scope == nullptr ? nullptr : context_.scope->Find(name)};
  }

  std::string NotDeclared(int block, const std::string& name) {
    std::string text = StrCat("variable '", Escaped(name), "' is not declared");
    if (problems_.count() >= kMostSuggestions) return text;
    if (names_.empty()) ListNames();
    const auto same = std::lower_bound(names_.begin(), names_.end(), std::make_pair(name, INT_MIN));
    if (same != names_.end() && same->first == name) {
      return StrCat(text, " here (block ", same->second, " has its own variable of this name)");
    }
    std::set<int> visible = {kOutside};
    for (; block >= 0; block = desc_.blocks(block).parent_idx()) visible.insert(block);
    WordSearch search(name);
    for (const auto& [candidate, home] : names_) {
      if (visible.count(home) > 0) search.Try(candidate);
    }
    return text + DidYouMean(search.found());
  }

  // Sorts the names, because WordSearch chooses the first of several that are equally near.
  void ListNames() {
    for (int block = 0; block < desc_.blocks_size(); ++block) {
      for (const proto::VarDesc& variable : desc_.blocks(block).vars()) {
        names_.emplace_back(variable.name(), block);
      }
    }
    for (const auto& entry : inherited_) names_.emplace_back(entry.first, kOutside);
    for (const Scope* scope = context_.scope; scope != nullptr; scope = scope->parent()) {
      for (std::string& existing : scope->LocalNames()) {
        names_.emplace_back(std::move(existing), kOutside);
      }
    }
    std::sort(names_.begin(), names_.end());
  }

  void CheckOperator(int block, int op) {
    const proto::OpDesc& desc = Op(block, op);
    const size_t before = problems_.count();
    const ReportPart report = [this, block, op](const OperatorPart& part, const std::string& text) {
      Report(block, op, part, text);
    };
    const OperatorDef* def = FindOperator(desc.type());
    if (def == nullptr) {
      report({}, problems_.full() ? "" : NoSuchOperator(desc.type()));
      return;
    }
    const OpSchema& schema = def->schema;
    if (schema.creates_reader && context_.role == ProgramRole::kMain) {
      report({}, "creates a reader, which belongs in a startup program");
    }
    CheckInputsAndOutputs(schema, desc, report);
    for (const ParameterSchema& input : schema.inputs) CheckArguments(block, op, input, true);
    for (const ParameterSchema& output : schema.outputs) CheckArguments(block, op, output, false);
    CheckWriters(schema, block, op);
    const AttributeMap attributes = CheckAttributes(schema, desc, report);
    if (!schema.check || problems_.count() > before) return;
    try {
      schema.check(desc, attributes);
    } catch (...) {
      report({}, CurrentProblem());
    }
  }

  void CheckArguments(int block, int op, const ParameterSchema& parameter, bool input) {
    OperatorPart part;
    for (const std::string& name : ArgumentsOf(parameter, input, Op(block, op), &part)) {
      ++part.argument;
      const Meaning meaning = Find(block, name);
      const auto report = [&](const std::string& text) {
        Report(block, op, part,
               StrCat(input ? "input '" : "output '", parameter.name, "': ", text));
      };
      if (!meaning.found()) {
        // CheckReaders reports a reader that is missing, with more detail.
        if (!input || parameter.kind != VariableKind::kReader) report(NotDeclared(block, name));
      } else if (!meaning.MayBe(parameter.kind)) {
        const char* wanted = parameter.kind == VariableKind::kReader ? "READER" : "LOD_TENSOR";
        report(StrCat("variable '", Escaped(name), "' must be of type ", wanted,
                      meaning.declared == nullptr
                          ? ""
                          : ", not " + proto::VarType::Type_Name(meaning.declared->type().type())));
      }
    }
  }

  // Reports a variable that an operator writes twice, and a reader that is created twice.
  void CheckWriters(const OpSchema& schema, int block, int op) {
    std::set<std::string> written;
    for (const ParameterSchema& parameter : schema.outputs) {
      OperatorPart part;
      for (const std::string& name : ArgumentsOf(parameter, false, Op(block, op), &part)) {
        ++part.argument;
        const auto report = [&](const std::string& text) {
          Report(block, op, part,
                 StrCat("output '", parameter.name, "': variable '", Escaped(name), "' is ", text));
        };
        if (!written.insert(name).second) {
          report("written twice by this operator");
          continue;
        }
        if (!schema.creates_reader) continue;
        const auto [creator, first] = creators_.try_emplace(name, block, op);
        if (!first && IsOneVariable(name, block, creator->second.first)) {
          report(StrCat("a reader that another operator creates already (",
                        program_.OperatorLocation(creator->second.first, creator->second.second),
                        ")"));
        }
      }
    }
  }

  // Whether a name means the same variable in two blocks of which one is around the other. In
  // blocks that lie side by side it may: one of them is run.
  bool IsOneVariable(const std::string& name, int a, int b) const {
    return (LiesIn(a, b) || LiesIn(b, a)) &&
           program_.FindDeclaration(a, name) == program_.FindDeclaration(b, name);
  }

  // Whether the block is `outer` or lies inside it.
  bool LiesIn(int block, int outer) const {
    while (block >= 0 && block != outer) block = desc_.blocks(block).parent_idx();
    return block == outer;
  }

  // Checks that only one operator runs a block, and that it stands in the parent of the block.
  void CheckBlockReferences(int block, int op) {
    for (int i = 0; i < Op(block, op).attrs_size(); ++i) {
      const proto::OpDesc::Attr& attribute = Op(block, op).attrs(i);
      for (const int target : BlocksOf(attribute)) {
        const auto report = [&](const std::string& text) {
          Report(block, op, {OperatorPart::kAttribute, i},
                 StrCat("attribute '", Escaped(attribute.name()), "': ", text));
        };
        if (target < 0 || target >= desc_.blocks_size()) {
          report(StrCat("there is no block ", target));
        } else if (LiesIn(block, target)) {
          report(StrCat("block ", target, " is around this operator"));
        } else if (desc_.blocks(target).parent_idx() != block) {
          report(StrCat("the parent_idx of block ", target, " is ",
                        desc_.blocks(target).parent_idx(), ", but this operator stands in block ",
                        block));
        } else if (const auto [owner, added] = owners_.try_emplace(target, block, op); !added) {
          report(StrCat("block ", target, " belongs to another operator already (",
                        program_.OperatorLocation(owner->second.first, owner->second.second), ")"));
        } else if (const OperatorDef* def = FindOperator(Op(block, op).type());
                   def != nullptr && IsLoop(def->schema, attribute.name())) {
          loops_.insert(target);
        }
      }
    }
  }

  // Reports operators in loops that create readers. In every step such an operator would replace
  // its reader, or decorate its own result once more, without end.
  void CheckLoops(int block, int op) {
    const OperatorDef* def = FindOperator(Op(block, op).type());
    if (context_.role == ProgramRole::kMain) return;  // CheckOperator reports it
    if (def == nullptr || !def->schema.creates_reader) return;
    for (int around = block; around >= 0; around = desc_.blocks(around).parent_idx()) {
      if (loops_.count(around) == 0) continue;
      const auto& [loop_block, loop] = owners_.at(around);
      Report(block, op, {},
             StrCat("creates a reader again in every step of the loop '",
                    Op(loop_block, loop).type(), "' (", program_.OperatorLocation(loop_block, loop),
                    "); create it once, outside of the loop"));
      return;
    }
  }

  void CheckIsolatedBlocks(int block, int op) {
    const proto::OpDesc& desc = Op(block, op);
    const OperatorDef* def = FindOperator(desc.type());
    if (def == nullptr) return;
    for (const proto::OpDesc::Attr& attribute : desc.attrs()) {
      if (!IsIsolated(def->schema, attribute.name())) continue;
      for (const int target : BlocksOf(attribute)) {
        const auto owner = owners_.find(target);
        if (owner == owners_.end() || owner->second != std::make_pair(block, op)) continue;
        const std::string where =
            StrCat("the block of '", desc.type(), "' (", program_.OperatorLocation(block, op), ")");
        for (int inner = target; inner < desc_.blocks_size(); ++inner) {
          if (LiesIn(inner, target)) CheckInside(inner, target, where);
        }
      }
    }
  }

  // Checks the rules of isolated blocks in `block`, which is `outermost` or lies inside it. The
  // block `outermost` is run for each record.
  void CheckInside(int block, int outermost, const std::string& where) {
    for (int i = 0; i < desc_.blocks(block).vars_size(); ++i) {
      if (IsPersistable(desc_.blocks(block).vars(i))) {
        problems_.Add(
            program_.VariableProblem(
                block, i, StrCat("persistable, but nothing in ", where, " outlives its run")),
            block, -1);
      }
    }
    for (int op = 0; op < desc_.blocks(block).ops_size(); ++op) {
      const OperatorDef* def = FindOperator(Op(block, op).type());
      if (def == nullptr) continue;
      if (def->schema.side_effects || def->schema.creates_reader) {
        Report(block, op, {}, StrCat("has side effects, so it cannot be in ", where));
      }
      for (const ParameterSchema& parameter : def->schema.outputs) {
        OperatorPart part;
        for (const std::string& name : ArgumentsOf(parameter, false, Op(block, op), &part)) {
          ++part.argument;
          int home = block;
          while (home >= 0 && program_.FindOwnDeclaration(home, name) == nullptr) {
            home = desc_.blocks(home).parent_idx();
          }
          if (Find(block, name).found() && !LiesIn(home, outermost)) {
            Report(block, op, part,
                   StrCat("output '", parameter.name, "': variable '", Escaped(name),
                          "' is not a variable of ", where, ", which may write only its own"));
          }
        }
      }
    }
  }

  // Reports readers that are used before they are created. Follows the operators in the order in
  // which they will run.
  void CheckReaders(int block) {
    if (!followed_.insert(block).second) return;
    for (int op = 0; op < desc_.blocks(block).ops_size(); ++op) {
      const proto::OpDesc& desc = Op(block, op);
      if (const OperatorDef* def = FindOperator(desc.type())) {
        for (const ParameterSchema& parameter : def->schema.inputs) {
          if (parameter.kind != VariableKind::kReader) continue;
          OperatorPart part;
          for (const std::string& name : ArgumentsOf(parameter, true, desc, &part)) {
            ++part.argument;
            CheckCreated(block, op, part, name);
          }
        }
      }
      for (const proto::OpDesc::Attr& attribute : desc.attrs()) {
        for (const int target : BlocksOf(attribute)) {
          if (owners_.count(target) > 0) CheckReaders(target);
        }
      }
      NoteCreated(desc);
    }
  }

  void CheckCreated(int block, int op, const OperatorPart& part, const std::string& name) {
    const Meaning meaning = Find(block, name);
    if (meaning.found() && !meaning.MayBe(VariableKind::kReader)) return;
    if (created_.count(name) > 0) {
      // A reader of this name is created, but perhaps in a block that is not around this operator.
      if (!meaning.found()) Report(block, op, part, NotDeclared(block, name));
      return;
    }
    const Variable* existing = context_.scope == nullptr ? nullptr : context_.scope->Find(name);
    if (existing != nullptr && LookForReader(*existing) == HeldReader::kCreated) return;
    if (!missing_.insert(name).second) return;  // reported once
    const std::string reader = StrCat("reader '", Escaped(name), "' is ");
    if (const auto later = creators_.find(name); later != creators_.end()) {
      Report(block, op, part,
             StrCat(reader, "used before it is created (",
                    program_.OperatorLocation(later->second.first, later->second.second), ")"));
      return;
    }
    WordSearch search(name);
    if (problems_.count() < kMostSuggestions) {
      for (const std::string& created : created_) search.Try(created);
    }
    Report(block, op, part,
           StrCat(reader,
                  context_.role == ProgramRole::kStartup ? "created by no operator"
                                                         : "created by no startup program",
                  DidYouMean(search.found())));
  }

  const Program& program_;
  const CheckContext& context_;
  const proto::ProgramDesc& desc_;
  std::map<std::string, const proto::VarDesc*> inherited_;  // from earlier programs
  std::map<int, std::pair<int, int>> owners_;            // block -> block and index of its operator
  std::map<std::string, std::pair<int, int>> creators_;  // reader -> block, index of its operator
  std::set<std::string> created_, missing_;              // readers
  // The readers of earlier programs -> their slots.
  std::map<std::string, std::optional<std::vector<TensorSpec>>> slots_;
  std::set<int> loops_;                             // blocks that loops run
  std::set<int> followed_;                          // blocks that CheckReaders has followed
  std::vector<std::pair<std::string, int>> names_;  // all, with their blocks; empty until ListNames
  Problems problems_;
  const SpellingLimit limit_;
};

std::vector<Problem> Program::Check(const CheckContext& context) const {
  return ProgramChecker(*this, context).Check();
}

}  // namespace millhopper
