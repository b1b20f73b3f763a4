// SPDX-License-Identifier: Apache-2.0
#include "readers/decorate/filter_reader.h"

#include <utility>

#include "readers/decorate/map_reader.h"

namespace millhopper {
namespace {

class Filter final : public Stage {
 public:
  explicit Filter(FilterReader::Function function) : function_(std::move(function)) {}

  size_t Work(StagedElement* element) const override {
    return function_(element->id, element->tensors) ? 1 : 0;
  }
  bool keeps_slots() const override { return true; }
  size_t most_together() const override { return 64; }

 private:
  const FilterReader::Function function_;
};

}  // namespace

FilterReader::FilterReader(std::unique_ptr<ReaderBase> reader, Function function,
                           std::string description)
    : StageReader(std::move(reader), reader->slots(), std::make_unique<Filter>(std::move(function)),
                  DepthForAllWorkers()),
      description_(std::move(description)) {}

void FilterReader::SaveState(ReaderState* state) const {
  StageReader::SaveState(state);
  SaveFunction(description_, state);
}

}  // namespace millhopper
