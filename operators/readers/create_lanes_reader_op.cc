// SPDX-License-Identifier: Apache-2.0
// create_lanes_reader: deals the records of a source to lanes.
#include <memory>
#include <utility>

#include "framework/base/error.h"
#include "operators/readers/support/reader_creation.h"
#include "operators/readers/support/reader_variable.h"
#include "readers/lanes/lanes_reader.h"
#include "readers/lanes/record_lanes.h"

namespace millhopper {
namespace {

OpSchema LanesSchema() {
  return DecoratedReaderSchema(
             "Deals the records of a source, such as arrays or a single file, to lanes by turns. "
             "One thread at a time shuffles and maps in a lane, and loads its part of a batch, so "
             "that more threads are faster. The elements depend on the number of lanes, not on "
             "that of threads. For files, open_files deals chunks itself, which is faster.")
      .Attr(AttributeSchema("lanes", int32_t{}, "how many lanes there are").Required().AtLeast(1))
      .Attr(AttributeSchema("stripe", int32_t{0},
                            "how many elements of each lane in turn are the stream of lanes; 0: as "
                            "many as make a batch of one stripe of each, or 1")
                .AtLeast(0))
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        CheckLanes(attributes.Get<int32_t>("lanes"));
      })
      .Infer(InferSameSlots)
      .Composes(Composition::kSameSlots);
}

void CreateLanesReader(OpContext& context) {
  Require(!ReaderOf(context, "UnderlyingReader").TakeLanes(), "the reader has lanes already");
  LaneSet lanes = MakeRecordLanes(UnderlyingReader(context),
                                  static_cast<size_t>(context.Attr<int32_t>("lanes")));
  lanes.stripe = static_cast<size_t>(context.Attr<int32_t>("stripe"));
  StoreReader(context, std::make_unique<LanesReader>(std::move(lanes)));
}

REGISTER_OPERATOR(create_lanes_reader, LanesSchema, CreateLanesReader);

}  // namespace
}  // namespace millhopper
