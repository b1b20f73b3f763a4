// SPDX-License-Identifier: Apache-2.0
// create_filter_reader: yields the elements of a reader for which a block of operators says true.
#include <memory>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "operators/readers/support/element_block.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/filter_reader.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

void RequireBool(bool is_bool, const std::string& found) {
  Require(is_bool, "the sink says whether an element is yielded, so it is one bool, not ", found);
}

void Infer(InferContext& context) {
  const std::vector<TensorSpec> sinks = InferSinks(context);
  RequireBool(!sinks[0].dtype || *sinks[0].dtype == DataType::kBool, ToString(sinks[0]));
  context.SetOutVar("Out", context.InVar("UnderlyingReader"));
}

OpSchema FilterSchema() {
  return WithElementBlock(
             DecoratedReaderSchema("Yields the elements of a reader for which a block says true, "
                                   "in parallel and in order.")
                 .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
                   const size_t sinks = attributes.Get<Strings>("sink_var_names").size();
                   Require(sinks <= 1, "attribute 'sink_var_names' has ", sinks,
                           " names; a filter has one sink");
                 }),
             "one variable of the block, bool [1]: whether the element is yielded")
      .ByElement()
      .Infer(Infer)
      .Composes(Composition::kSameSlots);
}

bool Accepts(const ElementBlock& block, const RecordId& id, const std::vector<LoDTensor>& element) {
  // `in` shares the values. The block consumes `in`, and the filter yields `element` unchanged.
  static thread_local std::vector<LoDTensor> in, out;
  in = element;
  block.Run(id, &in, &out, nullptr);
  const LoDTensor accepts = std::move(out[0]);
  in.clear();
  out.clear();
  return accepts.scalar<bool>();
}

void CreateFilterReader(OpContext& context) {
  StoreLaneWise(context, [&context](std::unique_ptr<ReaderBase> below, LaneNumber) {
    const auto block = std::make_shared<const ElementBlock>(context, *below);
    RequireBool(block->sinks()[0].dtype == DataType::kBool, ToString(block->sinks()[0]));
    return std::make_unique<FilterReader>(
        std::move(below),
        [block](const RecordId& id, const std::vector<LoDTensor>& element) {
          return Accepts(*block, id, element);
        },
        block->description());
  });
}

REGISTER_OPERATOR(create_filter_reader, FilterSchema, CreateFilterReader);

}  // namespace
}  // namespace millhopper
