// SPDX-License-Identifier: Apache-2.0
// Prepares blocks once and runs them many times.
#include "framework/program/executor.h"

#include <exception>
#include <new>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/base/stop.h"
#include "framework/program/bound_operator.h"
#include "framework/program/operator.h"
#include "framework/program/operator_check.h"
#include "framework/program/operator_run.h"
#include "framework/tensor/tensor.h"

namespace millhopper {
namespace {

constexpr char kRunning[] = "while running operator '";

// Whether the error names an operator of an inner block already. The operators around that one are
// then not added, because its location says where it is.
bool ComesFromOperator(const Error& error) {
  return !error.context().empty() && error.context().back().rfind(kRunning, 0) == 0;
}

// Throws the exception that is being handled again, as an Error with the step of the operator that
// threw it.
[[noreturn]] void RethrowFrom(const std::string& step) {
  try {
    throw;
  } catch (const EndOfData& end) {
    if (ComesFromOperator(end)) throw;
    throw end.WithContext(step);
  } catch (...) {
    std::exception_ptr where;
    try {
      const Error error = CurrentError();
      if (!ComesFromOperator(error)) where = std::make_exception_ptr(error.WithContext(step));
    } catch (const std::bad_alloc&) {
      NoteOutOfMemory(step, "");
    }
    if (where != nullptr) std::rethrow_exception(where);
    throw;
  }
}

}  // namespace

struct PreparedBlock::PreparedOp {
  OpFunction run;
  const char* library;  // the path of the plugin that has registered it; null for our own
  std::string step;     // names it in errors
  OpContext context;
};

PreparedBlock::PreparedBlock(std::shared_ptr<const Program> program, int block, Scope* parent,
                             RunState* run)
    : program_(std::move(program)), block_(block), scope_(parent), run_(run) {
  const proto::ProgramDesc& desc = program_->desc();
  Require(block >= 0 && block < desc.blocks_size(), program_->name(), ": there is no block ",
          block);
  for (const proto::VarDesc& variable : desc.blocks(block).vars()) {
    if (IsPersistable(variable)) {
      parent->root()->Var(variable.name());
    } else {
      own_.push_back(scope_.Var(variable.name()));
    }
  }
  ops_.reserve(static_cast<size_t>(desc.blocks(block).ops_size()));
  for (int i = 0; i < desc.blocks(block).ops_size(); ++i) ops_.push_back(Prepare(i));
}

PreparedBlock::~PreparedBlock() = default;

std::unique_ptr<PreparedBlock::PreparedOp> PreparedBlock::Prepare(int index) {
  const proto::OpDesc& desc = program_->desc().blocks(block_).ops(index);
  const ReportPart fail = [this, index](const OperatorPart& part, const std::string& text) {
    throw Error(ErrorCode::kInvalidArgument,
                program_->OperatorProblem(block_, index, part, text).text);
  };
  const OperatorDef* def = FindOperator(desc.type());
  if (def == nullptr) fail({}, NoSuchOperator(desc.type()));
  CheckInputsAndOutputs(def->schema, desc, fail);

  auto op = std::make_unique<PreparedOp>();
  op->run = def->run;
  op->library = LibraryOf(reinterpret_cast<const void*>(def->run));
  op->step = Step(index, desc.type());
  OpContext::Bound& bound = *op->context.bound_;
  bound.desc = &desc;
  bound.program = &program_;
  bound.block = block_;
  bound.index = index;
  bound.scope = &scope_;
  bound.run = run_;
  const auto bind = [&](const std::vector<ParameterSchema>& schemas, bool input) {
    std::vector<OpContext::Parameter> parameters;
    for (const ParameterSchema& schema : schemas) {
      OpContext::Parameter parameter{&schema, {}};
      OperatorPart part;
      for (const std::string& name : ArgumentsOf(schema, input, desc, &part)) {
        ++part.argument;
        Variable* variable = scope_.Find(name);
        if (variable == nullptr) fail(part, StrCat("no variable '", Escaped(name), "'"));
        parameter.arguments.push_back(OpContext::Bind(variable));
      }
      parameters.push_back(std::move(parameter));
    }
    return parameters;
  };
  op->context.inputs_ = bind(def->schema.inputs, true);
  op->context.outputs_ = bind(def->schema.outputs, false);
  bound.attribute_map = CheckAttributes(def->schema, desc, fail);
  for (const auto& [name, value] : bound.attribute_map.values()) {
    op->context.attributes_.push_back({name, &value});
    const auto* sub_block = std::get_if<BlockIndex>(&value);
    if (sub_block == nullptr || !op->context.IsGiven(name) || IsIsolated(def->schema, name))
      continue;
    const int number = sub_block->value;
    // Every block has one parent, so this recursion ends.
    if (number <= 0 || number >= program_->desc().blocks_size() ||
        program_->desc().blocks(number).parent_idx() != block_) {
      fail({},
           StrCat("attribute '", name, "': block ", number, " is no block inside block ", block_));
    }
    bound.blocks.emplace_back(name,
                              std::make_unique<PreparedBlock>(program_, number, &scope_, run_));
  }
  return op;
}

// Operators of which some are not run, or later. The first one of those that are outlined is run
// only if it cannot be; the others are run where they are.
class PreparedBlock::Replaced {
 public:
  Replaced(std::vector<PreparedOp*> ops, size_t outlined, FusedOperators* fused, bool* done)
      : ops_(std::move(ops)), outlined_(outlined), fused_(fused), done_(done) {
    for (PreparedOp* const op : ops_) {
      run_.push_back(op->run);
      op->run = [](OpContext& context) { context.bound_->replacement(); };
    }
  }

