// SPDX-License-Identifier: Apache-2.0
// Objects of object stores that speak the S3 protocol: s3://bucket/key. They are read as objects of
// HTTP servers are, by requests that are signed.
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/file_system.h"
#include "framework/io/http/http_file.h"
#include "framework/io/http/http_upload.h"
#include "framework/io/s3/s3_bucket.h"
#include "framework/io/s3/s3_list.h"
#include "framework/io/s3/s3_upload.h"

namespace millhopper {
namespace {

class S3FileSystem final : public FileSystem {
 public:
  std::unique_ptr<const File> Open(const std::string& path) const override {
    return OpenHttpFile(RequestFor(path));
  }

  FileStatus Stat(const std::string& path) const override { return StatAll({path}).front(); }

  std::vector<FileStatus> StatAll(const std::vector<std::string>& paths) const override {
    std::vector<FileStatus> found = StatHttpFiles(paths, &RequestFor);
    for (size_t i = 0; i < paths.size(); ++i) LookForFolder(paths[i], &found[i]);
    return found;
  }

  std::vector<std::string> List(const std::string& pattern) const override {
    return MatchS3(pattern);
  }

  std::vector<FolderEntry> ListFolder(const std::string& path) const override {
    const S3Path folder = FolderOf(path);
    return EntriesOf(ListS3(path, folder), folder.key);
  }

  std::unique_ptr<Upload> Create(const std::string& path) const override {
    return CreateS3Upload(path);
  }

  void Remove(const std::string& path) const override { RemoveHttpObject(RequestFor(path)); }

 private:
  static HttpRequest RequestFor(const std::string& path) {
    return S3Request(path, S3Path::OfObject(path));
  }

  // The prefix of all that lies in a folder.
  static S3Path FolderOf(const std::string& path) {
    S3Path folder = S3Path::Of(path);
    if (!folder.key.empty() && folder.key.back() != '/') folder.key += '/';
    return folder;
  }

  // Objects may lie under a name that is no object, as in a folder.
  static void LookForFolder(const std::string& path, FileStatus* status) {
    try {
      if (S3Path::Of(path).key.empty()) {
        *status = FileStatus();
        if (HasNames(path)) {
          status->kind = FileStatus::Kind::kDirectory;
        } else {
          status->problem = "there is nothing in the bucket";
        }
      } else if (status->kind == FileStatus::Kind::kMissing && HasFolder(path)) {
        status->kind = FileStatus::Kind::kDirectory;
      }
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      status->kind = FileStatus::Kind::kUnknown;
      status->problem = ProblemOf(error);
    }
  }

  // Whether anything lies in a folder.
  static bool HasNames(const std::string& path) {
    const NamesUnder list = ListS3(path, FolderOf(path), 1);
    return !list.keys.empty() || !list.prefixes.empty();
  }

  static bool HasFolder(const std::string& path) {
    try {
      return HasNames(path);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      return false;  // one may be allowed to read objects and not to list them
    }
  }
};

REGISTER_FILE_SYSTEM(S3FileSystem, "s3");

}  // namespace
}  // namespace millhopper
