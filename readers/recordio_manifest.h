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
// for data (file_list.h). `recordio write` writes it last; every reader of RecordIO looks for it.
//
// A file that a manifest lists must have exactly these bytes, chunks and records. One that it does
// not list is read as if there were no manifest: files may be added to a set by hand. A manifest
// that is none, or of another version, is an error of every file that it might list.
#ifndef MILLRACE_READERS_RECORDIO_MANIFEST_H_
#define MILLRACE_READERS_RECORDIO_MANIFEST_H_

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace millrace {

// What a file should hold.
struct RecordIOCounts {
  uint64_t bytes = 0;
  uint64_t chunks = 0;
  uint64_t records = 0;
  bool operator==(const RecordIOCounts& other) const {
    return bytes == other.bytes && chunks == other.chunks && records == other.records;
  }
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

  std::optional<RecordIOCounts> Find(const std::string& file) const;
  void Set(const std::string& file, const RecordIOCounts& counts);
  // False if the file was not listed.
  bool Remove(const std::string& file);
  // Replaces the manifest at `path` at once; an empty one is removed. Throws kIo.
  void Save(const std::string& path) const;
  // Has files written anew: calls `close`, which gives files[i] its name and says what it holds,
  // for each, and saves that at `path`. What is said of older files of these names is taken back
  // before, so that it is never wrong; others stay listed.
  void Relist(const std::string& path, const std::vector<std::string>& files,
              const std::function<RecordIOCounts(size_t i)>& close);

 private:
  std::map<std::string, RecordIOCounts> files_;  // by escaped name
};

// Looks manifests up and remembers the last ones, so that the files of a set cost one look at a
// directory each. One thread at a time.
class RecordIOManifests {
 public:
  // What the file should hold, as its manifest says at this moment; nothing if there is none or it
  // does not list the file. Throws as RecordIOManifest::Load.
  std::optional<RecordIOCounts> Find(const std::string& file);

 private:
  struct Known {
    struct stat status;
    RecordIOManifest manifest;
  };

  std::map<std::string, Known> known_;  // by path
};

}  // namespace millrace

#endif  // MILLRACE_READERS_RECORDIO_MANIFEST_H_
