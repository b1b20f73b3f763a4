// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <system_error>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/url.h"
#include "framework/io/file.h"
#include "framework/io/file_system.h"
#include "framework/io/output_file.h"

namespace millhopper {
namespace {

constexpr char kPrefix[] = "checkpoint-";
constexpr char kSuffix[] = ".save";
constexpr size_t kDigits = 8;
constexpr size_t kMostDigits = 18;
constexpr uint64_t kMostNumber = 999'999'999'999'999'999;
// No run writes as many, so a file with such a number that is no whole checkpoint is probably none
// at all.
constexpr uint64_t kDoubtful = 1'000'000'000'000;

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

std::string FileName(uint64_t number) {
  char name[64];
  snprintf(name, sizeof(name), "%s%0*llu%s", kPrefix, static_cast<int>(kDigits),
           static_cast<unsigned long long>(number), kSuffix);
  return name;
}

// The number of a file's name, if it is that of a checkpoint, as FileName writes it: two files
// never have one number.
std::optional<uint64_t> NumberOf(const std::string& name) {
  const size_t prefix = sizeof(kPrefix) - 1;
  if (name.rfind(kPrefix, 0) != 0 || !EndsWith(name, kSuffix)) return std::nullopt;
  const std::string digits = name.substr(prefix, name.size() - prefix - (sizeof(kSuffix) - 1));
  if (digits.size() < kDigits || digits.size() > kMostDigits) return std::nullopt;
  if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
  const uint64_t number = std::stoull(digits);
  if (FileName(number) != name) return std::nullopt;
  return number;
}

[[noreturn]] void FailIn(const std::string& path, const std::string& problem) {
  throw Error(ErrorCode::kIo, StrCat("this folder of checkpoints: ", problem)).InFile(path, -1);
}

// The names of the files in a folder.
std::vector<std::string> FilesIn(const std::string& folder) {
  std::vector<std::string> names;
  for (FolderEntry& entry : FileSystemOf(folder).ListFolder(folder)) {
    if (entry.kind == FileStatus::Kind::kFile) names.push_back(std::move(entry.name));
  }
  return names;
}

}  // namespace

std::vector<std::string> CheckpointsIn(const std::string& folder) {
  if (IsLocal(folder) && !std::filesystem::exists(folder)) return {};
  std::vector<uint64_t> numbers;
  for (const std::string& name : FilesIn(folder)) {
    if (const std::optional<uint64_t> number = NumberOf(name)) numbers.push_back(*number);
  }
  std::sort(numbers.begin(), numbers.end(), std::greater<>());
  std::vector<std::string> paths;
  paths.reserve(numbers.size());
  for (const uint64_t number : numbers) paths.push_back(PathIn(folder, FileName(number)));
  return paths;
}

std::string NewestCheckpointIn(const std::string& folder, std::vector<std::string>* others) {
  for (std::string& path : CheckpointsIn(folder)) {
    if (IsCheckpoint(*File::Open(path))) return path;
    others->push_back(std::move(path));
  }
  throw Error(ErrorCode::kIo, StrCat("this folder has no checkpoints",
                                     others->empty() ? "" : ", only files that are called so"))
      .InFile(folder, -1);
}

CheckpointFolder::Lock::Lock(const std::string& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) FailIn(folder, std::strerror(errno));
  // A file system without locks is used without one.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw Error(ErrorCode::kIo, "another process saves its run in this folder of checkpoints")
      .InFile(folder, -1);
}

// A child that was forked meanwhile has the descriptor, too. Closing alone would leave the lock
// with the child, so it is released.
CheckpointFolder::Lock::~Lock() {
  if (process_.IsThis()) ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

CheckpointFolder::CheckpointFolder(std::string path, size_t keep)
    : path_(std::move(path)), keep_(keep) {
  Require(keep_ > 0, "at least one checkpoint must be kept");
  if (IsLocal(path_)) {
    std::error_code error;
    std::filesystem::create_directories(path_, error);
    if (error) FailIn(path_, error.message());
    lock_.emplace(path_);
  }
  for (const std::string& name : FilesIn(path_)) {
    if (const std::optional<uint64_t> number = NumberOf(name)) numbers_.push_back(*number);
    if (name.rfind(kPrefix, 0) == 0 && EndsWith(name, kPartialSuffix)) RemoveRemains(name);
  }
  std::sort(numbers_.begin(), numbers_.end());
}

std::string CheckpointFolder::Name(uint64_t number) const {
  return PathIn(path_, FileName(number));
}

void CheckpointFolder::RemoveRemains(const std::string& name) const {
  try {
    FileSystemOf(path_).Remove(PathIn(path_, name));
  } catch (const Error& error) {  // it is older, damaged, or no checkpoint: it stays
    if (error.interrupts()) throw;
  }
}

bool CheckpointFolder::IsOthers(uint64_t number) const {
  return number >= kDoubtful && !IsCheckpoint(*File::Open(Name(number)));
}

std::optional<Checkpoint> CheckpointFolder::Newest(std::vector<std::string>* damaged) {
  for (passed_over_ = 0; passed_over_ < numbers_.size(); ++passed_over_) {
    try {
      return ReadCheckpoint(Name(numbers_[numbers_.size() - 1 - passed_over_]));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kDataLoss) throw;
      damaged->push_back(error.message());
    }
  }
  return std::nullopt;
}

uint64_t CheckpointFolder::NextNumber() {
  if (empty()) return 1;
  if (numbers_.back() < kDoubtful) return numbers_.back() + 1;
  std::vector<std::string> damaged;
  Newest(&damaged);
  if (passed_over_ == numbers_.size()) return 1;
  const uint64_t newest = numbers_[numbers_.size() - 1 - passed_over_];
  if (newest == kMostNumber) FailIn(path_, FileName(newest) + " has the largest number there is");
  return newest + 1;
}

void CheckpointFolder::Write(const Checkpoint& checkpoint,
                             const std::function<bool(const std::string& path)>& may_remove) {
  const uint64_t number = NextNumber();
  OutputRules rules;
  rules.make_target = false;
  WriteCheckpoint(checkpoint, Name(number), rules);
  for (; passed_over_ > 0; --passed_over_) {
    const uint64_t passed = numbers_.back();
    if (passed != number && !IsOthers(passed)) RemoveRemains(FileName(passed));
    numbers_.pop_back();
  }
  numbers_.push_back(number);
  while (numbers_.size() > keep_) {
    if (may_remove != nullptr && !may_remove(Name(numbers_.front()))) return;
    RemoveRemains(FileName(numbers_.front()));
    numbers_.erase(numbers_.begin());
  }
}

void CheckpointFolder::RemoveIf(const std::function<bool(const std::string& path)>& goes) {
  for (size_t i = numbers_.size(); i-- > 0;) {
    if (IsOthers(numbers_[i]) || !goes(Name(numbers_[i]))) continue;
    FileSystemOf(path_).Remove(Name(numbers_[i]));
    numbers_.erase(numbers_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void CheckpointFolder::Clear() {
  passed_over_ = 0;
  while (!numbers_.empty()) {
    if (!IsOthers(numbers_.back())) FileSystemOf(path_).Remove(Name(numbers_.back()));
    numbers_.pop_back();
  }
}

}  // namespace millhopper
