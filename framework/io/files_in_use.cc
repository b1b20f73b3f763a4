// SPDX-License-Identifier: Apache-2.0
#include "framework/io/files_in_use.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "framework/base/error.h"
#include "framework/base/mutex.h"

namespace millhopper {
namespace {

struct Registry {
  Mutex mutex;  // also guards the files of those read
  std::set<FilesRead*> read GUARDED_BY(mutex);
  std::set<FileReplaced*> replaced GUARDED_BY(mutex);

  static Registry& Get() {
    static auto* registry =
        new Registry;  // never destroyed: readers may live as long as the process
    return *registry;
  }
};

const char* ToString(FileRole role) {
  switch (role) {
    case FileRole::kData:
      return "data";
    case FileRole::kProgram:
      return "a program";
    case FileRole::kFlags:
      return "a file of flags";
    case FileRole::kPlugin:
      return "a plugin";
    case FileRole::kManifest:
      return "a manifest";
  }
  return "a file";
}

// A new manifest is merged with the old one, so the process may read and replace it at once.
bool MayMeet(FileRole read, FileRole replaced) {
  return read == FileRole::kManifest && replaced == FileRole::kManifest;
}

}  // namespace

FilesRead::FilesRead(FileRole role) : role_(role) {
  Registry& registry = Registry::Get();
  const MutexLock lock(&registry.mutex);
  registry.read.insert(this);
}

FilesRead::~FilesRead() {
  Registry& registry = Registry::Get();
  const MutexLock lock(&registry.mutex);
  registry.read.erase(this);
}

void FilesRead::Add(const std::string& path, const FileId& id) {
  Registry& registry = Registry::Get();
  const MutexLock lock(&registry.mutex);
  for (const FileReplaced* replaced : registry.replaced) {
    if (replaced->id_ != id || MayMeet(role_, replaced->role_)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                StrCat("cannot be read as ", ToString(role_),
                       ": this process is writing a new file of this name, or of a link to it"))
        .InFile(path, -1);
  }
  ids_.push_back(id);
  sorted_ = false;
}

void FilesRead::AddLocal(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) Add(path, FileId(status));
}

void FilesRead::End() {
  if (state_.load() == State::kEnded) return;
  const MutexLock lock(&Registry::Get().mutex);
  state_.store(State::kEnded);
}

void FilesRead::Rewind() {
  if (state_.load() == State::kRewound) return;
  const MutexLock lock(&Registry::Get().mutex);
  state_.store(State::kRewound);
}

bool FilesRead::Begin() {
  if (state_.load() != State::kRewound) return false;
  const MutexLock lock(&Registry::Get().mutex);
  State rewound = State::kRewound;
  return state_.compare_exchange_strong(rewound, State::kRead);
}

void FilesRead::Clear() {
  const MutexLock lock(&Registry::Get().mutex);
  ids_.clear();
}

FileReplaced::FileReplaced(const std::string& path, const FileId& id, FileRole role)
    : id_(id), role_(role) {
  Registry& registry = Registry::Get();
  const MutexLock lock(&registry.mutex);
  for (FilesRead* read : registry.read) {
    if (read->state_.load() != FilesRead::State::kRead) continue;
    if (!read->sorted_) std::sort(read->ids_.begin(), read->ids_.end());
    read->sorted_ = true;
    if (!std::binary_search(read->ids_.begin(), read->ids_.end(), id_)) continue;
    if (MayMeet(read->role_, role_)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                StrCat("cannot be written: this process reads the same file as ",
                       ToString(read->role_), "; write to another name"))
        .InFile(path, -1);
  }
  registry.replaced.insert(this);
}

FileReplaced::~FileReplaced() {
  Registry& registry = Registry::Get();
  const MutexLock lock(&registry.mutex);
  registry.replaced.erase(this);
}

}  // namespace millhopper
