// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/command.h"

#include <gtest/gtest.h>

#include "tests/testing.h"

namespace millhopper {
namespace {

TEST(ParseSettings, TakesTheLastOfAName) {
  const std::map<std::string, std::string> settings = ParseSettings({"a=1", "b=x=y", "a=2", "c="});
  EXPECT_EQ(settings, (std::map<std::string, std::string>{{"a", "2"}, {"b", "x=y"}, {"c", ""}}));
}

TEST(ParseSettings, RefusesWhatIsNoSetting) {
  for (const char* text : {"", "a", "=1"}) {
    ExpectError(ErrorCode::kInvalidArgument, "NAME=VALUE", [text] { ParseSettings({text}); });
  }
}

}  // namespace
}  // namespace millhopper
