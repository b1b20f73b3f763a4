// SPDX-License-Identifier: Apache-2.0
// create_random_data_generator: random data instead of files.
#include "framework/base/error.h"
#include "framework/program/infer_context.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/sources/random_data_reader.h"

namespace millhopper {
namespace {

OpSchema RandomDataSchema() {
  return WithSlotAttributes(
             ReaderCreationSchema(
                 "Yields float32 values, uniform in [low, high), instead of files.")
                 .Attr({"low", 0.0f, "the lowest value"})
                 .Attr({"high", 1.0f, "values are below this one"})
                 .Attr({"seed", int64_t{0},
                        "decides the values together with --seed and the name of Out"})
                 .Attr(AttributeSchema("count", int64_t{0},
                                       "elements in a pass; 0: the pass has no end")
                           .AtLeast(0))
                 .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
                   Require(attributes.Get<float>("low") < attributes.Get<float>("high"),
                           "attribute 'low' is ", attributes.Get<float>("low"),
                           "; it must be below 'high', which is ", attributes.Get<float>("high"));
                 }))
      .Infer([](InferContext& context) { InferSlotsOfAttributes(context, DataType::kFp32); });
}

void CreateRandomDataGenerator(OpContext& context) {
  std::vector<SlotSpec> slots = AgreeOnSlots(SlotsDeclaredFor(context, {}), {});
  StoreReader(context,
              std::make_unique<RandomDataReader>(
                  std::move(slots), context.Attr<float>("low"), context.Attr<float>("high"),
                  context.Attr<int64_t>("count"), RandomKeyOf(context)));
}

REGISTER_OPERATOR(create_random_data_generator, RandomDataSchema, CreateRandomDataGenerator);

}  // namespace
}  // namespace millhopper
