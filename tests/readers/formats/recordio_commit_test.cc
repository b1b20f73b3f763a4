// SPDX-License-Identifier: Apache-2.0
// The process is killed at every instant while RecordIO files get their names. The disk then holds
// the old files, the new ones, or files that every reader refuses as being replaced.
#include "readers/formats/recordio/recordio_commit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/sources/open_files.h"
#include "tests/fakes/http_server.h"
#include "tests/fakes/s3_judge.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

using Records = std::vector<std::string>;

// Runs a function in a forked child, which ends without any destructor as a killed one does.
int InChild(const std::function<int()>& function) {
  const pid_t child = fork();
  if (child == 0) {
    try {
      _exit(function());
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
      _exit(99);
    }
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// Shards with one record each, which names the set that they belong to.
class Shards {
 public:
  Shards(const std::string& folder, int count, const std::string& text) {
    for (int i = 0; i < count; ++i) {
      owned_.push_back(std::make_unique<RecordIOWriter>(StrCat(folder, "/s-0000", i, ".recordio"),
                                                        RecordIOOptions()));
      owned_.back()->Write(text);
      files_.push_back(owned_.back().get());
    }
  }
  const std::vector<RecordIOWriter*>& files() const { return files_; }

 private:
  std::vector<std::unique_ptr<RecordIOWriter>> owned_;
  std::vector<RecordIOWriter*> files_;
};

void WriteShards(const std::string& folder, int count, const std::string& text) {
  CommitRecordIO(Shards(folder, count, text).files(), true);
}

std::unique_ptr<ReaderBase> Reader(const std::string& name) {
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("bytes"));
  auto reader = OpenFiles({name}, {}, arguments, {});
  reader->set_origin("reader 'files'");
  return reader;
}

Records Read(const std::string& name) {
  Records records;
  for (const ElementValue& element : ReadAll(Reader(name).get())) {
    records.push_back(element[0].bytes);
  }
  return records;
}

// The records that the files yield, or nothing if the reader says that they were being replaced.
std::optional<Records> ReadUnlessInterrupted(const std::string& name) {
  try {
    return Read(name);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    EXPECT_THAT(error.message(), ::testing::HasSubstr("were being replaced together"));
    EXPECT_THAT(error.message(), ::testing::HasSubstr("write all of them again"));
    return std::nullopt;
  }
}

// Writes the shards again and ends as if killed after so many steps; false if there are fewer.
bool KilledAfter(size_t steps, const std::string& folder, int count, const std::string& text) {
  return InChild([&] {
           const Shards shards(folder, count, text);
           const RecordIOCommit commit(shards.files(), true);
           const std::vector<OutputFile*>& all = commit.steps();
           if (steps > all.size()) return 1;
           PublishInOrder({all.begin(), all.begin() + static_cast<std::ptrdiff_t>(steps)});
           return 0;
         }) == 0;
}

// The slots that the manifest tells of a file after so many steps of its replacement; "none" if it
// tells none.
std::string SlotsAfter(size_t steps, const std::string& before, const std::string& after) {
  const std::string file = NewFolder("slots") + "/a.recordio";
  const auto write = [&](const std::string& slots, size_t published) {
    RecordIOWriter writer(file, RecordIOOptions());
    writer.Write(slots);
    writer.set_slots(ParseSlots(slots));
    const RecordIOCommit commit({&writer}, false);
    const auto& all = commit.steps();
    const auto count = static_cast<std::ptrdiff_t>(std::min(published, all.size()));
    PublishInOrder({all.begin(), all.begin() + count});
  };
  write(before, SIZE_MAX);
  write(after, steps);
  const std::optional<NamedSlots> stored = StoredSlots({file});
  return stored ? ToText(*stored) : "none";
}

TEST(RecordIOCommit, TellsSlotsThatTheFileHasWheneverItEnds) {
  const auto told = [](const std::string& before, const std::string& after) {
    std::vector<std::string> slots;
    for (const size_t steps : {0, 1, 2, 3}) slots.push_back(SlotsAfter(steps, before, after));
    return slots;
  };
  using Texts = std::vector<std::string>;
  EXPECT_EQ(told("x int8[1]", "x int8[1]"), Texts(4, "x int8[1]"));
  EXPECT_EQ(told("x int8[1]", "y int8[1]"), Texts({"x int8[1]", "none", "none", "y int8[1]"}));
  EXPECT_EQ(told("x int8[1]", ""), Texts({"x int8[1]", "none", "none", "none"}));
  EXPECT_EQ(told("", "x int8[1]"), Texts({"none", "none", "none", "x int8[1]"}));
}

TEST(RecordIOCommit, IsAllOfTheOldOrAllOfTheNewOrSaysThatItIsNeither) {
  // Of the same size, so that only the manifest can tell them.
  const Records old_records(3, "old"), new_records(3, "new");
  for (const bool replaced : {true, false}) {
    size_t interrupted = 0;
    for (size_t steps = 0;; ++steps) {
      const std::string folder = NewFolder("kill");
      if (replaced) WriteShards(folder, 3, "old");
      if (!KilledAfter(steps, folder, 3, "new")) {
        EXPECT_EQ(steps, 3u + 2 + 1);
        break;
      }
      SCOPED_TRACE(steps);
      if (!replaced && steps < 2) {  // none has its name yet
        EXPECT_THROW(Read(folder + "/s-*.recordio"), Error);
      } else {
        const std::optional<Records> read = ReadUnlessInterrupted(folder + "/s-*.recordio");
        interrupted += read ? 0 : 1;
        EXPECT_EQ(steps == 0 ? old_records : new_records, read.value_or(new_records));
        EXPECT_EQ(read.has_value(), (replaced && steps == 0) || steps == 5);
        // A single one of them is not read either: it may belong to either set.
        const std::optional<Records> first = ReadUnlessInterrupted(folder + "/s-00000.recordio");
        EXPECT_EQ(first.has_value(), read.has_value());
      }
      // The leftovers do not prevent another writing.
      WriteShards(folder, 3, "again");
      EXPECT_EQ(Read(folder + "/s-*.recordio"), Records(3, "again"));
    }
    EXPECT_EQ(interrupted, replaced ? 4u : 3u);
  }
}

TEST(RecordIOCommit, OfOneFileIsWholeAtEveryInstant) {
  for (const bool listed : {true, false}) {
    for (size_t steps = 0;; ++steps) {
      SCOPED_TRACE(steps);
      const std::string folder = NewFolder("one");
      const std::string file = folder + "/s-00000.recordio";
      WriteShards(folder, 1, "old");
      if (!listed) fs::remove(RecordIOManifest::PathOf(file));
      if (!KilledAfter(steps, folder, 1, "the new one")) {
        EXPECT_EQ(steps, listed ? 4u : 3u);
        break;
      }
      const Records records = Read(file);
      EXPECT_TRUE(records == Records{"old"} || records == Records{"the new one"});
      EXPECT_EQ(records == Records{"old"}, steps < (listed ? 2u : 1u));
      // Listed files stay protected.
      if (!listed && steps < 2) continue;
      fs::resize_file(file, 0);
      EXPECT_THROW(Read(file), Error);
      WriteShards(folder, 1, "again");
      EXPECT_EQ(Read(file), Records{"again"});
    }
  }
}

// A file could then belong to any of three sets, but a manifest describes only two.
TEST(RecordIOCommit, OfAFileThatWasInterruptedBeforeSaysSo) {
  const std::string folder = NewFolder("twice");
  WriteShards(folder, 1, "old");
  ASSERT_TRUE(KilledAfter(1, folder, 1, "second"));
  ASSERT_TRUE(KilledAfter(1, folder, 1, "third"));
  EXPECT_EQ(ReadUnlessInterrupted(folder + "/s-00000.recordio"), std::nullopt);
  WriteShards(folder, 1, "again");
  EXPECT_EQ(Read(folder + "/s-00000.recordio"), Records{"again"});
}

TEST(RecordIOCommit, OfOneShardDoesNotHealTheOthers) {
  const std::string folder = NewFolder("heal");
  WriteShards(folder, 3, "old");
  ASSERT_TRUE(KilledAfter(2, folder, 3, "new"));
  {
    RecordIOWriter one(folder + "/s-00001.recordio", {});
    one.Write("one");
    CommitRecordIO({&one}, false);
  }
  EXPECT_EQ(Read(folder + "/s-00001.recordio"), Records{"one"});
  EXPECT_EQ(ReadUnlessInterrupted(folder + "/s-00002.recordio"), std::nullopt);
}

// F12
TEST(RecordIOCommit, ThatDoesNotFitChangesNothing) {
  const std::string folder = NewFolder("full");
  WriteShards(folder, 2, "old");
  const std::string manifest = ReadFile(folder + "/s.recordio.manifest.json");
  // Room for the files, for one of them, and for the files but not for the manifest.
  for (const rlim_t room : {rlim_t{2000}, rlim_t{20}, rlim_t{100}}) {
    EXPECT_EQ(InChild([&] {
                std::signal(SIGXFSZ, SIG_IGN);
                const rlimit small = {room, room};
                if (setrlimit(RLIMIT_FSIZE, &small) != 0) return 2;
                try {
                  WriteShards(folder, 2, "old");
                } catch (const Error& error) {
                  return error.code() == ErrorCode::kIo ? 1 : 3;
                }
                return 0;
              }),
              room == 2000 ? 0 : 1);
    EXPECT_EQ(ReadFile(folder + "/s.recordio.manifest.json"), manifest);
    EXPECT_EQ(Read(folder + "/s-*.recordio"), Records(2, "old"));
    size_t names = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder)) ++names;
    EXPECT_EQ(names, 3u);
  }
}

