// SPDX-License-Identifier: Apache-2.0
#include "python/core/inference.h"

#include <google/protobuf/util/json_util.h>
#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/program/inference.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// What is known of a tensor: the number of its type, its dims, its levels of detail; and of a
// variable, with the slots if it is a reader.
using Tensor =
    std::tuple<std::optional<int>, std::optional<std::vector<int64_t>>, std::optional<int>>;
using Known = std::tuple<Tensor, std::optional<std::vector<Tensor>>>;
// Tells what is known of the variable of this name, as seen from the block of this number.
using Find = std::function<std::optional<Known>(int block, const std::string& name)>;

TensorSpec SpecOfPython(const Tensor& tensor) {
  const auto& [dtype, dims, lod_level] = tensor;
  TensorSpec spec;
  if (dtype && IsDataType(*dtype)) spec.dtype = DataTypeFromNumber(*dtype);
  if (dims && dims->size() <= kMaxRank) spec.dims = Dims(*dims);
  spec.lod_level = lod_level;
  return spec;
}

Tensor ToPython(const TensorSpec& spec) {
  Tensor tensor;
  if (spec.dtype) std::get<0>(tensor) = static_cast<int>(*spec.dtype);
  if (spec.dims) std::get<1>(tensor).emplace(spec.dims->begin(), spec.dims->end());
  std::get<2>(tensor) = spec.lod_level;
  return tensor;
}

VariableSpec SpecOfPython(const std::optional<Known>& known) {
  VariableSpec spec;
  if (!known) return spec;
  spec.tensor = SpecOfPython(std::get<0>(*known));
  if (const auto& slots = std::get<1>(*known)) {
    spec.slots.emplace();
    for (const Tensor& slot : *slots) spec.slots->push_back(SpecOfPython(slot));
  }
  return spec;
}

Known ToPython(const VariableSpec& spec) {
  Known known;
  std::get<0>(known) = ToPython(spec.tensor);
  if (spec.slots) {
    std::get<1>(known).emplace();
    for (const TensorSpec& slot : *spec.slots) std::get<1>(known)->push_back(ToPython(slot));
  }
  return known;
}

// Returns what is known of the outputs of an operator of a block, by name. `op` is the message
// OpDesc as JSON.
std::vector<std::pair<std::string, Known>> Infer(const std::string& op, int block,
                                                 const Find& find) {
  proto::OpDesc desc;
  const auto status = google::protobuf::util::JsonStringToMessage(op, &desc);
  Require(status.ok(), "the operator: ", status.ToString());
  const auto run_block = [&find](BlockIndex inner, const auto&, const auto&,
                                 const std::vector<std::string>& sinks) {
    std::vector<TensorSpec> specs;  // known, since the inner block's operators have been appended
    specs.reserve(sinks.size());
    for (const std::string& name : sinks) {
      specs.push_back(SpecOfPython(find(inner.value, name)).tensor);
    }
    return specs;
  };
  std::vector<std::pair<std::string, Known>> results;
  for (const auto& [slot, arguments] : InferOutputs(
           desc, [&](const std::string& name) { return SpecOfPython(find(block, name)); },
           run_block)) {
    for (const InferContext::Argument& output : arguments) {
      results.emplace_back(output.name, ToPython(output.spec));
    }
  }
  return results;
}

}  // namespace

void DefineInference(py::module_* module) {
  module->def("infer", &Infer, py::arg("op"), py::arg("block"), py::arg("find"));
}

}  // namespace millhopper
