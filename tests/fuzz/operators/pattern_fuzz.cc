// SPDX-License-Identifier: Apache-2.0
// Fuzzes regular expressions: the first line of an input is one, the rest is the text that it is
// looked for in.
#include <glog/logging.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "operators/text/tokens/needle.h"
#include "operators/text/unicode/utf8.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

void Fuzz(const std::string& input) {
  const size_t line = std::min(input.find('\n'), input.size());
  // A short text, since some expressions take a time that grows with its square.
  const std::string rest = input.substr(line, 200);
  const std::vector<uint8_t> exact(rest.begin(), rest.end());
  const uint8_t* const end = EndOfUtf8(exact.data(), exact.data() + exact.size());
  for (const auto notation : {Pattern::Notation::kOniguruma, Pattern::Notation::kRust}) {
    Outcome([&] {
      const Needle needle{Pattern(input.substr(0, line), notation)};
      const uint8_t* first = nullptr;
      for (const uint8_t* here = exact.data();
           needle.Find(exact.data(), here, end, &first, &here);) {
        CHECK(first < here && here <= end);
      }
    });
  }
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  millhopper::Fuzz(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}