TEST(RecordIOCommit, ForgetsShardsOfALargerSet) {
  const std::string folder = NewFolder("fewer");
  RecordIOWriter whole(folder + "/s.recordio", {});  // has the same manifest, and is no shard
  CommitRecordIO({&whole}, false);
  WriteShards(folder, 3, "old");
  fs::remove(folder + "/s-00002.recordio");
  ExpectError(ErrorCode::kDataLoss, "s-00002.recordio: is not there, but the manifest of its set",
              [&] { Read(folder + "/s-*.recordio"); });
  WriteShards(folder, 2, "new");
  EXPECT_EQ(Read(folder + "/s-*.recordio"), Records(2, "new"));
  EXPECT_TRUE(RecordIOManifest::Load(folder + "/s.recordio.manifest.json").Lists("s.recordio"));
}

// As an upload leaves it that is interrupted, in stores that show an object before it is whole.
TEST(RecordIOCommit, ReplacesAnEmptyManifestUnlessItIsThatOfShards) {
  const std::string folder = NewFolder("empty_manifest");
  WriteFile(folder + "/s.recordio.manifest.json", "");
  RecordIOWriter whole(folder + "/s.recordio", {});
  whole.Write("whole");
  CommitRecordIO({&whole}, false);
  EXPECT_EQ(Read(folder + "/s.recordio"), Records{"whole"});
  WriteFile(folder + "/s.recordio.manifest.json", "");
  ExpectError(ErrorCode::kDataLoss, "s.recordio.manifest.json: no manifest of RecordIO files",
              [&] { WriteShards(folder, 2, "new"); });
}

