// SPDX-License-Identifier: Apache-2.0
// create_token_batch_reader: makes batches of about equally many tokens.
#include <string>

#include "operators/readers/support/collation_attributes.h"
#include "operators/readers/support/reader_creation.h"
#include "readers/gather/token_batch_reader.h"

namespace millhopper {
namespace {

OpSchema TokenBatchSchema() {
  return WithCollation(
      DecoratedReaderSchema("Joins elements into batches of at most max_tokens tokens, as many as "
                            "follow one another. An element that holds several sequences is an "
                            "error.")
          .Attr(AttributeSchema("max_tokens", int64_t{}, "tokens of a batch at most")
                    .Required()
                    .AtLeast(1))
          .Attr(AttributeSchema("slot", int64_t{0}, "the slot whose steps are the tokens, from 0")
                    .NumbersSlots())
          .Attr(AttributeSchema("count", "sum",
                                "\"sum\" counts the steps of the elements; \"padded\" counts "
                                "elements times the length that the longest of them is padded to")
                    .OneOf({"sum", "padded"}))
          .Attr(AttributeSchema("overlong", "error",
                                "what becomes of an element of more than max_tokens tokens: "
                                "\"error\"; \"alone\", it is a batch alone")
                    .OneOf({"error", "alone"}))
          .Attr(DiscardLeftoverAttribute("leave out the last batch of a pass")),
      true);
}

void CreateTokenBatchReader(OpContext& context) {
  TokenBatchOptions options;
  options.max_tokens = context.Attr<int64_t>("max_tokens");
  options.slot = context.Attr<int64_t>("slot");
  options.count_padding = context.Attr<std::string>("count") == "padded";
  options.overlong_alone = context.Attr<std::string>("overlong") == "alone";
  options.discard_leftover = context.Attr<bool>("discard_leftover");
  options.collation = CollationOf(context.attributes());
  StoreReader(context, std::make_unique<TokenBatchReader>(UnderlyingReader(context), options));
}

REGISTER_OPERATOR(create_token_batch_reader, TokenBatchSchema, CreateTokenBatchReader);

}  // namespace
}  // namespace millhopper
