// SPDX-License-Identifier: Apache-2.0
#include "framework/program/inference.h"

#include "framework/base/error.h"
#include "framework/program/declarations.h"
#include "framework/program/operator_check.h"

namespace millhopper {

VariableSpec SpecOfDeclaration(const proto::VarDesc& variable) {
  VariableSpec spec;
  try {
    if (variable.type().type() == proto::VarType::READER) {
      const std::vector<SlotSpec> slots = DeclaredSlots(variable);
      if (slots.empty()) return spec;
      spec.slots.emplace();
      for (const SlotSpec& slot : slots) spec.slots->push_back(SpecOf(slot));
    } else if (variable.type().has_lod_tensor()) {
      spec.tensor = SpecOf(DeclaredTensor(variable.type().lod_tensor()));
      if (spec.tensor.lod_level == 0) spec.tensor.lod_level.reset();
    }
  } catch (const Error&) {
    return {};  // the check of declarations reports it
  }
  return spec;
}

namespace {

// `made`, with unknown parts filled in from `declared`.
TensorSpec Merged(TensorSpec made, const TensorSpec& declared) {
  if (!made.dtype) made.dtype = declared.dtype;
  if (!made.lod_level) made.lod_level = declared.lod_level;
  if (!made.dims) {
    made.dims = declared.dims;
  } else if (declared.dims && declared.dims->size() == made.dims->size()) {
    made.dims = Merged(*made.dims, *declared.dims);
  }
  return made;
}

VariableSpec Merged(VariableSpec made, const VariableSpec& declared) {
  made.tensor = Merged(made.tensor, declared.tensor);
  if (!made.slots) {
    made.slots = declared.slots;
  } else if (declared.slots && declared.slots->size() == made.slots->size()) {
    for (size_t i = 0; i < made.slots->size(); ++i) {
      (*made.slots)[i] = Merged((*made.slots)[i], (*declared.slots)[i]);
    }
  }
  return made;
}

// What is known of a tensor that is either of the two.
TensorSpec Common(const TensorSpec& left, const TensorSpec& right) {
  TensorSpec common;
  if (left.dtype == right.dtype) common.dtype = left.dtype;
  if (left.lod_level == right.lod_level) common.lod_level = left.lod_level;
  if (left.dims && right.dims && left.dims->size() == right.dims->size()) {
    common.dims = left.dims;
    for (size_t i = 0; i < common.dims->size(); ++i) {
      if ((*left.dims)[i] != (*right.dims)[i]) (*common.dims)[i] = -1;
    }
  }
  return common;
}

}  // namespace

InferContext::Arguments InferOutputs(
    const proto::OpDesc& desc, const std::function<VariableSpec(const std::string& name)>& find,
    const InferContext::RunBlock& run_block, const InferContext::DeclaresIn& declares) {
  InferContext::Arguments inputs, outputs;
  const OperatorDef* const def = FindOperator(desc.type());
  if (def == nullptr || !def->schema.infer) return outputs;
  bool right = true;
  const AttributeMap attributes = CheckAttributes(
      def->schema, desc, [&right](const OperatorPart&, const std::string&) { right = false; });
  if (!right) return outputs;
  if (def->schema.check) def->schema.check(desc, attributes);  // the rule relies on it
  for (const ParameterSchema& parameter : def->schema.inputs) {
    for (const std::string& name : ArgumentsOf(parameter, true, desc)) {
      inputs[parameter.name].push_back({name, find(name)});
    }
  }
  for (const ParameterSchema& parameter : def->schema.outputs) {
    for (const std::string& name : ArgumentsOf(parameter, false, desc)) {
      outputs[parameter.name].push_back({name, {}});
    }
  }
  InferContext context(attributes, inputs, &outputs, run_block, declares);
  def->schema.infer(context);
  return outputs;
}

ProgramInference::ProgramInference(const Program& program, int outermost, Outside outside,
                                   Report report)
    : program_(program),
      outermost_(outermost),
      outside_(std::move(outside)),
      report_(std::move(report)) {}

ProgramInference::Key ProgramInference::KeyOf(int block, const std::string& name) const {
  while (block >= 0 && program_.FindOwnDeclaration(block, name) == nullptr) {
    block = block == outermost_ ? -1 : program_.desc().blocks(block).parent_idx();
  }
  return {block, name};
}

VariableSpec ProgramInference::Declared(const Key& key) const {
  if (key.first < 0) return outside_(key.second);
  return SpecOfDeclaration(*program_.FindOwnDeclaration(key.first, key.second));
}

VariableSpec ProgramInference::Find(int block, const std::string& name) const {
  const Key key = KeyOf(block, name);
  const auto found = known_.find(key);
  return found == known_.end() ? Declared(key) : found->second;
}

void ProgramInference::Give(const std::string& name, const TensorSpec& value) {
  const Key key = KeyOf(outermost_, name);
  known_[key] = Merged(VariableSpec{value, std::nullopt}, Declared(key));
  written_.insert(key);
}

void ProgramInference::Follow(int block) {
  if (!followed_.insert(block).second) return;
  for (int op = 0; op < program_.desc().blocks(block).ops_size(); ++op) FollowOperator(block, op);
}

void ProgramInference::FollowOperator(int block, int op) {
  const proto::OpDesc& desc = program_.desc().blocks(block).ops(op);
  const OperatorDef* const def = FindOperator(desc.type());
  for (const proto::OpDesc::Attr& attribute : desc.attrs()) {
    if (attribute.type() != proto::BLOCK || attribute.block_idx() <= 0 ||
        attribute.block_idx() >= program_.desc().blocks_size() ||
        program_.desc().blocks(attribute.block_idx()).parent_idx() != block ||
        (def != nullptr && IsIsolated(def->schema, attribute.name()))) {
      continue;  // the operator's own rule follows an isolated block
    }
    // If two operators run one block, ProgramChecker reports it.
    if (followed_.count(attribute.block_idx()) > 0) continue;
    const bool is_loop = def == nullptr || IsLoop(def->schema, attribute.name());
    FollowInner(attribute.block_idx(), is_loop);
  }
  const InferContext::RunBlock run_block = [this, block](BlockIndex inner, const auto& sources,
                                                         const auto& values, const auto& sinks) {
    return Run(block, inner.value, sources, values, sinks);
  };
  const InferContext::DeclaresIn declares = [this](BlockIndex inner, const std::string& name) {
    return inner.value < 0 || inner.value >= program_.desc().blocks_size() ||  // reported elsewhere
           program_.FindOwnDeclaration(inner.value, name) != nullptr;
  };
  InferContext::Arguments outputs;
  try {
    outputs = InferOutputs(
        desc, [this, block](const std::string& name) { return Find(block, name); }, run_block,
        declares);
  } catch (...) {
    report_(block, op, CurrentProblem());
  }
  for (const auto& [parameter, arguments] : outputs) {
    for (const InferContext::Argument& output : arguments) Write(block, op, parameter, output);
  }
  if (!outputs.empty()) return;
  for (const proto::OpDesc::Var& parameter : desc.outputs()) {
    for (const std::string& name : parameter.arguments()) {
      known_.erase(KeyOf(block, name));
      written_.insert(KeyOf(block, name));
    }
  }
}

void ProgramInference::Write(int block, int op, const std::string& parameter,
                             const InferContext::Argument& output) {
  const Key key = KeyOf(block, output.name);
  const VariableSpec declared = Declared(key);
  TensorSpec written = output.spec.tensor;
  written.lod_level.reset();  // declarations often omit it
  // The slots of a reader are not compared: the operator that creates it does so, and knows more.
  if (!MayBeSame(written, declared.tensor)) {
    report_(block, op,
            StrCat("output '", parameter, "': variable '", Escaped(output.name), "' is declared ",
                   ToString(declared.tensor), ", but what is written is ", ToString(written)));
  }
  VariableSpec spec = Merged(output.spec, declared);
  if (output.may_stay && !HasOneWriter(key)) {
    spec.tensor = Common(spec.tensor, Find(block, output.name).tensor);
  }
  known_[key] = std::move(spec);
  written_.insert(key);
}

bool ProgramInference::HasOneWriter(const Key& key) {
  // Other programs may have written it.
  if (key.first < 0 || IsPersistable(*program_.FindOwnDeclaration(key.first, key.second))) {
    return false;
  }
  if (writers_.empty()) {
    for (int block = 0; block < program_.desc().blocks_size(); ++block) {
      for (const proto::OpDesc& desc : program_.desc().blocks(block).ops()) {
        for (const proto::OpDesc::Var& parameter : desc.outputs()) {
          for (const std::string& name : parameter.arguments()) ++writers_[KeyOf(block, name)];
        }
      }
    }
  }
  return writers_[key] == 1;
}

void ProgramInference::FollowInner(int block, bool is_loop) {
  std::set<Key> written;
  std::set<int> seen;
  AddWritten(block, &seen, &written);
  const auto forget = [&] {
    for (const Key& key : written) known_.erase(key);
  };
  if (is_loop) {
    written_.insert(written.begin(), written.end());
    forget();
    ++loops_;
    Follow(block);
    --loops_;
    forget();
    return;
  }
  const std::map<Key, VariableSpec> before = known_;
  std::set<Key> first_written;
  for (const Key& key : written) {
    if (HasNoValue(key)) first_written.insert(key);
  }
  Follow(block);
  written_.insert(written.begin(), written.end());
  for (const Key& key : written) {
    if (first_written.count(key) > 0) continue;
    const auto find = [&](const std::map<Key, VariableSpec>& known) {
      const auto found = known.find(key);
      return found == known.end() ? Declared(key) : found->second;
    };
    known_[key] = {Common(find(before).tensor, find(known_).tensor), std::nullopt};
  }
}

bool ProgramInference::HasNoValue(const Key& key) const {
  return loops_ == 0 && written_.count(key) == 0 && key.first >= 0 &&
         !IsPersistable(*program_.FindOwnDeclaration(key.first, key.second));
}

void ProgramInference::AddWritten(int block, std::set<int>* seen, std::set<Key>* written) const {
  if (!seen->insert(block).second) return;
  for (const proto::OpDesc& desc : program_.desc().blocks(block).ops()) {
    for (const proto::OpDesc::Var& parameter : desc.outputs()) {
      for (const std::string& name : parameter.arguments()) written->insert(KeyOf(block, name));
    }
    for (const proto::OpDesc::Attr& attribute : desc.attrs()) {
      const int inner = attribute.block_idx();
      if (attribute.type() == proto::BLOCK && inner > 0 && inner < program_.desc().blocks_size() &&
          program_.desc().blocks(inner).parent_idx() == block) {
        AddWritten(inner, seen, written);
      }
    }
  }
}

std::vector<TensorSpec> ProgramInference::Run(int outer, int block,
                                              const std::vector<std::string>& sources,
                                              const std::vector<TensorSpec>& values,
                                              const std::vector<std::string>& sinks) {
  std::vector<TensorSpec> results(sinks.size());
  if (block <= 0 || block >= program_.desc().blocks_size() ||
      program_.desc().blocks(block).parent_idx() != outer) {
    return results;
  }
  for (size_t i = 0; i < sources.size() && i < values.size(); ++i) {
    if (program_.FindOwnDeclaration(block, sources[i]) == nullptr) continue;
    const Key key(block, sources[i]);
    known_[key] = Merged(VariableSpec{values[i], std::nullopt}, Declared(key));
    written_.insert(key);
  }
  Follow(block);
  for (size_t i = 0; i < sinks.size(); ++i) results[i] = Find(block, sinks[i]).tensor;
  return results;
}

std::vector<TensorSpec> InferBlock(const Program& program, int block,
                                   const std::map<std::string, TensorSpec>& given,
                                   const std::vector<std::string>& sinks) {
  const auto outside = [&given](const std::string& name) {
    const auto found = given.find(name);
    return found == given.end() ? VariableSpec() : VariableSpec{found->second, std::nullopt};
  };
  const auto fail = [&program](int where, int op, const std::string& problem) {
    throw Error(ErrorCode::kInvalidArgument, program.OperatorProblem(where, op, {}, problem).text);
  };
  ProgramInference inference(program, block, outside, fail);
  for (const auto& [name, value] : given) {
    if (program.FindOwnDeclaration(block, name) != nullptr) inference.Give(name, value);
  }
  inference.Follow(block);
  std::vector<TensorSpec> results;
  results.reserve(sinks.size());
  for (const std::string& name : sinks) results.push_back(inference.Find(block, name).tensor);
  return results;
}

}  // namespace millhopper
