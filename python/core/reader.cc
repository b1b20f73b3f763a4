// SPDX-License-Identifier: Apache-2.0
#include "python/core/reader.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/yielding_mutex.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/operator_check.h"
#include "framework/reader/position.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "python/core/interpreter/deferred_teardown.h"
#include "python/core/interpreter/interrupt.h"
#include "python/core/interpreter/python_call.h"
#include "python/core/values/arrays.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// The variable that the last creation operator writes.
std::string LastReader(const Program& program) {
  const auto& ops = program.desc().blocks(0).ops();
  for (int i = ops.size(); i-- > 0;) {
    if (FindOperator(ops[i].type())->schema.creates_reader) return ops[i].outputs(0).arguments(0);
  }
  Throw(ErrorCode::kInvalidArgument, program.name(), ": this program creates no reader");
}

// The chain of the reader in a variable, as the operators before number `end` declare it. All
// counters are 0.
ChainStats Declared(const Program& program, const std::string& variable, int end) {
  const auto& ops = program.desc().blocks(0).ops();
  ChainStats reader;
  reader.name = variable;
  for (int i = end; i-- > 0;) {
    const OpSchema& schema = FindOperator(ops[i].type())->schema;
    if (!schema.creates_reader) continue;
    if (ops[i].outputs(0).arguments(0) != variable) continue;
    reader.kind = ops[i].type();
    for (const ParameterSchema& input : schema.inputs) {
      if (input.kind != VariableKind::kReader) continue;
      for (const std::string& below : ArgumentsOf(input, true, ops[i])) {
        reader.below.push_back(Declared(program, below, i));
      }
    }
    break;
  }
  return reader;
}

// The lanes of a reader that operators create, as the program says it. Each is created after those
// that it stands on.
LaneShape LaneShapeOf(const google::protobuf::RepeatedPtrField<proto::OpDesc>& ops,
                      const std::string& reader) {
  const auto creates = [&reader](const proto::OpDesc& op) {
    return op.outputs_size() > 0 && op.outputs(0).arguments(0) == reader;
  };
  const auto found = std::find_if(ops.rbegin(), ops.rend(), creates);
  if (found == ops.rend()) return {};
  const OpSchema& schema = FindOperator(found->type())->schema;
  const AttributeMap values = CheckAttributes(schema, *found, [](const auto&, const auto&) {});
  LaneShape shape;
  if (schema.lane_wise == nullptr) {
    if (!values.Has("lanes") || values.Get<int32_t>("lanes") == 1) return shape;
    shape.lanes = static_cast<size_t>(values.Get<int32_t>("lanes"));
    shape.stripe = static_cast<size_t>(values.Get<int32_t>("stripe"));
    return shape;
  }
  bool first = true;
  for (const ParameterSchema& input : schema.inputs) {
    if (input.kind != VariableKind::kReader) continue;
    for (const std::string& below : ArgumentsOf(input, true, *found)) {
      const LaneShape other = LaneShapeOf(ops, below);
      if (!first && !(other == shape)) return {};
      shape = other;
      first = false;
    }
  }
  if (!schema.lane_wise(values, shape.shared)) return {};
  shape.shared = shape.shared || (shape.lanes > 0 && values.Has("num_shards"));
  return shape;
}

}  // namespace

// What the readers of closed chains have done.
struct PythonReader::Totals {
  std::mutex mutex;
  ChainStats stats;
};

// The readers that passes read. It is a separate object, because a thread without the interpreter
// may have to close it when the PythonReader is gone.
struct PythonReader::Chain {
  explicit Chain(std::shared_ptr<Totals> all) : totals(std::move(all)) {}

  std::string Save() { return reader->Save().Serialize(); }

  void Close() {
    if (reader != nullptr) {
      ChainStats now = reader->Stats();
      const std::lock_guard<std::mutex> lock(totals->mutex);
      now.Add(totals->stats);
      now.ClearPresent();
      totals->stats = std::move(now);
    }
    reader.reset();
    scope.reset();
  }

