// SPDX-License-Identifier: Apache-2.0
#include "readers/filter_reader.h"

#include <utility>

namespace millhopper {
namespace {

// Groups that are worked on ahead: enough for the workers of a large machine.
constexpr int64_t kDepth = 32;

class Filter final : public Stage {
 public:
  explicit Filter(FilterReader::Function function) : function_(std::move(function)) {}

  void Work(const RecordId& id, std::vector<LoDTensor>* element, StageOutput* out) const override {
    if (function_(id, *element)) out->Add()->tensors.swap(*element);
  }
  bool keeps_slots() const override { return true; }
  size_t most_together() const override { return 64; }

 private:
  const FilterReader::Function function_;
};

}  // namespace

FilterReader::FilterReader(std::unique_ptr<ReaderBase> reader, Function function)
    : StageReader(std::move(reader), reader->slots(), std::make_unique<Filter>(std::move(function)),
                  kDepth) {}

}  // namespace millhopper
