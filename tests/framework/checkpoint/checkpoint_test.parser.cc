// SPDX-License-Identifier: Apache-2.0
// Files of checkpoints, and folders of them.
#include "framework/checkpoint/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <optional>

#include "framework/checkpoint/checkpoint_folder.h"
#include "framework/checkpoint/scope_state.h"
#include "framework/io/file_system.h"
#include "framework/io/output_file.h"
#include "proto/checkpoint.pb.h"
#include "readers/sources/range_reader.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

Checkpoint Some(uint64_t step = 7) {
  Checkpoint checkpoint;
  checkpoint.settings = {{"program", "a\nb"}};
  checkpoint.numbers = {{"step", step}, {"large", UINT64_MAX}};
  checkpoint.tensors["w"] = MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6}, {{0, 1, 2}});
  checkpoint.tensors["\xff none"] = MakeTensor<int64_t>({0, 4}, {});
  checkpoint.tensors["yes"] = MakeTensor<uint8_t>({1}, {1});
  checkpoint.positions.emplace("files", RangeReader(5, std::nullopt).Save());
  return checkpoint;
}

uint32_t SumOf(const std::string& bytes) {
  return static_cast<uint32_t>(
      ::crc32(0, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

void ExpectSame(const Checkpoint& read, const Checkpoint& written) {
  EXPECT_EQ(read.settings, written.settings);
  EXPECT_EQ(read.numbers, written.numbers);
  ASSERT_EQ(read.tensors.size(), written.tensors.size());
  for (const auto& [name, tensor] : written.tensors) {
    EXPECT_EQ(ValueOf({read.tensors.at(name)}), ValueOf({tensor})) << name;
  }
  ASSERT_EQ(read.positions.size(), written.positions.size());
  for (const auto& [name, position] : written.positions) {
    EXPECT_EQ(read.positions.at(name).Serialize(), position.Serialize()) << name;
  }
}

TEST(CheckpointTest, IsReadAsItWasWritten) {
  const std::string path = NewFolder("checkpoint") + "/c";
  WriteCheckpoint(Some(), path);
  ExpectSame(ReadCheckpoint(path), Some());
  WriteCheckpoint(Checkpoint(), path);  // replaces it
  ExpectSame(ReadCheckpoint(path), Checkpoint());
}

TEST(CheckpointTest, IsItsUsersAlone) {
  const mode_t before = ::umask(0);
  const std::string path = NewFolder("checkpoint") + "/c";
  const auto mode = [](const std::string& file) {
    return std::filesystem::status(file).permissions();
  };
  WriteFile(path, "older");
  std::filesystem::permissions(path, std::filesystem::perms(0666));
  {
    OutputRules rules;
    rules.is_private = true;
    OutputFile file(path, rules);
    EXPECT_EQ(mode(path + ".partial"), std::filesystem::perms(0600));
  }
  WriteCheckpoint(Some(), path);
  EXPECT_EQ(mode(path), std::filesystem::perms(0600));
  ::umask(before);
}

TEST(CheckpointTest, HoldsNoSecretOfAName) {
  Checkpoint checkpoint;
  checkpoint.settings["program"] =
      "strings: \"text:http://me:hidden@h/my file?id=7&X-Amz-Signature=hidden\" i: 3";
  const std::string bytes = SerializeCheckpoint(checkpoint);
  EXPECT_EQ(bytes.find("hidden"), std::string::npos);
  const Checkpoint read = ParseCheckpoint(bytes);
  const auto check = [&](const std::string& now) { CheckSameSetting("program", now, read); };
  check("strings: \"text:http://you:other@h/my file?X-Amz-Signature=other&id=7\" i: 3");
  ExpectError(
      ErrorCode::kInvalidArgument, "it was 'strings: \"text:http://...@h/my file?...=", [&] {
        check("strings: \"text:http://me:hidden@h/my file?id=8&X-Amz-Signature=hidden\" i: 3");
      });
  // Older checkpoints have the texts as they were.
  CheckSameSetting("program", "strings: \"http://h/a?versionId=3&sig=2\"", [] {
    Checkpoint older;
    older.settings["program"] = "strings: \"http://h/a?versionId=3&sig=hidden\"";
    return older;
  }());
}

TEST(CheckpointTest, RefusesTensorsWithoutValuesAndWritesNoFile) {
  const std::string path = NewFolder("checkpoint") + "/c";
  Checkpoint checkpoint;
  checkpoint.tensors["empty"];
  ExpectError(ErrorCode::kInvalidArgument, "'empty' has no values",
              [&] { WriteCheckpoint(checkpoint, path); });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(CheckpointTest, NoticesEveryCutAndEveryChangedBit) {
  const std::string path = NewFolder("checkpoint") + "/c";
  WriteCheckpoint(Some(), path);
  const std::string whole = ReadFile(path);
  for (size_t size = 0; size < whole.size(); ++size) {
    WriteFile(path, whole.substr(0, size));
    ExpectError(ErrorCode::kDataLoss, path, [&] { ReadCheckpoint(path); });
  }
  WriteFile(path, whole + "x");
  ExpectError(ErrorCode::kDataLoss, path, [&] { ReadCheckpoint(path); });
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    WriteFile(path, changed);
    ExpectError(ErrorCode::kDataLoss, path, [&] { ReadCheckpoint(path); });
  }
}

// A file that has these bytes in place of its parts and these in place of their list, with a right
// checksum.
std::string FileOf(const std::string& parts, const std::string& list) {
  const uint64_t size = list.size();
  std::string tail = list;
  tail.append(reinterpret_cast<const char*>(&size), sizeof(size));
  const uint32_t sum = SumOf(tail);
  tail.append(reinterpret_cast<const char*>(&sum), sizeof(sum));
  return "mh-save\n" + parts + tail + "\nmh-done";
}

TEST(CheckpointTest, TakesNoMemoryForALongListOfNothing) {
  const std::string path = NewFolder("checkpoint") + "/c";
  std::string list;
  for (int i = 0; i < 1000001; ++i) list += std::string("\x22\0", 2);  // an empty part
  WriteFile(path, FileOf("", list));
  ExpectError(ErrorCode::kDataLoss, "more than 1000000 entries", [&] { ReadCheckpoint(path); });
}

TEST(CheckpointTest, RefusesWhatIsNoPosition) {
  const std::string path = NewFolder("checkpoint") + "/c";
  checkpoint_proto::Manifest manifest;
  manifest.set_version(1);
  checkpoint_proto::Part* const part = manifest.add_parts();
  part->set_kind(checkpoint_proto::Part::READER);
  part->set_name("files");
  part->set_size(4);
  part->set_checksum(SumOf("text"));
  WriteFile(path, FileOf("text", manifest.SerializeAsString()));
  ExpectError(ErrorCode::kDataLoss, "while reading part 'files'", [&] { ReadCheckpoint(path); });
}

TEST(CheckpointFolderTest, KeepsTheNewest) {
  const std::string path = NewFolder("checkpoints") + "/new/folder";
  std::vector<std::string> damaged;
  {
    CheckpointFolder folder(path, 2);
    EXPECT_TRUE(folder.empty());
    EXPECT_FALSE(folder.Newest(&damaged));
    for (const uint64_t step : {1, 2, 3}) folder.Write(Some(step));
    ExpectSame(*folder.Newest(&damaged), Some(3));
  }
  EXPECT_FALSE(std::filesystem::exists(path + "/checkpoint-00000001.save"));
  EXPECT_TRUE(std::filesystem::exists(path + "/checkpoint-00000002.save"));
  WriteFile(path + "/checkpoint-00000004.save.partial", "of a process that was killed");
  WriteFile(path + "/notes", "of somebody else");
  CheckpointFolder folder(path, 2);
  EXPECT_FALSE(std::filesystem::exists(path + "/checkpoint-00000004.save.partial"));
  folder.Write(Some(4));
  ExpectSame(*folder.Newest(&damaged), Some(4));
  folder.Clear();
  EXPECT_TRUE(folder.empty());
  EXPECT_TRUE(damaged.empty());
  size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    EXPECT_EQ(entry.path().filename(), "notes");
    ++left;
  }
  EXPECT_EQ(left, 1u);
}

TEST(CheckpointFolderTest, PassesOverDamagedOnes) {
  const std::string path = NewFolder("checkpoints");
  CheckpointFolder folder(path, 3);
  for (const uint64_t step : {1, 2, 3}) folder.Write(Some(step));
  const std::string newest = path + "/checkpoint-00000003.save";
  WriteFile(newest, ReadFile(newest).substr(0, 50));
  std::vector<std::string> damaged;
  ExpectSame(*folder.Newest(&damaged), Some(2));
  ASSERT_EQ(damaged.size(), 1u);
  EXPECT_NE(damaged[0].find(newest), std::string::npos) << damaged[0];
}

TEST(CheckpointFolderTest, DamagedOnesPushNoneOut) {
  const std::string path = NewFolder("checkpoints");
  CheckpointFolder folder(path, 2);
  for (const uint64_t step : {1, 2}) folder.Write(Some(step));
  WriteFile(path + "/checkpoint-00000002.save", "damaged");
  std::vector<std::string> damaged;
  ExpectSame(*folder.Newest(&damaged), Some(1));
  folder.Write(Some(3));
  EXPECT_TRUE(std::filesystem::exists(path + "/checkpoint-00000001.save"));
  EXPECT_FALSE(std::filesystem::exists(path + "/checkpoint-00000002.save"));
  ExpectSame(*folder.Newest(&damaged), Some(3));
  folder.Write(Some(4));
  EXPECT_FALSE(std::filesystem::exists(path + "/checkpoint-00000001.save"));
  EXPECT_TRUE(std::filesystem::exists(path + "/checkpoint-00000003.save"));
}

TEST(CheckpointFolderTest, PassesOverAFileThatTheLargestNumbersName) {
  for (const char* number : {"999999999999999999", "999999999999999998", "5000000000000000"}) {
    SCOPED_TRACE(number);
    const std::string path = NewFolder("checkpoints");
    const std::string other = StrCat(path, "/checkpoint-", number, ".save");
    WriteFile(other, "not a state");
    std::vector<std::string> damaged, others;
    EXPECT_FALSE(CheckpointFolder(path, 2).Newest(&damaged).has_value());
    ASSERT_EQ(damaged.size(), 1u);
    EXPECT_NE(damaged[0].find(other), std::string::npos) << damaged[0];
    ExpectError(ErrorCode::kIo, "has no checkpoints, only files that are called so",
                [&] { NewestCheckpointIn(path, &others); });
    for (const uint64_t step : {1, 2, 3}) {
      CheckpointFolder(path, 2).Write(Some(step));
      EXPECT_EQ(ReadFile(other), "not a state");
      ExpectSame(*CheckpointFolder(path, 2).Newest(&damaged), Some(step));
      others.clear();
      EXPECT_EQ(NewestCheckpointIn(path, &others),
                StrCat(path, "/checkpoint-0000000", step, ".save"));
      EXPECT_EQ(others, std::vector<std::string>{other});
    }
    CheckpointFolder(path, 2).Clear();
    EXPECT_EQ(ReadFile(other), "not a state");
  }
}

TEST(CheckpointFolderTest, SaysThatNumbersAreUsedUp) {
  const std::string path = NewFolder("checkpoints");
  CheckpointFolder(path, 2).Write(Some(1));
  std::filesystem::rename(path + "/checkpoint-00000001.save",
                          path + "/checkpoint-999999999999999999.save");
  ExpectError(ErrorCode::kIo, "has the largest number there is",
              [&] { CheckpointFolder(path, 2).Write(Some(2)); });
}

TEST(CheckpointFolderTest, WritesNothingElsewhereThroughALink) {
  const std::string path = NewFolder("checkpoints"), elsewhere = NewFolder("elsewhere");
  std::filesystem::create_symlink(elsewhere + "/state", path + "/checkpoint-00000001.save");
  ExpectError(ErrorCode::kIo, "it is a link to a file that does not exist",
              [&] { CheckpointFolder(path, 2).Write(Some(1)); });
  EXPECT_TRUE(std::filesystem::is_empty(elsewhere));
}

// If it were left, an old checkpoint would be resumed as one of the run that begins now.
TEST(CheckpointFolderTest, SaysWhatItCannotClear) {
  const std::string path = NewFolder("checkpoints");
  CheckpointFolder folder(path, 2);
  folder.Write(Some());
  const std::string file = path + "/checkpoint-00000001.save";
  std::filesystem::remove(file);
  std::filesystem::create_directories(file + "/full");
  ExpectError(ErrorCode::kIo, file, [&] { folder.Clear(); });
  EXPECT_FALSE(folder.empty());
  std::filesystem::remove_all(file);
  folder.Clear();
  EXPECT_TRUE(folder.empty());
}

TEST(CheckpointFolderTest, TakesOnlyItsOwnNamesForCheckpoints) {
  const std::string path = NewFolder("checkpoints");
  WriteFile(path + "/checkpoint-0000000001.save", "ten digits, as it writes only large numbers");
  CheckpointFolder folder(path, 2);
  EXPECT_TRUE(folder.empty());
}

TEST(CheckpointFolderTest, IsOneOwnersAtATime) {
  const std::string path = NewFolder("checkpoints");
  {
    CheckpointFolder folder(path, 1);
    ExpectError(ErrorCode::kIo, "another process saves its run",
                [&] { CheckpointFolder(path, 1); });
    folder.Write(Some());
  }
  EXPECT_FALSE(CheckpointFolder(path, 1).empty());
}

// A child has the descriptor of the folder, but not the lock.
TEST(CheckpointFolderTest, IsNotHeldByAForkedChild) {
  const std::string path = NewFolder("checkpoints");
  int until[2];
  ASSERT_EQ(::pipe(until), 0);
  std::optional<CheckpointFolder> folder(std::in_place, path, 1);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(until[1]);
    char byte;
    static_cast<void>(!::read(until[0], &byte, 1));  // until the parent has closed it
    _exit(0);
  }
  folder.reset();
  EXPECT_TRUE(CheckpointFolder(path, 1).empty());
  ::close(until[0]);
  ::close(until[1]);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

// Whatever call fails, what was saved before is there.
TEST(CheckpointFolderTest, IsInAnyFileSystem) {
  const std::string path = "memory:///run";
  MemoryFiles& files = MemoryFiles::Get();
  std::vector<std::string> damaged;
  CheckpointFolder(path, 2).Write(Some(1));
  for (uint64_t step = 2;; ++step) {
    files.Break(FileTrouble::kFail, static_cast<int64_t>(step) - 2);
    bool written = false;
    try {
      CheckpointFolder folder(path, 2);
      folder.Write(Some(step));
      written = true;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kIo);
      EXPECT_NE(std::string(error.what()).find(path), std::string::npos) << error.what();
    }
    const bool hit = files.hit();
    files.Mend();
    ExpectSame(*CheckpointFolder(path, 2).Newest(&damaged), Some(written ? step : step - 1));
    if (!written) CheckpointFolder(path, 2).Write(Some(step));
    if (!hit) break;
  }
  std::vector<std::string> others;
  const std::string newest = NewestCheckpointIn(path, &others);
  EXPECT_EQ(newest.rfind("memory:///run/checkpoint-", 0), 0u) << newest;
  CheckpointFolder folder(path, 1);
  folder.Write(Some(100));
  EXPECT_EQ(FileSystemOf(path).ListFolder(path).size(), 1u);
  folder.Clear();
  EXPECT_TRUE(CheckpointFolder(path, 1).empty());
}

TEST(CheckpointFolderTest, NamesAFolderThatCannotBeUsed) {
  const std::string path = NewFolder("checkpoints") + "/file";
  WriteFile(path, "");
  ExpectError(ErrorCode::kIo, path, [&] { CheckpointFolder(path, 1); });
  const std::string unlisted = "http://127.0.0.1:9/run";
  ExpectError(ErrorCode::kInvalidArgument, unlisted, [&] { CheckpointFolder(unlisted, 1); });
}

}  // namespace
}  // namespace millhopper
