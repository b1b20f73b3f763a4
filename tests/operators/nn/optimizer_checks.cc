// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/nn/optimizer_checks.h"

#include <iterator>

#include "tests/testing.h"

namespace millhopper {

SlotTensors OptimizerInputs(const SlotTensors& state) {
  SlotTensors inputs = {
      {"Param", MakeTensor<double>({3}, {std::begin(kParams), std::end(kParams)})},
      {"Grad", MakeTensor<double>({3}, {std::begin(kGrads), std::end(kGrads)})},
      {"LearningRate", MakeTensor<double>({1}, {0.1})}};
  inputs.insert(inputs.end(), state.begin(), state.end());
  return inputs;
}

void ExpectInputRefused(const std::string& words, const std::string& type,
                        const SlotTensors& inputs, const std::string& slot, const LoDTensor& tensor,
                        const std::vector<std::string>& outputs, const Attributes& attributes) {
  SlotTensors changed = inputs;
  for (auto& [name, value] : changed) {
    if (name == slot) value = tensor;
  }
  ExpectRefused(words, type, changed, outputs, attributes);
}

}  // namespace millhopper
