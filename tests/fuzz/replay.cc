// SPDX-License-Identifier: Apache-2.0
// Gives a fuzz target every file of its corpus, and every beginning of the small ones.
#include <errno.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fuzz/target.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr size_t kSmallBytes = 600;

// The corpus of the target that this program was linked with: it is called <parser>_fuzz_test.
std::string Corpus() {
  const std::string name = program_invocation_short_name;
  return "tests/fuzz/corpus/" + name.substr(0, name.rfind("_fuzz_test"));
}

std::vector<std::string> Inputs() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(Corpus())) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void Give(const std::string& input) {
  // Memory of exactly this size, so that a sanitizer sees a read past its end.
  const std::vector<uint8_t> exact(input.begin(), input.end());
  EXPECT_EQ(LLVMFuzzerTestOneInput(exact.data(), exact.size()), 0);
}

class FuzzCorpus : public testing::TestWithParam<std::string> {};

TEST_P(FuzzCorpus, HoldsForAnInputAndItsBeginnings) {
  const std::string input = ReadFile(StrCat(Corpus(), "/", GetParam()));
  Give(input);
  for (size_t size = 0; size < std::min(input.size(), kSmallBytes); ++size) {
    Give(input.substr(0, size));
  }
}

INSTANTIATE_TEST_SUITE_P(Inputs, FuzzCorpus, testing::ValuesIn(Inputs()), [](const auto& info) {
  std::string name = info.param;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace millhopper
