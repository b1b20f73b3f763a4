// SPDX-License-Identifier: Apache-2.0
// create_double_buffer_reader: loads elements ahead of their use and can copy them to a device.
#include "framework/program/run_state.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/decorate/double_buffer_reader.h"

namespace millhopper {
namespace {

constexpr char kAuto[] = "AUTO";

OpSchema DoubleBufferSchema() {
  return DecoratedReaderSchema(
             "Keeps elements of a reader ready: worker threads load them ahead of their use.")
      .Attr(
          {"place", kAuto,
           "where the elements are put: \"AUTO\" is the executor's place, else \"CPU\" or the name "
           "of a device such as \"CUDA:0\""})
      .Attr(AttributeSchema("depth", int32_t{2},
                            "how many elements are kept ready. Those that load in less than about "
                            "5 us are loaded when they are asked for, because handing them over "
                            "from a worker thread would take longer")
                .AtLeast(1))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const std::string& place = attributes.Get<std::string>("place");
        if (place != kAuto) Place::Parse(place);
      })
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateDoubleBufferReader(OpContext& context) {
  const std::string& place = context.Attr<std::string>("place");
  StoreReader(context, std::make_unique<DoubleBufferReader>(
                           UnderlyingReaderOfRank(context),
                           place == kAuto ? context.run().place : Place::Parse(place),
                           context.Attr<int32_t>("depth")));
}

REGISTER_OPERATOR(create_double_buffer_reader, DoubleBufferSchema, CreateDoubleBufferReader);

}  // namespace
}  // namespace millhopper
