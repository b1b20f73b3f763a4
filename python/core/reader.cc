// SPDX-License-Identifier: Apache-2.0
#include "python/core/reader.h"

#include <utility>

#include "framework/base/error.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "python/core/arrays.h"
#include "python/core/deferred_teardown.h"
#include "python/core/interrupt.h"
#include "python/core/python_call.h"

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
    if (!FindOperator(ops[i].type())->schema.creates_reader) continue;
    if (ops[i].outputs(0).arguments(0) != variable) continue;
    reader.kind = ops[i].type();
    for (const auto& input : ops[i].inputs()) {
      if (input.parameter().rfind("UnderlyingReader", 0) != 0) continue;
      for (const std::string& below : input.arguments()) {
        reader.below.push_back(Declared(program, below, i));
      }
    }
    break;
  }
  return reader;
}

}  // namespace

PythonReader::PythonReader(std::shared_ptr<const Program> program, std::string variable,
                           uint64_t seed)
    : program_(std::move(program)),
      seed_(seed),
      variable_(std::move(variable)),
      number_(OpensReader::NewNumber()) {
  CheckContext context;
  context.role = ProgramRole::kStartup;
  program_->CheckOrThrow(context);
  if (variable_.empty()) variable_ = LastReader(*program_);
  chain_->before = Declared(*program_, variable_, program_->desc().blocks(0).ops_size());
}

PythonReader::~PythonReader() {
  CallOutside([chain = std::move(chain_)] {
    const std::lock_guard<std::mutex> lock(chain->mutex);
    chain->Close();
  });
}

void PythonReader::Open() {
  if (chain_->reader != nullptr) return;
  const OpensReader opens(number_);
  auto scope = std::make_unique<Scope>();
  RunState run;
  run.seed = seed_;
  Executor(run).Run(program_, ProgramRole::kStartup, scope.get());
  const Variable* const variable = scope->Find(variable_);
  Require(variable != nullptr && variable->Holds<ReaderHolder>(), program_->name(),
          ": there is no reader '", Escaped(variable_), "'");
  chain_->reader = variable->Get<ReaderHolder>().NewHandle();
  chain_->scope = std::move(scope);
  chain_->pass = 0;
}

template <typename Function>
void PythonReader::Work(Function function) {
  if (CallsThisThread()) {
    Throw(ErrorCode::kInvalidArgument, "reader '", Escaped(variable_),
          "' is used by a function of map that it calls itself: each would wait for the other");
  }
  WithoutInterpreter([&] {
    const std::lock_guard<std::mutex> lock(chain_->mutex);
    function();
  });
}

bool PythonReader::CallsThisThread() const { return PythonCall::WithinOneOf(number_); }

uint64_t PythonReader::Begin(uint64_t pass) {
  WatchInterrupts();
  uint64_t loop = 0;
  Work([&] {
    const bool fresh = chain_->reader == nullptr;
    loop = ++chain_->loop;
    Open();
    if (!fresh || pass != chain_->pass) chain_->reader->Restart(pass);
    chain_->pass = pass;
  });
  return loop;
}

ReaderBase& PythonReader::OfLoop(uint64_t loop) {
  Require(loop == chain_->loop && chain_->reader != nullptr,
          "another loop over this reader has begun meanwhile, which ended this one");
  return *chain_->reader;
}

std::optional<py::dict> PythonReader::Next(uint64_t loop) {
  std::vector<LoDTensor> element = std::move(spare_);
  bool more = false;
  Work([&] {
    ReaderBase& reader = OfLoop(loop);
    const WaitTimer timer(reader.counters());
    more = reader.HasNext();
    if (more) reader.ReadNext(&element);
    for (LoDTensor& tensor : element) {
      if (!tensor.place().is_cpu()) tensor = tensor.OnHost();
    }
  });
  std::optional<py::dict> batch;
  if (more) batch = ToDict(&element);
  for (LoDTensor& tensor : element) tensor.Clear();
  spare_ = std::move(element);
  return batch;
}

py::dict PythonReader::ToDict(std::vector<LoDTensor>* element) {
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
    const py::object value = ToPython(&tensor);
    if (PyDict_SetItem(batch.ptr(), names_[i].ptr(), value.ptr()) < 0)
      throw py::error_already_set();
  }
  return batch;
}

void PythonReader::Release(uint64_t loop) {
  // This does not take the mutex to compare: a thread that reads now may hold it for as long as
  // functions of map take.
  if (loop != chain_->loop) return;
  CallOutside([chain = chain_, loop] {
    const std::lock_guard<std::mutex> lock(chain->mutex);
    if (loop == chain->loop) chain->Close();
  });
}

uint64_t PythonReader::ReadThrough(uint64_t pass) {
  const uint64_t loop = Begin(pass);
  uint64_t elements = 0;
  Work([&] {
    ReaderBase& reader = OfLoop(loop);
    const WaitTimer timer(reader.counters());
    std::vector<LoDTensor> element;
    for (; reader.HasNext(); ++elements) reader.ReadNext(&element);
  });
  return elements;
}

void PythonReader::SetNames(const std::vector<std::string>& names) {
  names_.clear();
  for (const std::string& name : names) names_.emplace_back(name);
}

std::optional<uint64_t> PythonReader::Length() {
  std::optional<uint64_t> length;
  Work([&] {
    Open();
    length = chain_->reader->PassLength();
  });
  return length;
}

ChainStats PythonReader::Stats() {
  ChainStats stats;
  Work([&] {
    stats = chain_->before;
    if (chain_->reader == nullptr) return;
    stats = chain_->reader->Stats();
    stats.Add(chain_->before);
  });
  return stats;
}

std::vector<SlotSpec> PythonReader::Slots() {
  std::vector<SlotSpec> slots;
  Work([&] {
    Open();
    slots = chain_->reader->slots();
  });
  return slots;
}

}  // namespace millhopper