  // Runs operator i of these.
  void Run(size_t i) {
    if (i == 0 && outlined_ > 0) {
      is_outlined_ = fused_->Outline();
      if (!is_outlined_) RunOperator(0);
    } else if (i < outlined_) {
      RunOperator(i);
    }
    if (i + 1 == ops_.size()) Finish();
  }

 private:
  void Finish() {
    const bool was_run = outlined_ > 0 && !is_outlined_;
    *done_ = !was_run && fused_->Run();
    if (*done_) return;
    for (size_t i = was_run ? outlined_ : 0; i < ops_.size(); ++i) RunOperator(i);
  }

  void RunOperator(size_t i) {
    try {
      run_[i](ops_[i]->context);
    } catch (...) {
      RethrowFrom(ops_[i]->step);
    }
  }

  const std::vector<PreparedOp*> ops_;
  const size_t outlined_;
  FusedOperators* const fused_;
  bool* const done_;
  std::vector<OpFunction> run_;  // what each operator does
  bool is_outlined_ = false;
};

void PreparedBlock::Replace(const OperatorRun& run, FusedOperators* fused, bool* done) {
  std::vector<PreparedOp*> ops;
  for (const size_t op : run.ops) ops.push_back(ops_[op].get());
  const auto replaced = std::make_shared<Replaced>(ops, run.outlined, fused, done);
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i]->context.bound_->replacement = [replaced, i] { replaced->Run(i); };
  }
}

void PreparedBlock::Refresh() {
  for (Variable* variable : own_) variable->Reset();
}

void PreparedBlock::Clear() {
  for (Variable* variable : own_) variable->Clear();
  for (const auto& op : ops_) {
    for (const auto& block : op->context.bound_->blocks) block.second->Clear();
  }
}

void PreparedBlock::RunOperators() {
  size_t i = 0;
  if (__builtin_expect(!run_->resume_at.empty(), 0)) {
    const OperatorNumber at = run_->resume_at.back();
    i = static_cast<size_t>(at.op);
    Require(at.block == block_ && i < ops_.size(), program_->name(), ": a run cannot continue at ",
            "operator ", at.op, " of block ", at.block);
    run_->resume_at.pop_back();
  }
  AtWork at_work;
  try {
    for (const size_t count = ops_.size(); i < count; ++i) {
      CheckStop();
      PreparedOp& op = *ops_[i];
      at_work->step = op.step.c_str();
      at_work->library = op.library;
      op.run(op.context);
    }
  } catch (...) {
    RethrowFrom(ops_[i]->step);
  }
}

std::string PreparedBlock::Step(int index, const std::string& type) const {
  const std::string where = program_->OperatorLocation(block_, index);
  const bool has_block = program_->OperatorPlace(block_, index).line == 0;
  return StrCat(kRunning, type, "' (", where, has_block ? "" : StrCat(", block ", block_), ")");
}

PreparedProgram::PreparedProgram(std::shared_ptr<const Program> program, Scope* scope,
                                 const RunState& run)
    : run_(run), block_(std::move(program), 0, scope, &run_) {}

void PreparedProgram::Run(const std::map<std::string, LoDTensor>& feed) {
  run_.steps = 0;
  run_.times.clear();
  run_.loops = 0;
  run_.resume_at.clear();
  block_.Refresh();
  for (const auto& [name, tensor] : feed) {
    Variable* const variable = Find(name);
    Require(variable != nullptr, "no variable '", Escaped(name), "' to feed",
            DidYouMean(name, scope().LocalNames()));
    *variable->GetMutable<LoDTensor>() = tensor;
  }
  block_.RunOperators();
}

void PreparedProgram::ResumeAt(std::vector<OperatorNumber> operators) {
  run_.loops = 0;
  block_.Refresh();
  run_.resume_at = std::move(operators);
  block_.RunOperators();
}

std::unique_ptr<PreparedProgram> Executor::Prepare(std::shared_ptr<const Program> program,
                                                   ProgramRole role, Scope* scope) const {
  CheckContext context;
  context.role = role;
  context.scope = scope;
  program->CheckOrThrow(context);
  return std::make_unique<PreparedProgram>(std::move(program), scope, run_);
}

void Executor::Run(std::shared_ptr<const Program> program, ProgramRole role, Scope* scope) const {
  Prepare(std::move(program), role, scope)->Run();
}

}  // namespace millhopper
