// SPDX-License-Identifier: Apache-2.0
// A manifest says what RecordIO files beside it should hold: a file that was cut off between two
// chunks looks whole, and only a count shows that it is not.
//
// A manifest is a JSON file for all files of one set, a few dozen bytes for each:
//
//   {"format": "recordio-manifest", "version": 1, "files": [
//    {"name": "train-00000.recordio", "bytes": 18350080, "chunks": 18, "records": 17201,
//     "format": "45091362 image uint8[1,28,28] label int64[1,1]"},
//    {"name": "train-00001.recordio", "bytes": 18349412, "chunks": 18, "records": 17200,
//     "format": "45091362 image uint8[1,28,28] label int64[1,1]"}
//   ]}
//
// Names have no folder: the files lie beside the manifest, escaped as error texts show them. The
// manifest of <stem>-<five digits>.recordio is <stem>.recordio.manifest.json, so that the shards of
// a set share one; that of any other file is <file>.manifest.json. Patterns do not take manifests
// for data (file_list.h). Writers list their files (recordio_commit.h); every RecordIO reader looks
// for the manifest.
//
// A file that a manifest lists must have exactly these bytes, chunks and records. One that it does
// not list is read as if there were no manifest: files may be added to a set by hand. A malformed
// manifest, or one of another version, is an error for every file that it might list.
//
// "format", if it is there, tells the slots of the records (named_slots.h), after the CRC-32C of
// that text, so that no damaged name passes for one. Readers of version 0.1.0 ignore the key. Where
// all of it would exceed the largest manifest, it is left out.
//
// While files are replaced, and after a replacement that was interrupted, the manifest says so. A
// file that is replaced alone is also listed with its old contents ("old_bytes", "old_chunks",
// "old_records"), and must hold the old or the new. Of files that are replaced together, some may
// be old and some new: instead of numbers they have "replacing": true, and none of them is read.
// Slots are then told only where old and new have the same.
#ifndef MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_MANIFEST_H_
#define MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_MANIFEST_H_

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
#include "readers/fields/named_slots.h"

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

// What a manifest says about a file.
struct RecordIOPromise {
  RecordIOCounts counts;
  std::optional<RecordIOCounts> old;  // a file that is being replaced may still hold these
  std::string slots = {};  // that fit each record, as text (named_slots.h); "" if unknown
};

constexpr char kManifestSuffix[] = ".manifest.json";

// One manifest. Files are named by any path; only what follows the last slash counts.
class RecordIOManifest {
 public:
  // Where the manifest of a file is, if it has one.
  static std::string PathOf(const std::string& file);
  // Reads a manifest. Throws kIo if it cannot be read, kDataLoss if it is malformed, kResourceLimit
  // if it is too long; the errors name it.
  static RecordIOManifest Load(const std::string& path);
  // The same; an empty one if there is no such file. Throws kIo if its server does not tell.
  static RecordIOManifest LoadIfThere(const std::string& path);
  // The same for the manifest of a file that is going to be replaced. It is empty, too, if it has
  // no byte, which an interrupted upload leaves in some stores, and the file is no shard: that of
  // shards would list others.
  static RecordIOManifest LoadToReplace(const std::string& file);

  // Throws kDataLoss if the file is one of several that are being replaced.
  std::optional<RecordIOPromise> Find(const std::string& file) const;
  bool Lists(const std::string& file) const;
  void Set(const std::string& file, const RecordIOPromise& promise);
  // Marks the file as one of several that are being replaced.
  void SetReplacing(const std::string& file);
  // Removes all shards but these.
  void DropOtherShards(const std::vector<std::string>& files);
  // The paths of listed files of the set that do not exist. The manifest itself is at `path`; names
  // that its files cannot have are ignored.
  std::vector<std::string> Missing(const std::string& path) const;
  std::string ToText() const { return ToText(kMaxBytes); }
  // The same, without slots if it would have more than `limit` bytes with them.
  std::string ToText(uint64_t limit) const;

  static constexpr uint64_t kMaxBytes = uint64_t{64} << 20;

 private:
  struct Entry {
    RecordIOPromise promise;
    bool replacing = false;  // then the counts mean nothing
  };
  class Parser;

  std::map<std::string, Entry> files_;  // by escaped name
};

// Looks manifests up and remembers the last ones, so that the files of a set cost one look at a
// directory each. One thread at a time.
class RecordIOManifests {
 public:
  // `patterns` are the wildcards that found the files. A file that a manifest lists and a pattern
  // matches must exist, because the program meant to read it. A file that the program names itself
  // is read even if others of its set are missing.
  explicit RecordIOManifests(std::vector<std::string> patterns = {})
      : patterns_(std::move(patterns)) {}

  // What the file should hold, as its manifest says at this moment; nothing if there is none or it
  // does not list the file, or if the file can be read once only. Throws what
  // RecordIOManifest::Load and Find throw, and kDataLoss for a missing file.
  std::optional<RecordIOPromise> Find(const std::string& file);

 private:
  struct Known {
    FileStatus status;
    RecordIOManifest manifest;
  };

  void CheckMissing(const RecordIOManifest& manifest, const std::string& path) const;

  const std::vector<std::string> patterns_;
  std::map<std::string, std::unique_ptr<Known>> known_;  // by path
};

// The slots that a manifest tells of this file, if it does. Throws kDataLoss, naming the manifest,
// if they are no slots, although their checksum is right.
std::optional<NamedSlots> SlotsOf(const RecordIOPromise& promise, const std::string& file);

// The slots that fit every record of all these files, as their manifests say now; nothing if there
// are no files, if one of them has none stored or can be read once only, or if they are of several
// kinds. There are names if all have the same. Throws what RecordIOManifest::Load and Find throw.
std::optional<NamedSlots> StoredSlots(const std::vector<std::string>& files);

// The error for a listed file that does not exist.
Error MissingFile(const std::string& file);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_RECORDIO_RECORDIO_MANIFEST_H_
