// SPDX-License-Identifier: Apache-2.0
// Commands whose output is read: how they are started, how they end, and that nothing is left.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/io/command.h"
#include "tests/gate.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Words = std::vector<std::string>;

class CommandTest : public ::testing::Test {
 protected:
  CommandTest() { AllowExec(); }
  ~CommandTest() override {
    AllowExec(false);
    EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);
    EXPECT_EQ(errno, ECHILD) << "a child is left";
  }
};

std::string ReadAllOf(OnePassInput* input) {
  std::string content;
  char block[1000];
  while (const size_t got = input->Read(block, sizeof(block))) content.append(block, got);
  return content;
}

std::string OutputOf(const std::string& line) {
  Command command(CommandWords(line));
  return ReadAllOf(&command);
}

Words Shell(const std::string& script) { return {"sh", "-c", script}; }

bool IsRunning(pid_t id) { return ::kill(id, 0) == 0; }

TEST(CommandWords, StandBetweenBlanks) {
  EXPECT_EQ(CommandWords("cat a"), (Words{"cat", "a"}));
  EXPECT_EQ(CommandWords(" \t cat\n  a  "), (Words{"cat", "a"}));
  EXPECT_EQ(CommandWords("cat 'a b' \"c'd\" 'e\"f'"), (Words{"cat", "a b", "c'd", "e\"f"}));
  EXPECT_EQ(CommandWords("a'b c'd \"\""), (Words{"ab cd", ""}));
  EXPECT_EQ(CommandWords("echo $HOME ; `ls` | cat > x & \\ * ? ~ {a,b} #"),
            (Words{"echo", "$HOME", ";", "`ls`", "|", "cat", ">", "x", "&", "\\", "*", "?", "~",
                   "{a,b}", "#"}));
}

TEST(CommandWords, MayBeWrong) {
  ExpectError(ErrorCode::kInvalidArgument, "without a word", [] { CommandWords(""); });
  ExpectError(ErrorCode::kInvalidArgument, "without a word", [] { CommandWords("  \n"); });
  ExpectError(ErrorCode::kInvalidArgument, "without a word", [] { CommandWords("'' a"); });
  ExpectError(ErrorCode::kInvalidArgument, "a ' that is not closed",
              [] { CommandWords("cat 'a b"); });
  ExpectError(ErrorCode::kInvalidArgument, "a \" that is not closed",
              [] { CommandWords("cat a\"'"); });
  ExpectError(ErrorCode::kInvalidArgument, "zero byte",
              [] { CommandWords(std::string("cat a\0b", 7)); });
}

TEST_F(CommandTest, IsNotRunUnlessThatIsAllowed) {
  const std::string file = TempName("made");
  AllowExec(false);
  ExpectError(ErrorCode::kInvalidArgument, "--allow_exec", [&] { Command({"touch", file}); });
  EXPECT_NE(::access(file.c_str(), F_OK), 0);
}

TEST_F(CommandTest, IsReadToItsEnd) {
  EXPECT_EQ(OutputOf("printf a\\nb\\0c"), std::string("a\nb\0c", 5));
  EXPECT_EQ(OutputOf("true"), "");
  EXPECT_EQ(OutputOf("seq 100000").size(), 588895u);
  Command command(Words{"echo", "a"});
  EXPECT_EQ(ReadAllOf(&command), "a\n");
  EXPECT_EQ(ReadAllOf(&command), "");
}

TEST_F(CommandTest, IsSeenByNoShell) {
  EXPECT_EQ(OutputOf("echo $HOME ; echo `ls` | cat > x & \\ * ~ 'a  b'"),
            "$HOME ; echo `ls` | cat > x & \\ * ~ a  b\n");
}

TEST_F(CommandTest, HasNoStandardInputAndInheritsNothing) {
  EXPECT_EQ(OutputOf("cat"), "");
  const TempFile file("open", "");
  FILE* const open = ::fopen(file.path().c_str(), "r");
  const std::string listed = OutputOf("ls -l /proc/self/fd");
  ::fclose(open);
  EXPECT_EQ(listed.find(file.path()), std::string::npos) << listed;
}

// This process blocks and ignores signals; the command does neither.
TEST_F(CommandTest, HasTheUsualSignals) {
  struct Usual {
    Usual() {
      sigset_t signals;
      ::sigemptyset(&signals);
      ::sigaddset(&signals, SIGTERM);
      ::pthread_sigmask(SIG_BLOCK, &signals, &mask);
      handler = ::signal(SIGPIPE, SIG_IGN);
    }
    ~Usual() {
      ::signal(SIGPIPE, handler);
      ::pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    }
    sigset_t mask;
    void (*handler)(int);
  };
  const Usual usual;
  EXPECT_EQ(OutputOf("grep SigBlk: /proc/self/status"), "SigBlk:\t0000000000000000\n");
  const std::string ignored = OutputOf("grep SigIgn: /proc/self/status");
  // Two real-time signals are the C library's own.
  EXPECT_EQ(std::stoull(ignored.substr(ignored.find('\t')), nullptr, 16) & 0x7fffffff, 0u);
}

TEST_F(CommandTest, MayFailAfterItsLastByte) {
  Command command(Shell("echo a; echo first >&2; echo 'no  more' >&2; exit 3"));
  char byte[2];
  EXPECT_EQ(command.Read(byte, 2), 2u);
  for (int i = 0; i < 2; ++i) {
    const auto error = ErrorOf([&] { command.Read(byte, 2); });
    EXPECT_EQ(error->code, ErrorCode::kIo);
    EXPECT_EQ(error->text,
              "'sh' ended with the status 3; the last line of its standard error: no  more");
  }
}

