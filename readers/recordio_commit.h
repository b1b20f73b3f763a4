// SPDX-License-Identifier: Apache-2.0
// How RecordIO files that have been written get their names, and their manifest with them, so that
// at every instant at which the process may be killed the files that have these names are the old
// ones, or the new ones, or the manifest says that they may be both, which every reader tells.
#ifndef MILLHOPPER_READERS_RECORDIO_COMMIT_H_
#define MILLHOPPER_READERS_RECORDIO_COMMIT_H_

#include <memory>
#include <string>
#include <vector>

#include "framework/io/output_file.h"
#include "readers/recordio_manifest.h"
#include "readers/recordio_writer.h"

namespace millhopper {

// Throws for a manifest that files could not be listed in: as RecordIOManifest::Load, and kIo or
// kInvalidArgument if it could not be written, or if a file is a link to one that has a manifest of
// its own. For who is about to write for a long time.
void CheckListing(const std::vector<RecordIOWriter*>& files);

// One thread at a time; the processes that write files of one folder wait for one another.
class RecordIOCommit {
 public:
  // Finishes the files, at least one and all of one manifest, and prepares the manifest. They are
  // `all_shards` of their set if what it has listed of others is to be forgotten. Throws as
  // CheckListing and RecordIOWriter::Finish; up to here nothing that has a name has changed.
  RecordIOCommit(const std::vector<RecordIOWriter*>& files, bool all_shards);
  ~RecordIOCommit();
  RecordIOCommit(const RecordIOCommit&) = delete;
  RecordIOCommit& operator=(const RecordIOCommit&) = delete;

  // What is to be published, in this order.
  const std::vector<OutputFile*>& steps() const { return steps_; }

 private:
  void Prepare(const RecordIOManifest& manifest, const std::string& path);

  class FolderLock;
  std::unique_ptr<FolderLock> lock_;
  std::vector<std::unique_ptr<OutputFile>> manifests_;
  std::vector<OutputFile*> steps_;
};

// The whole of it. Streams are finished only.
void CommitRecordIO(const std::vector<RecordIOWriter*>& files, bool all_shards);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_RECORDIO_COMMIT_H_
