// SPDX-License-Identifier: Apache-2.0
// Objects on HTTP servers: http://host/path and https://host/path.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/url.h"
#include "framework/io/file_system.h"
#include "framework/io/http/http_file.h"
#include "framework/io/http/http_upload.h"

namespace millhopper {
namespace {

class HttpFileSystem : public FileSystem {
 public:
  std::unique_ptr<const File> Open(const std::string& path) const override {
    return OpenHttpFile(RequestFor(path));
  }

  FileStatus Stat(const std::string& path) const override { return StatAll({path}).front(); }

  std::vector<FileStatus> StatAll(const std::vector<std::string>& paths) const override {
    return StatHttpFiles(paths, &RequestFor);
  }

  // A server does not list what it has.
  std::vector<std::string> List(const std::string& pattern) const override {
    if (PatternIn(pattern).find_first_of("*?[") == std::string_view::npos) return {pattern};
    throw Error(ErrorCode::kIo,
                "a server does not list its files; write their names, or a range such as "
                "{00000..00127}")
        .InFile(pattern, -1);
  }

  std::unique_ptr<Upload> Create(const std::string& path) const override {
    return CreateHttpUpload(RequestFor(path));
  }

  void Remove(const std::string& path) const override { RemoveHttpObject(RequestFor(path)); }

 private:
  static HttpRequest RequestFor(const std::string& path) {
    if (path.find('\0') != std::string::npos) {
      throw Error(ErrorCode::kIo, "a name with a zero byte").InFile(path, -1);
    }
    HttpRequest request;
    request.url = path;
    return request;
  }
};

class HttpsFileSystem final : public HttpFileSystem {};

REGISTER_FILE_SYSTEM(HttpFileSystem, "http");
REGISTER_FILE_SYSTEM(HttpsFileSystem, "https");

}  // namespace
}  // namespace millhopper
