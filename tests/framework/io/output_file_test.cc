// SPDX-License-Identifier: Apache-2.0
// Outputs: which names are accepted, when files get their names, and that no other file is lost.
#include "framework/io/output_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "framework/base/stop.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

OutputRules NoOverwrite() {
  OutputRules rules;
  rules.overwrite = false;
  return rules;
}

OutputRules Stream() {
  OutputRules rules;
  rules.stream = true;
  return rules;
}

std::set<std::string> NamesIn(const std::string& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename());
  return names;
}

void WriteOut(const std::string& path, const std::string& content, const OutputRules& rules = {}) {
  OutputFile file(path, rules);
  file.Write(content);
  file.Publish();
}

// Runs a function in a forked child, which ends without any destructor, and returns its exit code.
int InChild(const std::function<int()>& function) {
  const pid_t child = fork();
  if (child == 0) _exit(function());
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

using Names = std::set<std::string>;

TEST(OutputFile, HasItsNameWhenItIsComplete) {
  const std::string folder = NewFolder("complete");
  {
    OutputFile file(folder + "/x");
    file.Write("abc");
    EXPECT_EQ(NamesIn(folder), Names{"x.partial"});
    file.Finish();
    EXPECT_EQ(NamesIn(folder), Names{"x.partial"});
    file.Publish();
    EXPECT_EQ(file.bytes(), 3u);
  }
  EXPECT_EQ(NamesIn(folder), Names{"x"});
  EXPECT_EQ(ReadFile(folder + "/x"), "abc");
  {
    OutputFile file(folder + "/x");
    file.Write("something else");
    file.Finish();
  }
  EXPECT_EQ(NamesIn(folder), Names{"x"});
  EXPECT_EQ(ReadFile(folder + "/x"), "abc");
}

TEST(OutputFile, ReplacesOnlyWhereItMay) {
  const std::string path = NewFolder("replace") + "/x";
  WriteOut(path, "old", NoOverwrite());
  ExpectError(ErrorCode::kIo, path + ": the file exists and 'overwrite' is false",
              [&] { OutputFile file(path, NoOverwrite()); });
  EXPECT_EQ(ReadFile(path), "old");
  WriteOut(path, "new");
  EXPECT_EQ(ReadFile(path), "new");
}

TEST(OutputFile, ThatAppearedMeanwhileIsNotReplaced) {
  const std::string folder = NewFolder("appeared");
  ExpectError(ErrorCode::kIo, "it was not there when the writing began", [&] {
    OutputFile file(folder + "/x", NoOverwrite());
    WriteFile(folder + "/x", "somebody's");
    file.Publish();
  });
  EXPECT_EQ(ReadFile(folder + "/x"), "somebody's");
  EXPECT_EQ(NamesIn(folder), Names{"x"});
}

TEST(OutputFile, FollowsLinksAndLeavesThem) {
  const std::string folder = NewFolder("links");
  fs::create_directories(folder + "/there");
  WriteFile(folder + "/there/data", "old");
  fs::create_symlink("there/data", folder + "/link");
  fs::create_symlink(folder + "/link", folder + "/chain");
  fs::create_symlink("there/later", folder + "/dangling");
  WriteOut(folder + "/chain", "new");
  WriteOut(folder + "/dangling", "made");
  EXPECT_EQ(ReadFile(folder + "/there/data"), "new");
  EXPECT_EQ(ReadFile(folder + "/there/later"), "made");
  for (const char* link : {"/link", "/chain", "/dangling"}) {
    EXPECT_TRUE(fs::is_symlink(folder + link)) << link;
  }
  EXPECT_EQ(NamesIn(folder + "/there"), (Names{"data", "later"}));
  EXPECT_EQ(OutputFile(folder + "/chain").place(),
            fs::canonical(folder + "/there").string() + "/data");
  fs::create_symlink("round", folder + "/round");
  ExpectError(ErrorCode::kIo, "/round: cannot write", [&] { OutputFile file(folder + "/round"); });
}

TEST(OutputFile, MakesNoTargetThatNobodyHasNamed) {
  const std::string folder = NewFolder("links"), elsewhere = NewFolder("elsewhere");
  OutputRules rules;
  rules.make_target = false;
  const std::string link = folder + "/link";
  for (const std::string& target :
       {elsewhere + "/new", std::string("new"), elsewhere + "/no/new"}) {
    std::filesystem::create_symlink(target, link);
    ExpectError(ErrorCode::kIo, "it is a link to a file that does not exist; remove the link",
                [&] { OutputFile(link, rules); });
    std::filesystem::remove(link);
  }
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  WriteFile(elsewhere + "/old", "old");
  std::filesystem::create_symlink(elsewhere + "/old", link);
  OutputFile file(link, rules);
  file.Write("new");
  file.Publish();
  EXPECT_EQ(ReadFile(elsewhere + "/old"), "new");
  std::filesystem::remove(link);
  std::filesystem::create_directory_symlink(elsewhere, link);
  ExpectError(ErrorCode::kIo, "it is not a regular file but a directory",
              [&] { OutputFile(link, rules); });
}

TEST(OutputFile, IsFoundAgainFromAnotherFolder) {
  const std::string folder = NewFolder("moving");
  const fs::path before = fs::current_path();
  fs::current_path(folder);
  OutputFile file("x");
  fs::current_path(before);
  file.Write("abc");
  file.Publish();
  EXPECT_EQ(ReadFile(folder + "/x"), "abc");
}

// They may belong to other processes.
TEST(OutputFile, LeavesFilesAloneThatHaveThePartialName) {
  const std::string folder = NewFolder("partials");
  WriteFile(folder + "/precious", "precious");
  fs::create_symlink("precious", folder + "/x.partial");
  ASSERT_EQ(mkfifo((folder + "/x.2.partial").c_str(), 0600), 0);
  WriteFile(folder + "/x.3.partial", "of a run that was killed");
  fs::create_directories(folder + "/x.4.partial");
  {
    const OutputFile file(folder + "/x");
    EXPECT_TRUE(NamesIn(folder).count("x.5.partial"));
    const OutputFile another(folder + "/x");
    EXPECT_TRUE(NamesIn(folder).count("x.6.partial"));
  }
  WriteOut(folder + "/x", "new");
  EXPECT_EQ(ReadFile(folder + "/x"), "new");
  EXPECT_EQ(ReadFile(folder + "/precious"), "precious");
  EXPECT_EQ(ReadFile(folder + "/x.3.partial"), "of a run that was killed");
  EXPECT_EQ(NamesIn(folder),
            (Names{"precious", "x", "x.partial", "x.2.partial", "x.3.partial", "x.4.partial"}));
}

// Makes one of each kind of file that is not regular; returns their names.
std::vector<std::string> MakeOddFiles(const std::string& folder) {
  std::vector<std::string> made = {"fifo", "folder", "socket"};
  EXPECT_EQ(mkfifo((folder + "/fifo").c_str(), 0600), 0);
  fs::create_directories(folder + "/folder");
  const int server = socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  const fs::path before = fs::current_path();
  fs::current_path(folder);  // its name would be too long
  std::strcpy(address.sun_path, "socket");
  EXPECT_EQ(bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  fs::current_path(before);
  close(server);
  // Only root may make devices. Their numbers are those of no driver.
  if (mknod((folder + "/characters").c_str(), S_IFCHR | 0600, makedev(240, 254)) == 0) {
    made.emplace_back("characters");
  }
  if (mknod((folder + "/blocks").c_str(), S_IFBLK | 0600, makedev(240, 254)) == 0) {
    made.emplace_back("blocks");
  }
  return made;
}

TEST(OutputFile, RefusesWhatIsNoRegularFile) {
  const std::string folder = NewFolder("odd");
  const std::vector<std::string> odd = MakeOddFiles(folder);
  const Names before = NamesIn(folder);
  for (const std::string& name : odd) {
    const std::string path = StrCat(folder, "/", name);
    const auto kind = fs::status(path).type();
    ExpectError(ErrorCode::kIo, path + ": cannot write: it is not a regular file but a ",
                [&] { OutputFile file(path); });
    const std::string link = StrCat(folder, "/to ", name);
    fs::create_symlink(name, link);
    ExpectError(ErrorCode::kIo, "it is not a regular file but", [&] { OutputFile file(link); });
    EXPECT_EQ(fs::status(path).type(), kind);
    fs::remove(link);
  }
  for (const char* name : {"folder", "socket", "blocks"}) {
    if (before.count(name) == 0) continue;
    ExpectError(ErrorCode::kIo, "it is not a regular file but a ",
                [&] { OutputFile file(folder + "/" + name, Stream()); });
  }
  EXPECT_EQ(NamesIn(folder), before);
}

TEST(OutputFile, DoesNotReplaceWhatMayNotBeWritten) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write to any file";
  const std::string folder = NewFolder("protected");
  WriteFile(folder + "/x", "protected");
  ASSERT_EQ(chmod((folder + "/x").c_str(), 0400), 0);
  ExpectError(ErrorCode::kIo, "/x: cannot write: Permission denied",
              [&] { OutputFile file(folder + "/x"); });
  EXPECT_EQ(ReadFile(folder + "/x"), "protected");
}

TEST(OutputFile, RefusesNamesThatCannotBe) {
  const std::string folder = NewFolder("names");
  for (const std::string& name :
       {std::string(), folder + "/none/x", folder + "/x/", std::string("a\0b", 3)}) {
    ExpectError(ErrorCode::kIo, "cannot write", [&] { OutputFile file(name); });
  }
  EXPECT_EQ(NamesIn(folder), Names());
}

TEST(OutputFile, NeverReplacesWhatHasBecomeSomethingElse) {
  const std::string folder = NewFolder("became");
  const std::vector<std::string> odd = MakeOddFiles(folder);
  for (const std::string& name : odd) {
    SCOPED_TRACE(name);
    OutputFile file(folder + "/x");
    fs::rename(StrCat(folder, "/", name), folder + "/x");
    const auto kind = fs::symlink_status(folder + "/x").type();
    ExpectError(ErrorCode::kIo, "since the writing began it has become a ",
                [&] { file.Publish(); });
    EXPECT_EQ(fs::symlink_status(folder + "/x").type(), kind);
    fs::remove(folder + "/x");
  }
  OutputFile file(folder + "/x");
  fs::create_symlink("y", folder + "/x");
  ExpectError(ErrorCode::kIo, "it has become a symbolic link", [&] { file.Publish(); });
}

TEST(OutputFile, WritesToAPipeAsBytesCome) {
  const std::string path = NewFolder("fifo") + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const std::string large(1 << 20, 'x');  // more than a pipe holds
  std::string got;
  std::thread reader([&] { got = ReadFile(path); });
  OutputFile file(path, Stream());
  EXPECT_TRUE(file.is_stream());
  EXPECT_FALSE(file.is_standard_output());
  file.Write(large);
  file.Publish();
  reader.join();
  EXPECT_EQ(got, large);
  // A stream without any bytes is ended, too.
  std::thread second([&] { got = ReadFile(path); });
  OutputFile(path, Stream()).Publish();
  second.join();
  EXPECT_EQ(got, "");
  EXPECT_TRUE(fs::is_fifo(path));
}

TEST(OutputFile, StopsWaitingForAReader) {
  const std::string path = NewFolder("waiting") + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  OutputFile file(path, Stream());
  RequestStop();
  ExpectError(ErrorCode::kCancelled, "stopped", [&] { file.Write("x"); });
  ClearStop();
}

TEST(OutputFile, WritesToWhatIsOpenWhereItIs) {
  const std::string path = NewFolder("open") + "/x";
  WriteFile(path, "abcdef");
  const int descriptor = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(lseek(descriptor, 3, SEEK_SET), 3);
  const std::string name = StrCat("/proc/self/fd/", descriptor);
  ExpectError(ErrorCode::kIo, "it is a descriptor of this process", [&] { OutputFile file(name); });
  WriteOut(name, "xyz", Stream());
  EXPECT_EQ(ReadFile(path), "abcxyz");
  close(descriptor);
  ExpectError(ErrorCode::kIo, "cannot write", [&] { OutputFile file(name, Stream()); });
}

TEST(OutputFile, IsNeverAFileThatTheProcessReads) {
  const std::string folder = NewFolder("inputs");
  WriteFile(folder + "/x", "data");
  fs::create_hard_link(folder + "/x", folder + "/hard");
  fs::create_symlink("x", folder + "/soft");
  const std::vector<std::string> names = {folder + "/x", folder + "/hard", folder + "/soft"};
  {
    FilesRead read(FileRole::kProgram);
    read.AddLocal(folder + "/none");
    read.AddLocal(folder + "/x");
    for (const std::string& name : names) {
      for (const OutputRules& rules : {OutputRules(), Stream(), NoOverwrite()}) {
        ExpectError(ErrorCode::kInvalidArgument,
                    name + ": cannot be written: this process reads the same file as a program",
                    [&] { OutputFile file(name, rules); });
      }
    }
  }
  for (const std::string& name : names) {
    const OutputFile file(name);
    FilesRead read(FileRole::kData);
    for (const std::string& input : names) {
      ExpectError(ErrorCode::kInvalidArgument, input + ": cannot be read as data",
                  [&] { read.AddLocal(input); });
    }
  }
  FilesRead read(FileRole::kManifest);
  read.AddLocal(folder + "/x");
  ExpectError(ErrorCode::kInvalidArgument, "as a manifest",
              [&] { OutputFile file(folder + "/x"); });
  OutputRules rules;
  rules.role = FileRole::kManifest;
  WriteOut(folder + "/x", "new", rules);
  EXPECT_EQ(ReadFile(folder + "/hard"), "data");
  EXPECT_EQ(ReadFile(folder + "/x"), "new");
}

// F12
TEST(OutputFile, ThatDoesNotFitIsRemoved) {
  const std::string folder = NewFolder("full");
  WriteFile(folder + "/x", "old");
  EXPECT_EQ(InChild([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit small = {1000, 1000};
              if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 1;
              try {
                WriteOut(folder + "/x", std::string(1001, 'x'));
              } catch (const Error& error) {
                return error.code() == ErrorCode::kIo && error.offset() == 1000 ? 0 : 2;
              }
              return 3;
            }),
            0);
  EXPECT_EQ(NamesIn(folder), Names{"x"});
  EXPECT_EQ(ReadFile(folder + "/x"), "old");
}

// A file that lacks what could not be written never gets its name.
TEST(OutputFile, FailsForGood) {
  const std::string folder = NewFolder("failed");
  EXPECT_EQ(InChild([&] {
              std::signal(SIGXFSZ, SIG_IGN);
              const rlimit small = {1000, 1000};
              if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 1;
              OutputFile file(folder + "/x");
              const auto fails = [](const auto& step) {
                try {
                  step();
                } catch (const Error& error) {
                  return error.code() == ErrorCode::kIo && error.offset() == 1000;
                }
                return false;
              };
              if (!fails([&] { file.Write(std::string(1001, 'x')); })) return 2;
              if (!fails([&] { file.Write(""); })) return 3;
              if (!fails([&] { file.Finish(); })) return 4;
              if (!fails([&] { file.Publish(); })) return 5;
              return 0;
            }),
            0);
  EXPECT_EQ(NamesIn(folder), Names{});
}

TEST(OutputFile, OfAForkedParentIsNotTheChilds) {
  const std::string folder = NewFolder("fork");
  auto file = std::make_unique<OutputFile>(folder + "/x");
  EXPECT_EQ(InChild([&] {
              file.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(InChild([&] {
              const OutputFile own(folder + "/y");
              AbandonOutputs();
              _exit(0);
              return 1;
            }),
            0);
  EXPECT_EQ(NamesIn(folder), Names{"x.partial"});
  file->Publish();
  EXPECT_EQ(NamesIn(folder), Names{"x"});
}

TEST(OutputFile, SeveralArePublishedInOrderOrNone) {
  const std::string folder = NewFolder("several");
  OutputFile a(folder + "/a"), b(folder + "/b"), c(folder + "/c");
  fs::create_directories(folder + "/c");
  ExpectError(ErrorCode::kIo, "/c: cannot write: since", [&] { PublishInOrder({&a, &b, &c}); });
  EXPECT_EQ(NamesIn(folder), (Names{"a.partial", "b.partial", "c.partial", "c"}));
  fs::remove(folder + "/c");
  PublishInOrder({&a, &b, &c});
  EXPECT_EQ(NamesIn(folder), (Names{"a", "b", "c"}));
}

}  // namespace
}  // namespace millhopper
