// SPDX-License-Identifier: Apache-2.0
// truncate: the first or the last rows of each sequence.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "operators/support/sequences.h"

namespace millhopper {
namespace {

OpSchema Schema() {
  return OpSchema(
             "Keeps the first or the last rows of each sequence; shorter ones stay as they are.")
      .Input("X",
             "[rows, ...] of any type: sequences, which its last level of detail divides, or one "
             "sequence without levels")
      .Output("Out", "the rows that are kept, with the levels of detail of X; may be X")
      .Attr(AttributeSchema("length", int64_t{}, "how many rows of a sequence are kept at most")
                .Required()
                .AtLeast(0))
      .Attr(AttributeSchema("keep", std::string("first"), "which of them").OneOf({"first", "last"}))
      .Infer([](InferContext& context) {
        TensorSpec spec = context.In("X");
        if (spec.dims) {
          if (spec.dims->empty()) context.ThrowUnfit("X", "it has no rows");
          int64_t& rows = (*spec.dims)[0];
          const bool is_one = spec.lod_level && *spec.lod_level == 0 && rows >= 0;
          rows = is_one ? std::min(rows, context.Attr<int64_t>("length")) : -1;
        }
        context.SetOut("Out", spec);
      });
}

void Run(OpContext& context) {
  const auto length = static_cast<uint64_t>(context.Attr<int64_t>("length"));
  const bool first = context.Attr<std::string>("keep") == "first";
  LoDTensor* const out = context.Out("Out");
  const LoDTensor x = context.In("X");  // a copy that shares the values, since Out may be X
  RequireInput(!x.dims().empty() && x.on_host(), context, "X", "[rows, ...] on the cpu is needed");
  const Sequences sequences(x);
  LodLevel offsets;
  offsets.reserve(sequences.size() + 1);
  offsets.push_back(0);
  for (size_t i = 0; i < sequences.size(); ++i) {
    offsets.push_back(offsets.back() + std::min(sequences.length(i), length));
  }
  Dims dims = x.dims();
  dims[0] = static_cast<int64_t>(offsets.back());
  out->Allocate(x.dtype(), dims);
  if (x.bytes() > 0) {
    const size_t row = x.bytes() / x.rows();
    const auto* const from = static_cast<const char*>(x.raw_data());
    auto* const to = static_cast<char*>(out->mutable_raw_data());
    for (size_t i = 0; i < sequences.size(); ++i) {
      const uint64_t kept = offsets[i + 1] - offsets[i];
      const uint64_t begin = first ? sequences.begin(i) : sequences.end(i) - kept;
      if (kept > 0) std::memcpy(to + offsets[i] * row, from + begin * row, kept * row);
    }
  }
  if (!x.lod().empty()) SetLastLevel(x, std::move(offsets), out);
}

REGISTER_OPERATOR(truncate, Schema, Run);

}  // namespace
}  // namespace millhopper