TEST(RecordIOCommit, ListsWhatSeveralProcessesWriteAtOnce) {
  const std::string folder = NewFolder("many");
  std::vector<pid_t> children;
  for (int i = 0; i < 4; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int turn = 0; turn < 10; ++turn) {
        RecordIOWriter file(StrCat(folder, "/s-0000", i, ".recordio"), {});
        file.Write(StrCat("of ", i, " in turn ", turn));
        CommitRecordIO({&file}, false);
      }
      _exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const RecordIOManifest manifest = RecordIOManifest::Load(folder + "/s.recordio.manifest.json");
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(manifest.Lists(StrCat("s-0000", i, ".recordio"))) << i;
  }
  EXPECT_EQ(Read(folder + "/s-*.recordio").size(), 4u);
}

TEST(RecordIOCommit, LeavesNoManifestThatIsWrong) {
  const std::string folder = NewFolder("linked");
  fs::create_directories(folder + "/there");
  WriteShards(folder + "/there", 1, "old");
  fs::create_symlink("there/s-00000.recordio", folder + "/link.recordio");
  ExpectError(ErrorCode::kInvalidArgument, "which has its own manifest", [&] {
    RecordIOWriter link(folder + "/link.recordio", {});
    CommitRecordIO({&link}, false);
  });
  EXPECT_EQ(Read(folder + "/there/s-00000.recordio"), Records{"old"});
  // A manifest that is a link, too, is the same one.
  fs::create_symlink("there/s-00000.recordio", folder + "/s-00000.recordio");
  fs::create_symlink("there/s.recordio.manifest.json", folder + "/s.recordio.manifest.json");
  WriteShards(folder, 1, "new");
  EXPECT_EQ(Read(folder + "/there/s-00000.recordio"), Records{"new"});
  EXPECT_EQ(Read(folder + "/s-00000.recordio"), Records{"new"});
}

