// SPDX-License-Identifier: Apache-2.0
#include "framework/io/file_system.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/registration.h"
#include "framework/base/url.h"
#include "framework/io/one_pass.h"

namespace millhopper {
namespace {

constexpr char kBehindScheme[] = "://";

using Systems = std::map<std::string, std::unique_ptr<const FileSystem>, std::less<>>;

Systems& Registry() {
  static auto* registry = new Systems;
  return *registry;
}

// "" if the path has none.
std::string_view SchemeOf(const std::string& path) {
  if (path == "-") return "-";
  if (IsCommand(path)) return "pipe";
  const size_t end = path.find(kBehindScheme);
  return end == std::string::npos ? std::string_view() : std::string_view(path).substr(0, end);
}

}  // namespace

const FileSystem& FileSystemOf(const std::string& path) {
  auto found = Registry().find(SchemeOf(path));
  if (found == Registry().end()) found = Registry().find(std::string_view());
  return *found->second;
}

bool IsLocal(const std::string& path) { return &FileSystemOf(path) == &FileSystemOf(""); }

bool IsOnServer(const std::string& path) {
  const std::string_view scheme = SchemeOf(path);
  return scheme != "-" && scheme != "pipe" && !IsLocal(path);
}

std::unique_ptr<OnePassInput> FileSystem::OpenOnce(const std::string&) const { return nullptr; }

std::unique_ptr<const File> FileSystem::OpenMapped(const std::string& path) const {
  throw Error(ErrorCode::kInvalidArgument,
              "buffer_type \"mmap\" is for files on local disks; read this one with \"memory\"")
      .InFile(path, -1);
}

void FileSystem::ReadWhole(const std::string& path, uint64_t size, char* out) const {
  const std::unique_ptr<const File> file = Open(path);
  if (file->size() != size) {
    throw Error(ErrorCode::kDataLoss,
                StrCat("the file has ", file->size(), " bytes, but a moment ago it had ", size,
                       "; files must not be written to while they are read"))
        .InFile(path, static_cast<int64_t>(std::min(size, file->size())));
  }
  file->Read(0, out, size);
}

std::vector<FileStatus> FileSystem::StatAll(const std::vector<std::string>& paths) const {
  std::vector<FileStatus> found;
  found.reserve(paths.size());
  for (const std::string& path : paths) found.push_back(Stat(path));
  return found;
}

std::vector<FolderEntry> FileSystem::ListFolder(const std::string& path) const {
  throw Error(ErrorCode::kInvalidArgument,
              "its file system cannot list folders; name the files in a list instead")
      .InFile(path, -1);
}

std::unique_ptr<Upload> FileSystem::Create(const std::string& path) const {
  throw Error(ErrorCode::kIo, "cannot write: nothing is written to its file system")
      .InFile(path, -1);
}

void FileSystem::Remove(const std::string& path) const {
  throw Error(ErrorCode::kIo, "cannot remove: nothing is written to its file system")
      .InFile(path, -1);
}

std::vector<FileStatus> StatAll(const std::vector<std::string>& paths) {
  std::map<const FileSystem*, std::vector<size_t>> places;  // in `paths`
  for (size_t i = 0; i < paths.size(); ++i) places[&FileSystemOf(paths[i])].push_back(i);
  std::vector<FileStatus> found(paths.size());
  for (const auto& [system, of_system] : places) {
    std::vector<std::string> names;
    for (const size_t i : of_system) names.push_back(paths[i]);
    std::vector<FileStatus> statuses = system->StatAll(names);
    for (size_t i = 0; i < of_system.size(); ++i) found[of_system[i]] = std::move(statuses[i]);
  }
  return found;
}

std::string UnknownSchemeHint(const std::string& path) {
  const std::string_view scheme = SchemeOf(path);
  const bool plausible = !scheme.empty() && std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
  });
  if (!plausible || Registry().find(scheme) != Registry().end()) return "";
  if (std::find(std::begin(kArrowSchemes), std::end(kArrowSchemes), scheme) !=
      std::end(kArrowSchemes)) {
    return StrCat(" (", scheme, kBehindScheme,
                  " is read by a plugin: in Python install it by 'pip install "
                  "millhopper[parquet]'; for commands tools/build_parquet_plugin builds it and "
                  "--plugin=/absolute/FILE loads it)");
  }
  return StrCat(" (it is taken for a local file: no file system is there for ", scheme,
                kBehindScheme, ")");
}

bool RegisterFileSystem(const std::string& scheme, std::unique_ptr<const FileSystem> system) {
  const bool added = Registry().emplace(scheme, std::move(system)).second;
  if (added) {
    NoteRegistration([scheme] { Registry().erase(scheme); });
  } else {
    RefuseRegistration("file system '" + scheme + kBehindScheme + "'");
  }
  return added;
}

}  // namespace millhopper
