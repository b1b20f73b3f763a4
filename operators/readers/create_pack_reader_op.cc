// SPDX-License-Identifier: Apache-2.0
// create_pack_reader: packs documents into rows of a fixed length.
#include <string>
#include <vector>

#include "framework/program/infer_context.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/gather/pack_reader.h"

namespace millhopper {
namespace {

void Infer(InferContext& context) {
  const int32_t length = context.Attr<int32_t>("length");
  const bool labels = !context.Attr<std::vector<double>>("labels").empty();
  InferSlotsFrom(context, [=](const std::vector<SlotSpec>& below) {
    return PackedSlots(below, length, labels);
  });
}

OpSchema PackSchema() {
  return DecoratedReaderSchema(
             "Packs documents, one an element, into rows of a fixed length, for training on "
             "sequences without much padding. Each slot becomes [1, length, ...]; two slots "
             "follow, int32 [1, length], which Python calls document_ids and positions: the number "
             "of the document in the row that a step is of, from 1 (0 is padding), and its "
             "position in the document, from 0. Two steps may attend to each other if their ids "
             "are equal and not 0.\n\n"
             "A piece of a document that is split counts as a document. Documents without steps "
             "are left out. A document whose slots have different lengths, or that holds several "
             "sequences (a batch), is an error.\n\n"
             "Like FirstFitPackIterDataset and ConcatThenSplitIterDataset of Grain; the fullest "
             "row is yielded here where Grain yields all.")
      .Attr(AttributeSchema("length", int32_t{}, "steps of a row").Required().AtLeast(1))
      .Attr(AttributeSchema("method", "first_fit",
                            "which row a document goes into: \"first_fit\", the oldest open row "
                            "that has room; \"best_fit\", the open row that it leaves the least "
                            "room in; \"concat_then_split\": documents are laid end to end and cut "
                            "into rows")
                .OneOf({"first_fit", "best_fit", "concat_then_split"}))
      .Attr(AttributeSchema("bins", int32_t{64},
                            "rows that are open at once; if a document fits into none of them, the "
                            "fullest is yielded. More rows leave less padding and hold more memory")
                .AtLeast(1))
      .Attr(AttributeSchema("overlong", "error",
                            "what becomes of a document that is longer than a row: \"error\"; "
                            "\"truncate\", its first steps are packed; \"split\", it is cut into "
                            "rows, and the rest is packed")
                .OneOf({"error", "truncate", "split"}))
      .Attr({"pad_values", std::vector<double>{0},
             "the value that fills up rows: one for each slot, or one for all"})
      .Attr(
          {"labels", std::vector<double>{},
           "one value, such as -100: adds a slot before these two, which Python calls labels, for "
           "models that learn to tell the next token: what follows each step of the first slot "
           "in its document, also where the document goes on in another row; the value where the "
           "document ends, and in the padding"})
      .Check([](const proto::OpDesc&, const AttributeMap& attributes) {
        const size_t values = attributes.Get<std::vector<double>>("labels").size();
        Require(values <= 1, "attribute 'labels' has ", values, " values; it may have one");
      })
      .AddsSlots([](const AttributeMap& attributes) -> std::vector<std::string> {
        if (attributes.Get<std::vector<double>>("labels").empty()) {
          return {"document_ids", "positions"};
        }
        return {"labels", "document_ids", "positions"};
      })
      .LaneWise()
      .Infer(Infer)
      .Composes(Composition::kPackedRows);
}

void CreatePackReader(OpContext& context) {
  PackOptions options;
  options.length = context.Attr<int32_t>("length");
  options.method = PackMethodOf(context.Attr<std::string>("method"));
  options.bins = context.Attr<int32_t>("bins");
  options.overlong = OverlongOf(context.Attr<std::string>("overlong"));
  const auto& labels = context.Attr<std::vector<double>>("labels");
  if (!labels.empty()) options.labels = labels.front();
  options.pad_values = context.Attr<std::vector<double>>("pad_values");
  StoreLaneWise(context, [&options](std::unique_ptr<ReaderBase> below, LaneNumber) {
    return std::make_unique<PackReader>(std::move(below), options);
  });
}

REGISTER_OPERATOR(create_pack_reader, PackSchema, CreatePackReader);

}  // namespace
}  // namespace millhopper
