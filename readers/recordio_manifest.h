// SPDX-License-Identifier: Apache-2.0
// What RecordIO files should hold, written down beside them: a file that was cut off between two of
// its chunks looks whole, and only a count tells that it is not.
//
// A manifest is a JSON file for all files of one set, a few dozen bytes for each:
//
//   {"format": "recordio-manifest", "version": 1, "files": [
//    {"name": "train-00000.recordio", "bytes": 18350080, "chunks": 18, "records": 17201},
//    {"name": "train-00001.recordio", "bytes": 18349412, "chunks": 18, "records": 17200}
//   ]}
//
// Names have no folder: the files lie beside the manifest, escaped as error texts show them. The
// manifest of <stem>-<five digits>.recordio is <stem>.recordio.manifest.json, so that the shards of
// a set share one; that of any other file is <file>.manifest.json. Patterns do not take manifests
// for data (file_list.h). Who writes files lists them (recordio_commit.h); every reader of RecordIO
// looks for it.
//
// A file that a manifest lists must have exactly these bytes, chunks and records. One that it does
// not list is read as if there were no manifest: files may be added to a set by hand. A manifest
// that is none, or of another version, is an error of every file that it might list.
//
// While files are replaced, and after a replacement that was interrupted, the manifest says so. A
// file that is replaced by itself has what it held before as well ("old_bytes", "old_chunks",
// "old_records"), and must hold the one or the other. Of files that are replaced together, some may
// be old and some new: instead of numbers they have "replacing": true, and none of them is read.
#ifndef MILLHOPPER_READERS_RECORDIO_MANIFEST_H_
#define MILLHOPPER_READERS_RECORDIO_MANIFEST_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/file_system.h"
#include "framework/io/files_in_use.h"

namespace millhopper {

// What a file should hold.
struct RecordIOCounts {
  uint64_t bytes = 0;
  uint64_t chunks = 0;
  uint64_t records = 0;
  bool operator==(const RecordIOCounts& other) const {
    return bytes == other.bytes && chunks == other.chunks && records == other.records;
  }
};

// What a manifest promises of a file.
struct RecordIOPromise {
  RecordIOCounts counts;
  std::optional<RecordIOCounts> old;  // a file that is being replaced may hold these still
};

constexpr char kManifestSuffix[] = ".manifest.json";

// One manifest. Files are named by any path; only what follows the last slash counts.
class RecordIOManifest {
 public:
  // Where the manifest of a file is, if it has one.
  static std::string PathOf(const std::string& file);
  // Reads a manifest. Throws kIo if it cannot be read, kDataLoss if it is none, kResourceLimit if
  // it is longer than any manifest; all name it.
  static RecordIOManifest Load(const std::string& path);
  // The same; an empty one if there is no such file.
  static RecordIOManifest LoadIfThere(const std::string& path);

  // Throws kDataLoss if the file is one of several that are being replaced.
  std::optional<RecordIOPromise> Find(const std::string& file) const;
  bool Lists(const std::string& file) const;
  void Set(const std::string& file, const RecordIOPromise& promise);
  // The file is one of several that are being replaced.
  void SetReplacing(const std::string& file);
  // Leaves out the shards that are none of these.
  void DropOtherShards(const std::vector<std::string>& files);
  // Where those files of its set belong that are listed and not there; the manifest itself is at
  // `path`, and names that its files cannot have are passed over.
  std::vector<std::string> Missing(const std::string& path) const;
  std::string ToText() const;

 private:
  struct Entry {
    RecordIOPromise promise;
    bool replacing = false;  // then nothing is promised
  };
  class Parser;

  std::map<std::string, Entry> files_;  // by escaped name
};

// Looks manifests up and remembers the last ones, so that the files of a set cost one look at a
// directory each. One thread at a time.
class RecordIOManifests {
 public:
  // `patterns` have wildcards, and files were found by them: one that a manifest lists and a
  // pattern fits must be there, for without it something else is read than what was meant. A file
  // that is named by itself is read whether or not the others of its set are there.
  explicit RecordIOManifests(std::vector<std::string> patterns = {})
      : patterns_(std::move(patterns)) {}

  // What the file should hold, as its manifest says at this moment; nothing if there is none or it
  // does not list the file. Throws as RecordIOManifest::Load and Find, and kDataLoss for a file
  // that is missing.
  std::optional<RecordIOPromise> Find(const std::string& file);

 private:
  struct Known {
    FileStatus status;
    RecordIOManifest manifest;
    FilesRead read{FileRole::kManifest};
  };

  void CheckMissing(const RecordIOManifest& manifest, const std::string& path) const;

  const std::vector<std::string> patterns_;
  std::map<std::string, std::unique_ptr<Known>> known_;  // by path
};

// What is thrown for a listed file that is not there.
Error MissingFile(const std::string& file);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_RECORDIO_MANIFEST_H_
