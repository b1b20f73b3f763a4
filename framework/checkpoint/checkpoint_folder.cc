// SPDX-License-Identifier: Apache-2.0
#include "framework/checkpoint/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <utility>

#include "framework/base/error.h"

namespace millhopper {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "checkpoint-";
constexpr char kSuffix[] = ".save";
constexpr char kPartial[] = ".partial";
constexpr size_t kDigits = 8;
constexpr size_t kMostDigits = 18;

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

[[noreturn]] void FailIn(const std::string& path, const std::error_code& error) {
  throw Error(ErrorCode::kIo, StrCat("this folder of checkpoints: ", error.message()))
      .InFile(path, -1);
}

// Calls function(path, name) for every file in a folder.
template <typename Function>
void ForEachFile(const std::string& folder, Function function) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    if (!entries->is_regular_file(error)) continue;
    function(entries->path(), entries->path().filename().string());
  }
  if (error) FailIn(folder, error);
}

}  // namespace

std::string NewestCheckpointIn(const std::string& folder) {
  std::optional<uint64_t> newest;
  ForEachFile(folder, [&newest](const fs::path&, const std::string& name) {
    newest = std::max(newest, NumberOf(name));
  });
  if (!newest) {
    throw Error(ErrorCode::kIo, "this folder has no checkpoints").InFile(folder, -1);
  }
  return (fs::path(folder) / FileName(*newest)).string();
}

CheckpointFolder::Lock::Lock(const std::string& folder)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) FailIn(folder, std::error_code(errno, std::generic_category()));
  // A file system without locks is used without one.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
  ::close(descriptor_);
  throw Error(ErrorCode::kIo, "another process saves its run in this folder of checkpoints")
      .InFile(folder, -1);
}

// A child that was forked meanwhile has the descriptor, too. Closing alone would leave it the lock,
// which is the parent's to give up.
CheckpointFolder::Lock::~Lock() {
  if (process_.IsThis()) ::flock(descriptor_, LOCK_UN);
  ::close(descriptor_);
}

CheckpointFolder::CheckpointFolder(std::string path, size_t keep)
    : path_(std::move(path)), keep_(keep) {
  Require(keep_ > 0, "at least one checkpoint must be kept");
  std::error_code error;
  fs::create_directories(path_, error);
  if (error) FailIn(path_, error);
  lock_.emplace(path_);
  std::vector<fs::path> left;
  ForEachFile(path_, [this, &left](const fs::path& file, const std::string& name) {
    if (const std::optional<uint64_t> number = NumberOf(name)) numbers_.push_back(*number);
    if (name.rfind(kPrefix, 0) == 0 && EndsWith(name, kPartial)) left.push_back(file);
  });
  for (const fs::path& file : left) fs::remove(file, error);  // they only take room
  std::sort(numbers_.begin(), numbers_.end());
}

std::string CheckpointFolder::Name(uint64_t number) const {
  return (fs::path(path_) / FileName(number)).string();
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

void CheckpointFolder::Write(const Checkpoint& checkpoint) {
  const uint64_t number = empty() ? 1 : numbers_.back() + 1;
  WriteCheckpoint(checkpoint, Name(number));
  std::error_code stays;  // what cannot be removed only takes room: it is older, or damaged
  for (; passed_over_ > 0; --passed_over_) {
    fs::remove(Name(numbers_.back()), stays);
    numbers_.pop_back();
  }
  numbers_.push_back(number);
  while (numbers_.size() > keep_) {
    fs::remove(Name(numbers_.front()), stays);
    numbers_.erase(numbers_.begin());
  }
}

void CheckpointFolder::Clear() {
  passed_over_ = 0;
  while (!numbers_.empty()) {
    const std::string newest = Name(numbers_.back());
    std::error_code error;
    fs::remove(newest, error);
    if (error) {
      throw Error(ErrorCode::kIo, StrCat("this checkpoint cannot be removed: ", error.message()))
          .InFile(newest, -1);
    }
    numbers_.pop_back();
  }
}

}  // namespace millhopper