// The files of a set of this many shards, or of one file, in a store; what a reader finds of them.
std::vector<std::string> FoundInStore(const std::vector<std::string>& files) {
  std::vector<std::string> found;
  for (const std::string& file : files) {
    try {
      found.push_back(Read(file).at(0));
    } catch (const Error& error) {
      EXPECT_EQ(error.code() == ErrorCode::kDataLoss || error.code() == ErrorCode::kIo, true)
          << error.what();
      const std::string text = error.what();
      found.push_back(text.find("were being replaced together") != std::string::npos ? "replacing"
                      : text.find("404 Not Found") != std::string::npos              ? "missing"
                                                                                     : text);
    }
  }
  return found;
}

// Requests fail from each one on, or one of them alone.
TEST(RecordIOCommit, ToAStoreThatFailsLeavesAManifestThatSaysSo) {
  HttpServer server;
  const std::shared_ptr<S3Judge> judge = S3Judge::For(&server);
  const AwsTestEnvironment environment(server.Url(""));
  SetS3User();
  server.set_status(507);
  for (const size_t count : {size_t{1}, size_t{3}}) {
    for (const bool replaced : {false, true}) {
      for (const int64_t failures : {int64_t{1}, INT64_MAX}) {
        size_t told = 0, listed = 0;
        for (int64_t request = 0;; ++request) {
          const std::string set = StrCat("s3://bucket/", count, replaced, failures, "/", request);
          SCOPED_TRACE(set);
          std::vector<std::string> files;
          for (size_t i = 0; i < count; ++i) {
            files.push_back(StrCat(set, "/s-0000", i, ".recordio"));
          }
          const auto write = [&](const std::string& text) {
            std::vector<std::unique_ptr<RecordIOWriter>> owned;
            std::vector<RecordIOWriter*> writers;
            for (const std::string& file : files) {
              owned.push_back(std::make_unique<RecordIOWriter>(file, RecordIOOptions()));
              owned.back()->Write(text);
              writers.push_back(owned.back().get());
            }
            CommitRecordIO(writers, true);
          };
          if (replaced) write("old");
          server.Break(HttpTrouble::kStatus, request, failures);
          std::optional<Error> failed;
          try {
            write("new");
          } catch (const Error& error) {
            failed = error;
          }
          const bool hit = server.hit();
          server.Mend();
          const std::vector<std::string> found = FoundInStore(files);
          if (!failed) {
            EXPECT_EQ(found, std::vector<std::string>(count, "new"));
          } else if (failed->context().empty()) {  // nothing had its name yet
            EXPECT_EQ(found, std::vector<std::string>(count, replaced ? "old" : "missing"));
          } else {
            ++told;
            EXPECT_THAT(failed->what(), ::testing::HasSubstr("the manifest says what may lie"));
            const std::string path = RecordIOManifest::PathOf(files[0]);
            const std::string before = replaced ? "old" : "missing";
            const bool is_listed = RecordIOManifest::LoadIfThere(path).Lists(files[0]);
            const bool is_as_before = found == std::vector<std::string>(count, before);
            EXPECT_TRUE(is_listed || is_as_before);
            listed += is_listed ? 1 : 0;
            // There are no old ones among new ones.
            for (const std::string& file : found) {
              EXPECT_TRUE(file == found[0] || (count > 1 && found[0] == "replacing" && !replaced))
                  << file << " beside " << found[0];
            }
          }
          write("again");
          EXPECT_EQ(FoundInStore(files), std::vector<std::string>(count, "again"));
          if (!hit) break;
        }
        EXPECT_GT(told, 1u);
        EXPECT_GE(listed, count);
      }
    }
  }
}

}  // namespace
}  // namespace millhopper
