// SPDX-License-Identifier: Apache-2.0
#include "operators/readers/support/collation_attributes.h"

#include <string>
#include <utility>
#include <vector>

#include "framework/program/infer_context.h"
#include "operators/readers/support/reader_creation.h"

namespace millhopper {

OpSchema WithCollation(OpSchema schema, bool is_choice) {
  if (is_choice) {
    schema.Attr({"pad", false,
                 "pad the sequences of slots with one level of detail to one length: such a slot "
                 "becomes [elements, length, ...] without levels. Otherwise elements are joined "
                 "along axis 0, as create_batch_reader does"});
  }
  return std::move(
      schema
          .Attr(AttributeSchema("pad_length", std::vector<int64_t>{0},
                                "the length that sequences are padded to; a longer one is an "
                                "error. 0 is the length of the longest sequence of the batch. One "
                                "for each slot that is padded, or one for all")
                    .AtLeast(0))
          .Attr(AttributeSchema("pad_multiple", int64_t{1},
                                "where pad_length is 0: the length is rounded up to a multiple of "
                                "it")
                    .AtLeast(1))
          .Attr({"pad_values", std::vector<double>{0},
                 "the value after shorter sequences: one for each slot that is padded, or one for "
                 "all"})
          .Attr({"lengths", false,
                 "add a slot int64 [elements, 1] with the lengths of the sequences for each slot "
                 "that is padded, after all other slots; Python calls that of text text_length"})
          .AddsSlots([](const AttributeMap& attributes) {
            const CollationOptions options = CollationOf(attributes);
            return std::vector<std::string>(options.pad && options.lengths ? 1 : 0, "*_length");
          })
          .Infer([](InferContext& context) {
            InferSlotsFrom(context, [&](const std::vector<SlotSpec>& below) {
              return CollatedSlots(below, CollationOf(context.attributes()));
            });
          }));
}

CollationOptions CollationOf(const AttributeMap& attributes) {
  CollationOptions options;
  options.pad = !attributes.Has("pad") || attributes.Get<bool>("pad");
  options.pad_lengths = attributes.Get<std::vector<int64_t>>("pad_length");
  options.pad_multiple = attributes.Get<int64_t>("pad_multiple");
  options.pad_values = attributes.Get<std::vector<double>>("pad_values");
  options.lengths = attributes.Get<bool>("lengths");
  return options;
}

}  // namespace millhopper