  const std::shared_ptr<Totals> totals;
  YieldingMutex mutex;  // taken without the interpreter
  std::unique_ptr<Scope> scope;
  std::unique_ptr<ReaderBase> reader;  // shares the one in scope
  std::vector<SlotSpec> slots;         // set once, by the first Open
  uint64_t number = 0;                 // of the pass that the reader is in
  // Both are set with the interpreter. A pass is over when it has been read or released.
  std::atomic<uint64_t> begun{0};  // how many passes have begun
  bool is_over = true;             // whether the last of them is over
};

class PythonReader::Pass {
 public:
  // The caller holds the interpreter.
  explicit Pass(std::shared_ptr<Chain> chain) : chain_(std::move(chain)), place_(++chain_->begun) {
    chain_->is_over = false;
  }

  const std::shared_ptr<Chain>& chain() const { return chain_; }
  // Whether the chain has not begun a later pass since.
  bool is_last() const { return place_ == chain_->begun; }
  // The caller holds the interpreter.
  void End() {
    if (is_last()) chain_->is_over = true;
  }
  // Whether it was read to its end; with the interpreter.
  bool was_read() const { return left_->was_read; }
  void set_was_read() { left_->was_read = true; }

  // Both with the mutex of the chain. The pass is left: the chain closes, so the place is kept.
  void Leave() const {
    if (left_->was_read || chain_->reader == nullptr) return;
    try {
      left_->position = chain_->Save();
    } catch (...) {
      left_->failure = std::current_exception();
    }
  }
  std::string Save() const {
    if (left_->failure != nullptr) std::rethrow_exception(left_->failure);
    if (left_->position) return *left_->position;
    Require(chain_->reader != nullptr && is_last(), "the pass has been ended by another one");
    return chain_->Save();
  }

 private:
  // What is known of a pass that is over; the copies of the pass share it.
  struct Left {
    std::atomic<bool> was_read{false};
    std::optional<std::string> position;
    std::exception_ptr failure;
  };

  const std::shared_ptr<Chain> chain_;
  const uint64_t place_;  // among the passes of the chain, from 1
  const std::shared_ptr<Left> left_ = std::make_shared<Left>();
};

PythonReader::PythonReader(std::shared_ptr<const Program> program, std::string variable,
                           uint64_t seed)
    : program_(std::move(program)),
      seed_(seed),
      variable_(std::move(variable)),
      number_(OpensReader::NewNumber()),
      totals_(std::make_shared<Totals>()),
      chain_(std::make_shared<Chain>(totals_)) {
  CheckContext context;
  context.role = ProgramRole::kStartup;
  program_->CheckOrThrow(context);
  if (variable_.empty()) variable_ = LastReader(*program_);
  totals_->stats = Declared(*program_, variable_, program_->desc().blocks(0).ops_size());
}

PythonReader::~PythonReader() {
  CallOutside([chain = chain_] {
    const LockAtOnce lock(&chain->mutex);
    chain->Close();
  });
}

void PythonReader::Open(Chain* chain) {
  if (chain->reader != nullptr) return;
  const OpensReader opens(number_);
  auto scope = std::make_unique<Scope>();
  RunState run;
  run.seed = seed_;
  Executor(run).Run(program_, ProgramRole::kStartup, scope.get());
  const Variable* const variable = scope->Find(variable_);
  Require(variable != nullptr && variable->Holds<ReaderHolder>(), program_->name(),
          ": there is no reader '", Escaped(variable_), "'");
  chain->reader = variable->Get<ReaderHolder>().NewHandle();
  chain->reader->ExpectSave();
  chain->scope = std::move(scope);
  if (chain->slots.empty()) chain->slots = chain->reader->slots();
  chain->number = 0;
}

void PythonReader::RequireOutside() const {
  Require(!CallsThisThread(), "reader '", Escaped(variable_),
          "' is used by a function that it calls itself, or by one of a reader that its functions "
          "use: each would wait for the other");
}

template <typename Function>
void PythonReader::Work(Chain* chain, Function function) {
  RequireOutside();
  const UsesReader uses(number_, StrCat("reader '", Escaped(variable_), "'"));
  WithoutInterpreter([&] {
    const LockToWork lock(&chain->mutex);
    const Yields yields(chain->mutex);
    function();
  });
}

