// SPDX-License-Identifier: Apache-2.0
// Gives finished RecordIO files their names, together with their manifest. If the process is killed
// or an upload fails at any time, the files with these names are the old ones or the new ones;
// otherwise the manifest says that they may be either or missing, and every reader reports that.
#ifndef MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_COMMIT_H_
#define MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_COMMIT_H_

#include <memory>
#include <string>
#include <vector>

#include "framework/io/output_file.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/recordio/recordio_writer.h"

namespace millhopper {

// Checks that these files can be listed in their manifest, so that a caller learns of a problem
// before it writes for a long time. Throws what RecordIOManifest::Load throws, and kIo or
// kInvalidArgument if the manifest cannot be written or a file is a link to one with another
// manifest.
void CheckListing(const std::vector<RecordIOWriter*>& files);

// One thread at a time; the processes that write files of one folder wait for one another.
class RecordIOCommit {
 public:
  // Finishes the files, at least one and all of one manifest, and prepares the manifest. With
  // `all_shards` these are all shards of their set, and the manifest forgets any others. Throws
  // what CheckListing and RecordIOWriter::Finish throw. It changes no file that has its name
  // already.
  RecordIOCommit(const std::vector<RecordIOWriter*>& files, bool all_shards);
  ~RecordIOCommit();
  RecordIOCommit(const RecordIOCommit&) = delete;
  RecordIOCommit& operator=(const RecordIOCommit&) = delete;

  // The files to publish, in this order.
  const std::vector<OutputFile*>& steps() const { return steps_; }

 private:
  // Adds the manifest to the steps, unless it is the last one there.
  void Prepare(const RecordIOManifest& manifest, const std::string& path);

  class FolderLock;
  std::unique_ptr<FolderLock> lock_;
  std::string prepared_;  // the text of the last manifest
  std::vector<std::unique_ptr<OutputFile>> manifests_;
  std::vector<OutputFile*> steps_;
};

// Does the whole commit. Streams are only finished. An error of an upload that may have changed
// something says that the manifest tells it.
void CommitRecordIO(const std::vector<RecordIOWriter*>& files, bool all_shards);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_COMMIT_H_
