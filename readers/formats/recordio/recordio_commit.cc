// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/recordio/recordio_commit.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "framework/base/error.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

OutputRules ManifestRules() {
  OutputRules rules;
  rules.role = FileRole::kManifest;
  rules.make_target = false;
  return rules;
}

std::string ManifestOf(const std::vector<RecordIOWriter*>& files) {
  std::string path = RecordIOManifest::PathOf(files.at(0)->output().path());
  for (const RecordIOWriter* file : files) {
    if (RecordIOManifest::PathOf(file->output().path()) == path) continue;
    Throw(ErrorCode::kInternal, "files of several manifests cannot get their names together");
  }
  return path;
}

// What a finished file holds.
RecordIOCounts CountsOf(const RecordIOWriter& file) {
  return {file.bytes(), file.chunks(), file.records()};
}

RecordIOPromise PromiseOf(const RecordIOWriter& file) {
  return {CountsOf(file), std::nullopt, ToText(file.slots())};
}

// The manifest to publish before one file is; nothing if the present one can stay.
std::optional<RecordIOManifest> WhileReplacing(const RecordIOManifest& manifest,
                                               const RecordIOWriter& file) {
  const std::string& path = file.output().path();
  std::optional<RecordIOPromise> listed;
  try {
    listed = manifest.Find(path);
  } catch (const Error&) {  // already marked as being replaced together with others
    return std::nullopt;
  }
  RecordIOManifest between = manifest;
  if (!listed) {
    // A local file gets its name in one step, which does not fail once it is on the disk. After a
    // failed upload it is unknown what the server has.
    if (IsLocal(path)) return std::nullopt;
    file.output().replaces() ? between.SetReplacing(path) : between.Set(path, PromiseOf(file));
  } else if (listed->old) {
    // An earlier replacement was interrupted, so the file may hold any of three contents.
    between.SetReplacing(path);
  } else {
    RecordIOPromise either = PromiseOf(file);
    either.old = listed->counts;
    if (either.slots != listed->slots) either.slots.clear();
    between.Set(path, either);
  }
  return between;
}

}  // namespace

// Keeps other processes from changing manifests of this folder, where its file system has locks.
class RecordIOCommit::FolderLock {
 public:
  explicit FolderLock(const std::string& folder)
      : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {}
  ~FolderLock() {
    if (descriptor_ < 0) return;
    ::flock(descriptor_, LOCK_UN);  // a forked child may have the descriptor
    ::close(descriptor_);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  void Wait() const {
    for (Backoff backoff; descriptor_ >= 0 && ::flock(descriptor_, LOCK_EX | LOCK_NB) != 0;
         backoff.Pause()) {
      if (errno != EWOULDBLOCK) return;
      CheckWait();
    }
  }

 private:
  const int descriptor_;
};

void CheckListing(const std::vector<RecordIOWriter*>& files) {
  const std::string path = ManifestOf(files);
  RecordIOManifest::LoadToReplace(files[0]->output().path());
  const OutputFile probe(path, ManifestRules());
  struct stat status, own_status;
  const bool exists = ::stat(path.c_str(), &status) == 0;
  for (RecordIOWriter* file : files) {
    // Readers that open the file by the link's target would find other contents than that name's
    // manifest lists.
    const std::string& place = file->output().place();
    const std::string own = RecordIOManifest::PathOf(place);
    if (::stat(own.c_str(), &own_status) != 0) continue;
    if (exists && FileId(own_status) == FileId(status)) continue;
    Require(!RecordIOManifest::LoadIfThere(own).Lists(place), Escaped(file->output().path()),
            ": is a link to ", Escaped(place), ", which has its own manifest (", Escaped(own),
            "); write to that name");
  }
}

RecordIOCommit::RecordIOCommit(const std::vector<RecordIOWriter*>& files, bool all_shards) {
  for (RecordIOWriter* file : files) file->Finish();
  const std::string path = ManifestOf(files);
  const size_t slash = path.rfind('/');
  lock_ =
      std::make_unique<FolderLock>(slash == std::string::npos ? "." : path.substr(0, slash + 1));
  lock_->Wait();
  CheckListing(files);
  const RecordIOManifest before = RecordIOManifest::LoadToReplace(files[0]->output().path());
  RecordIOManifest after = before;
  RecordIOManifest between = before;
  std::vector<std::string> names;
  for (RecordIOWriter* file : files) {
    names.push_back(file->output().path());
    after.Set(names.back(), PromiseOf(*file));
    between.SetReplacing(names.back());
  }
  if (all_shards) after.DropOtherShards(names);
  if (files.size() > 1) {
    Prepare(between, path);
  } else if (const auto one = WhileReplacing(before, *files[0])) {
    Prepare(*one, path);
  }
  for (RecordIOWriter* file : files) steps_.push_back(&file->output());
  Prepare(after, path);
}

RecordIOCommit::~RecordIOCommit() = default;

void RecordIOCommit::Prepare(const RecordIOManifest& manifest, const std::string& path) {
  const std::string text = manifest.ToText();
  if (text == prepared_) return;
  prepared_ = text;
  manifests_.push_back(std::make_unique<OutputFile>(path, ManifestRules()));
  manifests_.back()->Write(text);
  manifests_.back()->Finish();
  steps_.push_back(manifests_.back().get());
}

void CommitRecordIO(const std::vector<RecordIOWriter*>& files, bool all_shards) {
  if (files.size() == 1 && files[0]->output().is_stream()) {
    files[0]->Finish();
    return;
  }
  const RecordIOCommit commit(files, all_shards);
  try {
    PublishInOrder(commit.steps());
  } catch (const Error& error) {
    if (IsLocal(files[0]->output().path())) throw;
    throw error.WithContext(StrCat("while giving ", files.size() == 1 ? "a file" : "files",
                                   " the name on a server; the manifest says what may lie there (",
                                   Escaped(ManifestOf(files)), "): write all of them again"));
  }
}

}  // namespace millhopper