bool PythonReader::CallsThisThread() const { return PythonCall::WithinOneOf(number_); }

std::shared_ptr<PythonReader::Pass> PythonReader::Begin(
    uint64_t pass, const std::optional<std::string>& position) {
  RequireOutside();
  WatchInterrupts();
  std::shared_ptr<Chain> chain = chain_;
  if (!chain_->is_over) {
    chain = std::make_shared<Chain>(totals_);
    others_.erase(std::remove_if(others_.begin(), others_.end(),
                                 [](const auto& other) { return other.expired(); }),
                  others_.end());
    others_.push_back(chain);
  }
  auto begun = std::make_shared<Pass>(chain);
  try {
    Work(chain.get(), [&] {
      if (position) {
        // Only readers that nothing was read from can go to a position. The first ones that the
        // program makes may have been read, to learn what functions of map yield.
        Open(chain.get());
        chain->Close();
      }
      const bool fresh = chain->reader == nullptr;
      Open(chain.get());
      if (position) {
        chain->reader->Restore(Position::Parse(*position));
      } else if (!fresh || pass != chain->number) {
        chain->reader->Restart(pass);
      }
      chain->number = pass;
    });
  } catch (...) {
    begun->set_was_read();  // it has no place to go on from
    Release(begun.get());   // before the chain goes: its threads may wait for the interpreter
    throw;
  }
  last_ = begun;
  return begun;
}

std::optional<py::dict> PythonReader::Next(Pass* pass) {
  Chain& chain = *pass->chain();
  std::vector<LoDTensor> element = std::move(spare_);
  spare_.clear();
  bool more = false;
  bool was_ended = false;  // by another thread, perhaps before its end
  try {
    Work(&chain, [&] {
      was_ended = chain.reader == nullptr || !pass->is_last();
      if (was_ended) return;
      const WaitTimer timer(chain.reader->counters());
      more = chain.reader->HasNext();
      if (more) chain.reader->ReadNext(&element);
      for (LoDTensor& tensor : element) {
        if (!tensor.place().is_cpu()) tensor = tensor.OnHost();
      }
    });
  } catch (const Error& error) {
    was_ended = error.code() == ErrorCode::kCancelled && (chain.is_over || !pass->is_last());
    if (!was_ended) throw;
    more = false;
  }
  std::optional<py::dict> batch;
  if (more) batch = ToDict(chain.slots, &element);
  for (LoDTensor& tensor : element) tensor.Clear();
  spare_ = std::move(element);
  if (more) return batch;
  if (!was_ended) pass->set_was_read();
  // The readers of the first chain wait for the next pass.
  pass->chain() == chain_ ? pass->End() : Release(pass);
  return std::nullopt;
}

py::dict PythonReader::ToDict(const std::vector<SlotSpec>& slots, std::vector<LoDTensor>* element) {
  if (names_.empty()) {
    for (size_t i = 0; i < element->size(); ++i) names_.emplace_back(StrCat("slot", i));
  }
  Require(names_.size() == element->size(), names_.size(), " names for a reader of ",
          element->size(), " slots");
  dtypes_.clear();
  py::dict batch;
  for (size_t i = 0; i < element->size(); ++i) {
    LoDTensor& tensor = (*element)[i];
    dtypes_.push_back(tensor.dtype());
    const py::object value = ToPython(&tensor, slots[i].text);
    if (PyDict_SetItem(batch.ptr(), names_[i].ptr(), value.ptr()) < 0)
      throw py::error_already_set();
  }
  return batch;
}

void PythonReader::Release(Pass* pass) {
  // This does not take the mutex to compare: a thread that reads now may hold it for as long as a
  // function of map takes.
  if (!pass->is_last()) return;
  pass->End();
  CallOutside([ended = *pass] {
    const LockAtOnce lock(&ended.chain()->mutex);
    if (!ended.is_last()) return;
    ended.Leave();
    ended.chain()->Close();
  });
}

