// SPDX-License-Identifier: Apache-2.0
// create_range_reader: the numbers from 0 on, in order or shuffled.
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/program/infer_context.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/sources/range_reader.h"

namespace millhopper {
namespace {

OpSchema RangeSchema() {
  return ReaderCreationSchema("Yields the numbers 0, 1 ... count - 1, each as int64 [1].")
      .Attr(AttributeSchema("count", int64_t{}, "how many").Required().AtLeast(0))
      .Attr({"shuffle_records", false,
             "in a random order, another one in each pass, without memory for those that wait"})
      .Attr({"seed", int64_t{0}, "decides the order together with --seed and the name of Out"})
      .Attr(ReshuffleAttribute())
      .Order([](const AttributeMap& attributes) {
        return attributes.Get<bool>("shuffle_records") ? ShuffledOrder(attributes) : PassOrder();
      })
      .Infer([](InferContext& context) {
        SlotSpec slot;
        slot.dtype = DataType::kInt64;
        slot.dims = {1};
        context.SetOutVar("Out", {{}, {{SpecOf(slot)}}});
      });
}

void CreateRangeReader(OpContext& context) {
  std::optional<RandomKey> key;
  if (context.Attr<bool>("shuffle_records")) key = OrderKeyOf(context);
  StoreReader(context, std::make_unique<RangeReader>(
                           static_cast<uint64_t>(context.Attr<int64_t>("count")), key));
}

REGISTER_OPERATOR(create_range_reader, RangeSchema, CreateRangeReader);

}  // namespace
}  // namespace millhopper
