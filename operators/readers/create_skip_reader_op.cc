// SPDX-License-Identifier: Apache-2.0
// create_skip_reader: all but the first elements of every pass.
#include <memory>
#include <string>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/operator_check.h"
#include "framework/program/program.h"
#include "operators/readers/support/pass_order.h"
#include "operators/readers/support/reader_creation.h"
#include "proto/framework.pb.h"
#include "readers/decorate/skip_reader.h"
#include "readers/lanes/lane_stretch.h"

namespace millhopper {
namespace {

// The usual use is to take the first elements for validation and to skip them for training. To take
// some elements of a shuffled reader makes sense, but to skip random ones does not.
std::string Warn(const Program& program, int block, int op) {
  const proto::OpDesc& desc = program.desc().blocks(block).ops(op);
  const OpSchema& schema = FindOperator(desc.type())->schema;
  const AttributeMap attributes = CheckAttributes(schema, desc, [](const auto&, const auto&) {});
  if (attributes.Get<int64_t>("count") == 0) return "";
  const std::string reason = WhyPassesDiffer(program, block, op);
  if (reason.empty()) return "";
  return StrCat(
      "leaves out other elements in each pass; so from the second pass on a training part that "
      "skips those that a validation part takes has elements of it (create_split_reader divides "
      "elements in any order): ",
      reason);
}

OpSchema SkipSchema() {
  return DecoratedReaderSchema(
             "Leaves out the first count elements of every pass of a reader, which are not loaded. "
             "On a reader whose order differs from pass to pass it is a warning: "
             "create_split_reader divides elements for validation, in any order. Of lanes that "
             "create_shard_reader has shared, each leaves out its part, as create_take_reader "
             "yields it; a count of whole rounds (a stripe of each lane) leaves even lanes even.")
      .Attr(AttributeSchema("count", int64_t{0}, "how many are left out").Required().AtLeast(0))
      .LaneWise([](const AttributeMap&, bool shared) { return shared; })
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots)
      .Warn(Warn);
}

void CreateSkipReader(OpContext& context) {
  StoreStretch(
      context,
      [&context](std::unique_ptr<ReaderBase> below, LaneNumber) {
        return std::make_unique<SkipReader>(std::move(below), context.Attr<int64_t>("count"));
      },
      LaneStretch::Keep::kRest);
}

REGISTER_OPERATOR(create_skip_reader, SkipSchema, CreateSkipReader);

}  // namespace
}  // namespace millhopper
