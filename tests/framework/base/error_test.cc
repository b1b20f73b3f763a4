// SPDX-License-Identifier: Apache-2.0
// The error family: texts, context, and how foreign exceptions become errors.
#include "framework/base/error.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

namespace millhopper {
namespace {

TEST(Error, CodesAreTheExitCodesOfTheCommands) {
  EXPECT_EQ(static_cast<int>(ErrorCode::kInvalidArgument), 2);
  EXPECT_EQ(static_cast<int>(ErrorCode::kDataLoss), 3);
  EXPECT_EQ(static_cast<int>(ErrorCode::kIo), 4);
  EXPECT_EQ(static_cast<int>(ErrorCode::kResourceLimit), 5);
  EXPECT_EQ(static_cast<int>(ErrorCode::kPlugin), 6);
  EXPECT_EQ(static_cast<int>(ErrorCode::kInternal), 70);
  EXPECT_EQ(static_cast<int>(ErrorCode::kCancelled), 130);
}

TEST(Error, EachStepIsALineInnermostFirst) {
  const Error error = Error(ErrorCode::kDataLoss, "checksum").WithContext("a").WithContext("b");
  EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
  EXPECT_EQ(error.message(), "checksum");
  EXPECT_EQ(error.context(), (std::vector<std::string>{"a", "b"}));
  EXPECT_STREQ(error.what(), "checksum\n  a\n  b");
}

TEST(Error, AStepIsAddedToACopy) {
  const Error stored(ErrorCode::kIo, "lost");
  stored.WithContext("while reading");
  EXPECT_TRUE(stored.context().empty());
  EXPECT_STREQ(stored.what(), "lost");
}

TEST(Error, InFileNamesTheFileAndTheByte) {
  const Error error =
      Error(ErrorCode::kDataLoss, "damaged").WithContext("while reading").InFile("a\nb", 17);
  EXPECT_EQ(error.file(), "a\nb");
  EXPECT_EQ(error.offset(), 17);
  EXPECT_STREQ(error.what(), "a\\nb: damaged\n  while reading");
  EXPECT_EQ(Error(ErrorCode::kDataLoss, "").offset(), -1);
}

TEST(Error, TheEndOfDataKeepsItsTypeWithContext) {
  try {
    throw EndOfData("the end").WithContext("while reading");
  } catch (const EndOfData& end) {
    EXPECT_STREQ(end.what(), "the end\n  while reading");
    EXPECT_EQ(end.code(), ErrorCode::kInvalidArgument);
  }
}

TEST(Error, RequireThrowsItsPartsWhenTheConditionIsFalse) {
  EXPECT_NO_THROW(Require(true, "not thrown"));
  try {
    Require(false, "slot ", 3, " of ", 2.5);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message(), "slot 3 of 2.5");
  }
}

template <typename Thrown>
Error Converted(const Thrown& thrown) {
  try {
    throw thrown;
  } catch (...) {
    return CurrentError();
  }
}

TEST(Error, CurrentErrorTakesAnythingThatIsThrown) {
  const Error own = Converted(Error(ErrorCode::kIo, "disk").WithContext("while writing"));
  EXPECT_EQ(own.code(), ErrorCode::kIo);
  EXPECT_EQ(own.context().size(), 1u);
  EXPECT_EQ(Converted(std::bad_alloc()).code(), ErrorCode::kResourceLimit);
  const Error foreign = Converted(std::runtime_error("elsewhere"));
  EXPECT_EQ(foreign.code(), ErrorCode::kInternal);
  EXPECT_EQ(foreign.message(), "elsewhere");
  EXPECT_EQ(Converted(42).code(), ErrorCode::kInternal);
}

TEST(Error, CurrentErrorKnowsWhatTheSystemRefuses) {
  const auto code = [](std::errc number) { return std::make_error_code(number); };
  const Error file = Converted(std::filesystem::filesystem_error(
      "some call", "a\nb", code(std::errc::no_such_file_or_directory)));
  EXPECT_EQ(file.code(), ErrorCode::kIo);
  EXPECT_EQ(file.file(), "a\nb");
  EXPECT_STREQ(file.what(), "a\\nb: No such file or directory");
  const Error nameless =
      Converted(std::filesystem::filesystem_error("some call", code(std::errc::permission_denied)));
  EXPECT_EQ(nameless.code(), ErrorCode::kIo);
  EXPECT_EQ(nameless.file(), "");
  const Error thread =
      Converted(std::system_error(code(std::errc::resource_unavailable_try_again)));
  EXPECT_EQ(thread.code(), ErrorCode::kResourceLimit);
  EXPECT_NE(thread.message().find("no thread can be started"), std::string::npos);
  EXPECT_NE(thread.message().find("ulimit -u"), std::string::npos);
  EXPECT_EQ(Converted(std::system_error(code(std::errc::not_enough_memory))).code(),
            ErrorCode::kResourceLimit);
  EXPECT_EQ(Converted(std::system_error(code(std::errc::broken_pipe))).code(), ErrorCode::kIo);
}

TEST(Error, EveryCodeHasAName) {
  for (const ErrorCode code : {ErrorCode::kInvalidArgument, ErrorCode::kDataLoss, ErrorCode::kIo,
                               ErrorCode::kResourceLimit, ErrorCode::kPlugin, ErrorCode::kInternal,
                               ErrorCode::kCancelled}) {
    EXPECT_STRNE(ToString(code), "unknown error");
  }
}

TEST(Escaped, LeavesNothingThatCouldForgeALine) {
  EXPECT_EQ(Escaped("plain name.txt"), "plain name.txt");
  EXPECT_EQ(Escaped("a\nb\tc\rd"), "a\\nb\\tc\\rd");
  EXPECT_EQ(Escaped(std::string("\x1b[2J\x7f\0", 6)), "\\x1b[2J\\x7f\\x00");
  EXPECT_EQ(Escaped("Zürich"), "Zürich");
}

TEST(Escaped, BytesThatAreNotUtf8AreShownAsNumbers) {
  EXPECT_EQ(Escaped("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(Escaped("a\xc3"), "a\\xc3");
  EXPECT_EQ(Escaped("\xc0\xaf"), "\\xc0\\xaf") << "an overlong form";
  EXPECT_EQ(Escaped("\xed\xa0\x80"), "\\xed\\xa0\\x80") << "half a surrogate pair";
  EXPECT_EQ(Escaped("\xe2\x80\xa8x"), "\\xe2\\x80\\xa8x") << "U+2028 begins a line for some";
  EXPECT_EQ(Escaped("\xc2\x85"), "\\xc2\\x85") << "U+0085 is a control character";
}

}  // namespace
}  // namespace millhopper
