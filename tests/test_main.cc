// SPDX-License-Identifier: Apache-2.0
// Runs the tests of one source: the one that the program is called by. Programs have the tests of
// several (tools/bazel/tests.bzl).
#include <errno.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>
#include <string>
#include <utility>

namespace {

// "batch_reader_test" of tests/readers/decorate/batch_reader_test.parser.cc
std::string NameOf(const std::string& file) {
  const std::string name = std::filesystem::path(file).filename().string();
  return name.substr(0, name.find('.'));
}

bool IsOfATest(const std::string& name) {
  const std::string end = "_test";
  return name.size() > end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

// Once gtest knows what to run, the filter is again what the user gave: it is printed.
class FilterOfTheUser final : public testing::EmptyTestEventListener {
 public:
  explicit FilterOfTheUser(std::string filter) : filter_(std::move(filter)) {}
  void OnTestProgramStart(const testing::UnitTest&) override { GTEST_FLAG_SET(filter, filter_); }

 private:
  const std::string filter_;
};

// Prints failures once more at the very end, because what is kept of a long log, such as CI's, may
// be no more than that.
class FailuresAgain final : public testing::EmptyTestEventListener {
 public:
  void OnTestProgramEnd(const testing::UnitTest& tests) override {
    for (int i = 0; i < tests.total_test_suite_count(); ++i) {
      const testing::TestSuite& suite = *tests.GetTestSuite(i);
      for (int j = 0; suite.Failed() && j < suite.total_test_count(); ++j) {
        const testing::TestInfo& test = *suite.GetTestInfo(j);
        const testing::TestResult& result = *test.result();
        for (int k = 0; result.Failed() && k < result.total_part_count(); ++k) {
          const testing::TestPartResult& part = result.GetTestPartResult(k);
          if (!part.failed() || ++printed_ > kMost) continue;
          std::cout << "failed: " << suite.name() << "." << test.name() << ": "
                    << (part.file_name() == nullptr ? "" : part.file_name()) << ":"
                    << part.line_number() << ": " << part.message() << std::endl;
        }
      }
    }
  }

 private:
  static constexpr int kMost = 20;
  int printed_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  testing::UnitTest& tests = *testing::UnitTest::GetInstance();
  const std::string asked = GTEST_FLAG_GET(filter);
  // Beyond the first '-' stand the tests that are left out.
  std::string filter = asked + (asked.find('-') == std::string::npos ? "-" : ":");
  int own = 0;
  for (int i = 0; i < tests.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *tests.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const testing::TestInfo& test = *suite.GetTestInfo(j);
      // Tests in headers and of fuzz targets are those of the only program that has them.
      const std::string name = NameOf(test.file());
      if (IsOfATest(name) && name != program_invocation_short_name) {
        filter += std::string(suite.name()) + "." + test.name() + ":";
      } else {
        ++own;
      }
    }
  }
  if (own == 0) {
    std::cerr << program_invocation_short_name << " has no test in a source of its name\n";
    return 1;
  }
  GTEST_FLAG_SET(filter, filter);
  tests.listeners().Append(new FilterOfTheUser(asked));
  tests.listeners().Append(new FailuresAgain);
  return RUN_ALL_TESTS();
}
