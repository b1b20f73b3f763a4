// SPDX-License-Identifier: Apache-2.0
// Files in stores that Arrow speaks to: gs:// (Google Cloud Storage), abfs:// and abfss:// (Azure)
// and hdfs:// (Hadoop). They are read as objects of HTTP servers are.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/file_system.h"
#include "framework/io/http/http_file.h"
#include "framework/io/http/http_upload.h"
#include "framework/io/key_pattern.h"
#include "readers/arrow_plugin/arrow_object.h"
#include "readers/arrow_plugin/arrow_store.h"

namespace millhopper {
namespace {

class ArrowFileSystem : public FileSystem {
 public:
  std::unique_ptr<const File> Open(const std::string& path) const override {
    return OpenHttpFile(ArrowRequest(path));
  }

  FileStatus Stat(const std::string& path) const override { return StatAll({path}).front(); }

  std::vector<FileStatus> StatAll(const std::vector<std::string>& paths) const override {
    std::vector<FileStatus> found = StatHttpFiles(paths, &ArrowRequest);
    for (size_t i = 0; i < paths.size(); ++i) {
      const bool missing = found[i].kind == FileStatus::Kind::kMissing;
      if (IsRoot(paths[i]) || (missing && HasFolder(paths[i]))) {
        found[i] = FileStatus();
        found[i].kind = FileStatus::Kind::kDirectory;
      }
    }
    return found;
  }

  std::vector<std::string> List(const std::string& pattern) const override {
    const StorePath wanted = StorePath::Of(pattern);
    std::vector<std::string> names =
        MatchNames(pattern, wanted.key, [&](const std::string& prefix, bool with_folders) {
          return ListArrow(pattern, prefix, with_folders);
        });
    for (std::string& name : names) name = wanted.With(name);
    return names;
  }

  std::vector<FolderEntry> ListFolder(const std::string& path) const override {
    std::string folder = StorePath::Of(path).key;
    if (!folder.empty() && folder.back() != '/') folder += '/';
    return EntriesOf(ListArrow(path, folder, true), folder);
  }

  std::unique_ptr<Upload> Create(const std::string& path) const override {
    return CreateHttpUpload(ArrowWriteRequest(path));
  }

  void Remove(const std::string& path) const override { RemoveHttpObject(ArrowWriteRequest(path)); }

 private:
  // Whether a path names all of a store. False for one that makes no sense.
  static bool IsRoot(const std::string& path) {
    try {
      return StorePath::Of(path).key.empty();
    } catch (const Error&) {
      return false;
    }
  }

  static bool HasFolder(const std::string& path) {
    try {
      return IsArrowFolder(path);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      return false;  // one may be allowed to read objects and not to list them
    }
  }
};

class GcsFileSystem final : public ArrowFileSystem {};
class AbfsFileSystem final : public ArrowFileSystem {};
class AbfssFileSystem final : public ArrowFileSystem {};
class HdfsFileSystem final : public ArrowFileSystem {};

REGISTER_FILE_SYSTEM(GcsFileSystem, "gs");
REGISTER_FILE_SYSTEM(AbfsFileSystem, "abfs");
REGISTER_FILE_SYSTEM(AbfssFileSystem, "abfss");
REGISTER_FILE_SYSTEM(HdfsFileSystem, "hdfs");

}  // namespace
}  // namespace millhopper
