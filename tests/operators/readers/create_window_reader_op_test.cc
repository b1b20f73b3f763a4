// SPDX-License-Identifier: Apache-2.0
// The operator create_window_reader.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fakes/documents.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Texts = std::vector<std::string>;

const std::vector<std::vector<int64_t>> kDocuments = {{0}, {1}, {2, 2}, {3}, {4}};

TEST(CreateWindowReaderOp, SlidesOverTheElements) {
  EXPECT_EQ(ShownOf("create_window_reader", {{"size", "i: 3"}, {"shift", "i: 1"}}, kDocuments),
            (Texts{"[4] 0 1 2 2 from 0 1 2 4", "[4] 1 2 2 3 from 0 1 3 4",
                   "[4] 2 2 3 4 from 0 2 3 4", "[2] 3 4 from 0 1 2", "[1] 4 from 0 1"}));
}

TEST(CreateWindowReaderOp, DropsWindowsThatAreCutOff) {
  EXPECT_EQ(ShownOf("create_window_reader", {{"size", "i: 2"}, {"discard_leftover", "b: true"}},
                    kDocuments),
            (Texts{"[2] 0 1 from 0 1 2", "[3] 2 2 3 from 0 2 3"}));
}

TEST(CreateWindowReaderOp, LeavesElementsOutBetweenAndWithinWindows) {
  EXPECT_EQ(ShownOf("create_window_reader", {{"size", "i: 1"}, {"shift", "i: 3"}}, kDocuments),
            (Texts{"[1] 0 from 0 1", "[1] 3 from 0 1"}));
  EXPECT_EQ(ShownOf("create_window_reader",
                    {{"size", "i: 2"},
                     {"shift", "i: 1"},
                     {"stride", "i: 2"},
                     {"discard_leftover", "b: true"}},
                    kDocuments),
            (Texts{"[3] 0 2 2 from 0 1 3", "[2] 1 3 from 0 1 2", "[3] 2 2 4 from 0 2 3"}));
}

TEST(CreateWindowReaderOp, RefusesASizeOfZero) {
  ProgramRunner runner;
  runner.Reader("source").Reset(MakeDocuments(kDocuments));
  runner.ExpectProblem(DecoratorProgram("create_window_reader", {{"size", "i: 0"}}),
                       "it must be at least 1");
}

}  // namespace
}  // namespace millhopper
