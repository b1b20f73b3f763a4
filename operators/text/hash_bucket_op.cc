// SPDX-License-Identifier: Apache-2.0
// hash_bucket: words become numbers below a limit.
#include <cstdint>
#include <string_view>

#include "framework/base/attribute.h"
#include "operators/support/sequences.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema(
             "Words become numbers by their hash, as hash= of fields makes them: XXH64 of the "
             "bytes "
             "with seed 0, modulo buckets. Different words may get one number.")
      .Input(
          "X",
          "uint8 [n]: the bytes of one word, or, divided by its last level of detail, of several")
      .Output("Out", "int64, dims [words], with the levels of detail of X but the last")
      .Attr(AttributeSchema("buckets", int64_t{}, "the numbers are below it").Required().AtLeast(1))
      .Attr(AttributeSchema("null", int64_t{},
                            "what the empty word becomes, as which a null is read; if it is not "
                            "given, it is a word like others")
                .Optional())
      .Infer([](InferContext& context) {
        RequireText(context, "X");
        context.SetOut("Out", RowForEachSequence(context.In("X"), DataType::kInt64));
      });
}

void Run(OpContext& context) {
  RequireText(context, "X");
  const auto buckets = static_cast<uint64_t>(context.Attr<int64_t>("buckets"));
  LoDTensor* const out = context.Out("Out");
  const StableInput x(context.In("X"), out);
  const Sequences words(*x);
  auto* const numbers = out->Allocate<int64_t>({static_cast<int64_t>(words.size())});
  const bool knows_nulls = context.IsGiven("null");
  const int64_t null = knows_nulls ? context.Attr<int64_t>("null") : 0;
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = TextOf(*x, words, i);
    numbers[i] =
        knows_nulls && word.empty() ? null : static_cast<int64_t>(HashBucket(word, buckets));
  }
  SetOuterLevels(*x, out);
}

REGISTER_OPERATOR(hash_bucket, Schema, Run);

}  // namespace
}  // namespace millhopper
