// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/operators/tokenize_target.h"

#include <glog/logging.h>

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace millhopper {
namespace {

std::vector<int32_t> Encode(const BytePairEncoder& encoder, PiecePattern pattern,
                            const std::string& text) {
  // Memory of exactly these sizes, so that a sanitizer sees an access past its end.
  const std::vector<uint8_t> exact(text.begin(), text.end());
  std::vector<int32_t> ids(text.size());
  const size_t count = encoder.Encode(pattern, exact.data(), exact.size(), ids.data());
  CHECK_LE(count, text.size());
  ids.resize(count);
  return ids;
}

}  // namespace

void CheckTokens(const BytePairEncoder& encoder, const std::string& text) {
  std::unordered_map<int32_t, std::string_view> bytes_of;
  for (uint32_t token = 0; token < encoder.tokens().size(); ++token) {
    CHECK(bytes_of.emplace(encoder.tokens().id(token), encoder.tokens().bytes(token)).second);
  }
  for (const PiecePattern pattern :
       {PiecePattern::kGpt2, PiecePattern::kCl100k, PiecePattern::kNone}) {
    const std::vector<int32_t> ids = Encode(encoder, pattern, text);
    CHECK(ids == Encode(encoder, pattern, text));
    std::string bytes;
    for (const int32_t id : ids) bytes += bytes_of.at(id);
    CHECK(bytes == text);
  }
}

}  // namespace millhopper