TEST_F(CommandTest, MayBeEndedByASignal) {
  ExpectError(ErrorCode::kIo, "'sh' was ended by signal 9 (Killed)", [] {
    Command command(Shell("kill -9 $$"));
    ReadAllOf(&command);
  });
  // What is left of a line counts, and what cannot be printed is not.
  ExpectError(ErrorCode::kIo, "its standard error: half \\x1b", [] {
    Command command(Shell("printf 'a\\n\\nhalf \\033' >&2; kill $$"));
    ReadAllOf(&command);
  });
}

TEST_F(CommandTest, MayBeNoneThatCanBeRun) {
  ExpectError(ErrorCode::kIo, "cannot run 'no such command': No such file",
              [] { Command({"no such command"}); });
  const TempFile text("text", "not a program");
  ExpectError(ErrorCode::kIo, "Permission denied", [&] { Command({text.path()}); });
}

// More than a pipe holds, before, beside and after the output.
TEST_F(CommandTest, MayWriteMuchToItsStandardError) {
  Command command(
      Shell("seq 200000 >&2; echo a; seq 200000 >&2; echo b; exec >&-; seq 200000 >&2"));
  EXPECT_EQ(ReadAllOf(&command), "a\nb\n");
}

TEST_F(CommandTest, MayWriteToItsStandardErrorWithoutEnd) {
  // What it has started continues until it is no longer read.
  ExpectError(ErrorCode::kIo, "the status 3; the last line of its standard error: y", [] {
    Command command(Shell("yes >&2 & sleep 0.1; exit 3"));
    ReadAllOf(&command);
  });
  Command command(Shell("exec >&-; exec yes >&2"));
  std::thread other([] {
    ::usleep(20000);  // usually it waits for the command by now
    RequestStop();
  });
  ExpectError(ErrorCode::kCancelled, "stopped on request", [&] { ReadAllOf(&command); });
  other.join();
  ClearStop();
}

// Then nothing tells how it has ended, and its id may be another's.
TEST_F(CommandTest, MayBeWaitedForBySomebodyElse) {
  Command command(Words{"echo", "a"});
  char bytes[2];
  EXPECT_EQ(command.Read(bytes, 2), 2u);
  EXPECT_EQ(::waitpid(command.id(), nullptr, 0), command.id());
  for (int i = 0; i < 2; ++i) {
    ExpectError(ErrorCode::kIo, "in a way that is not known", [&] { command.Read(bytes, 2); });
  }
}

// The end of its output is not its end.
TEST_F(CommandTest, IsWaitedForBehindItsOutput) {
  Command command(Shell("echo a; exec >&- 2>&-; sleep 0.2; exit 7"));
  ExpectError(ErrorCode::kIo, "the status 7", [&] { ReadAllOf(&command); });
}

// Also those that have nothing to do with its output.
TEST_F(CommandTest, WhatItHasStartedEndsWithIt) {
  Command command(Shell("sleep 1000 >/dev/null 2>&1 & echo $!"));
  const pid_t child = std::stoi(ReadAllOf(&command));
  WaitUntil([child] { return !IsRunning(child); });
  // What its children write belongs to the output, too.
  EXPECT_EQ(OutputOf("sh -c '(sleep 0.2; echo later) & echo now'"), "now\nlater\n");
}

TEST_F(CommandTest, EndsWithItsReader) {
  pid_t id = 0;
  {
    const Command command(Words{"sleep", "1000"});
    id = command.id();
    EXPECT_TRUE(IsRunning(id));
  }
  EXPECT_FALSE(IsRunning(id));
  // One that does not hear of it, with a child that holds its output.
  {
    Command command(Shell("trap '' TERM; echo $$; sleep 1000; sleep 1000"));
    char line[20];
    EXPECT_GT(command.Read(line, sizeof(line)), 0u);
    id = command.id();
  }
  EXPECT_FALSE(IsRunning(id));
  // One that has ended, but not what it has started.
  std::string child(20, '\0');
  {
    Command command(Shell("sleep 1000 & echo $!"));
    child.resize(command.Read(child.data(), child.size()));
  }
  const pid_t other = std::atoi(child.c_str());
  ASSERT_GT(other, 0);
  // The process that inherits such a child may be slow to wait for it.
  WaitUntil([&] {
    std::ifstream status("/proc/" + std::to_string(other) + "/stat");
    std::string number, name, state;
    return !(status >> number >> name >> state) || state == "Z" || state == "X";
  });
}

TEST_F(CommandTest, StopsOnRequest) {
  Command command(Shell("echo a; sleep 1000"));
  char bytes[2];
  EXPECT_EQ(command.Read(bytes, 2), 2u);
  std::thread other([] { RequestStop(); });
  ExpectError(ErrorCode::kCancelled, "stopped on request", [&] { command.Read(bytes, 2); });
  other.join();
  ClearStop();
}

TEST_F(CommandTest, IsStartedByManyThreads) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([i] {
      for (int k = 0; k < 20; ++k) {
        // Memory is taken and given back all the time.
        const auto other = std::make_unique<std::string>(1000 * (i + 1), 'x');
        const std::string number = std::to_string(i * 1000 + k);
        EXPECT_EQ(OutputOf("echo " + number), number + "\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace millhopper