template <typename Function>
void PythonReader::WholePass(uint64_t pass, const Function& function) {
  const std::shared_ptr<Pass> begun = Begin(pass);
  try {
    Work(begun->chain().get(), [&] {
      ReaderBase& reader = *begun->chain()->reader;
      const WaitTimer timer(reader.counters());
      function(&reader);
    });
    begun->set_was_read();
  } catch (...) {
    Release(begun.get());
    throw;
  }
  Release(begun.get());
}

uint64_t PythonReader::ReadThrough(uint64_t pass) {
  uint64_t elements = 0;
  WholePass(pass, [&](ReaderBase* reader) {
    std::vector<LoDTensor> element;
    for (; reader->HasNext(); ++elements) reader->ReadNext(&element);
  });
  return elements;
}

Written PythonReader::Write(uint64_t pass, const std::string& name,
                            const std::vector<std::string>& names, const ShardSize& size,
                            const OutputRules& rules) {
  Written written;
  WholePass(pass, [&](ReaderBase* reader) {
    std::vector<LoDTensor> first;
    const NamedSlots slots = SlotsToWrite(reader, names, &first);
    WrittenFiles files(name, slots, size, rules);
    WriteElements(reader, first, &files);
    written = files.Publish();
  });
  return written;
}

std::optional<std::string> PythonReader::Save() {
  const std::shared_ptr<Pass> pass = last_;
  if (pass == nullptr || pass->was_read()) return std::nullopt;
  WatchInterrupts();
  std::string position;
  Work(pass->chain().get(), [&] { position = pass->Save(); });
  return position;
}

std::vector<std::pair<std::string, std::string>> PythonReader::Warnings() const {
  std::vector<std::pair<std::string, std::string>> warnings;
  const auto& ops = program_->desc().blocks(0).ops();
  for (int i = 0; i < ops.size(); ++i) {
    const OpSchema& schema = FindOperator(ops[i].type())->schema;
    if (!schema.creates_reader || schema.warn == nullptr) continue;
    std::string text = schema.warn(*program_, 0, i);
    if (!text.empty()) warnings.emplace_back(ops[i].outputs(0).arguments(0), std::move(text));
  }
  return warnings;
}

std::vector<std::string> PythonReader::AddedSlots() const {
  for (const proto::OpDesc& op : program_->desc().blocks(0).ops()) {
    const OpSchema& schema = FindOperator(op.type())->schema;
    if (!schema.adds_slots || op.outputs(0).arguments(0) != variable_) continue;
    return schema.adds_slots(CheckAttributes(schema, op, [](const auto&, const auto&) {}));
  }
  return {};
}

int64_t PythonReader::Lanes() const {
  const size_t lanes = LaneShapeOf(program_->desc().blocks(0).ops(), variable_).lanes;
  return lanes == 0 ? 1 : static_cast<int64_t>(lanes);
}

void PythonReader::SetNames(const std::vector<std::string>& names) {
  names_.clear();
  for (const std::string& name : names) names_.emplace_back(name);
}

std::optional<uint64_t> PythonReader::Length() {
  std::optional<uint64_t> length;
  WatchInterrupts();
  Work(chain_.get(), [&] {
    Open(chain_.get());
    length = chain_->reader->PassLength();
  });
  return length;
}

ChainStats PythonReader::Stats() {
  std::vector<std::shared_ptr<Chain>> chains{chain_};
  for (const std::weak_ptr<Chain>& other : others_) {
    if (std::shared_ptr<Chain> chain = other.lock()) chains.push_back(std::move(chain));
  }
  ChainStats stats;
  {
    const std::lock_guard<std::mutex> lock(totals_->mutex);
    stats = totals_->stats;
  }
  WatchInterrupts();
  for (const std::shared_ptr<Chain>& chain : chains) {
    Work(chain.get(), [&] {
      if (chain->reader == nullptr) return;
      ChainStats now = chain->reader->Stats();
      now.Add(stats);
      stats = std::move(now);
    });
  }
  return stats;
}

std::vector<SlotSpec> PythonReader::Slots() {
  std::vector<SlotSpec> slots;
  WatchInterrupts();
  Work(chain_.get(), [&] {
    Open(chain_.get());
    slots = chain_->reader->slots();
  });
  return slots;
}

}  // namespace millhopper
