// SPDX-License-Identifier: Apache-2.0
// Suggestions for misspelt words.
#include "framework/base/spelling.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

TEST(NearestWord, FindsWhatSomebodyMeantToType) {
  const Strings words = {"buffer_size", "seed", "batch_size", "X"};
  EXPECT_EQ(NearestWord("bufer_size", words), "buffer_size");
  EXPECT_EQ(NearestWord("bacth_size", words), "batch_size") << "two letters swapped";
  EXPECT_EQ(NearestWord("sed", words), "seed");
  EXPECT_EQ(NearestWord("x", words), "X");
  EXPECT_EQ(NearestWord("learning_rate", words), "");
  EXPECT_EQ(NearestWord("seed", {}), "");
  EXPECT_EQ(NearestWord("sed", {"separator", "sedate", "seed"}), "seed");
  EXPECT_EQ(NearestWord("sep", {"delimiter", "separator"}), "separator");
  EXPECT_EQ(NearestWord("se", {"delimiter", "separator"}), "");
  EXPECT_EQ(NearestWord(std::string(200, 'a'), {std::string(199, 'a')}), "");
}

TEST(NearestWord, FindsWordsWithAnotherEnding) {
  const Strings words = {"persistable", "type", "name"};
  EXPECT_EQ(NearestWord("persistent", words), "persistable");
  EXPECT_EQ(NearestWord("persuasion", words), "");
  EXPECT_EQ(NearestWord("typewriter", words), "");
}

TEST(NearestWord, LooksForABoundedTime) {
  const std::string word(100, 'a');
  const std::string near = word + "b";
  const std::string far =
      std::string(70, 'a') + std::string(40, 'c');  // which takes a while to see
  {
    const SpellingLimit limit;
    EXPECT_EQ(NearestWord(word, {far, near}), near);
    EXPECT_EQ(NearestWord(word, Strings(100000, far)), "");
    EXPECT_EQ(NearestWord(word, {near}), "") << "the time of all is used up";
    EXPECT_EQ(DidYouMean("sed", {"seed"}), "");
  }
  EXPECT_EQ(NearestWord(word, {near}), near);
  Strings many(100000, far);
  many.push_back(near);
  EXPECT_EQ(NearestWord(word, many), "");
}

TEST(NearestWord, TheFirstOfEquallyNearWordsWins) {
  EXPECT_EQ(NearestWord("rat", {"cat", "bat"}), "cat");
  EXPECT_EQ(DidYouMean("rat", {"cat", "bat"}), "; did you mean 'cat'?");
  EXPECT_EQ(DidYouMean("elephant", {"cat", "bat"}), "");
  EXPECT_EQ(DidYouMean("cat", {"ca\n"}), "; did you mean 'ca\\n'?")
      << "a name of a hostile program";
}

}  // namespace
}  // namespace millhopper
