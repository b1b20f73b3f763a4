// SPDX-License-Identifier: Apache-2.0
#include "readers/recordio_manifest.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "framework/error.h"
#include "framework/input_file.h"

namespace millrace {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kMaxManifestBytes = uint64_t{64} << 20;
constexpr size_t kMostKnown = 64;  // manifests, for readers of several sets
constexpr uint64_t kVersion = 1;
constexpr char kFormat[] = "recordio-manifest";
constexpr char kExtension[] = ".recordio";
constexpr size_t kShardDigits = 5;

std::string NameOf(const std::string& file) { return Escaped(file.substr(file.rfind('/') + 1)); }

[[noreturn]] void Refuse(const std::string& problem) {
  Throw(ErrorCode::kDataLoss, "no manifest of RecordIO files (", problem,
        "); without it they would be read unchecked");
}

uint64_t NumberOf(const Json& entry, const char* key) {
  const auto found = entry.find(key);
  if (found == entry.end() || !found->is_number_unsigned()) {
    Refuse(StrCat("a file without its number of ", key));
  }
  return found->get<uint64_t>();
}

// Takes the entries while the text is parsed, so that a text of any kind needs no more memory than
// the entries of a manifest do.
class Parser {
 public:
  explicit Parser(std::map<std::string, RecordIOCounts>* files) : files_(files) {}

  // False for what need not be kept.
  bool Take(int depth, Json::parse_event_t event, const Json& value) {
    constexpr int kEntryDepth = 2;
    if (event == Json::parse_event_t::object_start && depth != 0 && depth != kEntryDepth) {
      Refuse("an object where none belongs");
    }
    if (event == Json::parse_event_t::array_start && depth != 1) {
      Refuse("a list where none belongs");
    }
    if (event == Json::parse_event_t::key && !IsKnown(value)) {
      Refuse(StrCat("nobody knows '", Escaped(value.get<std::string>()), "'"));
    }
    if (event == Json::parse_event_t::value && depth == kEntryDepth) {
      Refuse("a value that is no file");
    }
    if (event != Json::parse_event_t::object_end || depth != kEntryDepth) return true;
    TakeFile(value);
    return false;
  }

 private:
  static bool IsKnown(const Json& key) {
    static const char* const kKeys[] = {"format", "version", "files",  "name",
                                        "bytes",  "chunks",  "records"};
    return std::find(std::begin(kKeys), std::end(kKeys), key.get_ref<const std::string&>()) !=
           std::end(kKeys);
  }

  void TakeFile(const Json& entry) {
    const auto name = entry.find("name");
    if (name == entry.end() || !name->is_string()) Refuse("a file without its name");
    const RecordIOCounts counts = {NumberOf(entry, "bytes"), NumberOf(entry, "chunks"),
                                   NumberOf(entry, "records")};
    if (!files_->emplace(name->get<std::string>(), counts).second) {
      Refuse(StrCat("'", Escaped(name->get<std::string>()), "' is listed twice"));
    }
  }

  std::map<std::string, RecordIOCounts>* files_;
};

void Parse(const std::string& text, std::map<std::string, RecordIOCounts>* files) {
  Parser parser(files);
  Json manifest;
  try {
    manifest = Json::parse(text, [&](int depth, Json::parse_event_t event, const Json& value) {
      return parser.Take(depth, event, value);
    });
  } catch (const Json::exception& error) {
    Refuse(Escaped(error.what()));
  }
  const auto has = [&](const char* key) { return manifest.is_object() && manifest.contains(key); };
  if (!has("format") || manifest["format"] != kFormat) {
    Refuse(StrCat("its format is not '", kFormat, "'"));
  }
  if (!has("version") || manifest["version"] != kVersion) {
    Refuse(StrCat("its version is not ", kVersion));
  }
  if (!has("files") || !manifest["files"].is_array()) Refuse("it has no list of files");
}

}  // namespace

std::string RecordIOManifest::PathOf(const std::string& file) {
  const size_t extension = std::strlen(kExtension);
  const size_t tail = 1 + kShardDigits + extension;
  if (file.size() > tail && file.compare(file.size() - extension, extension, kExtension) == 0) {
    const auto number = file.end() - static_cast<std::ptrdiff_t>(tail);
    if (*number == '-' && std::all_of(number + 1, number + 1 + kShardDigits,
                                      [](char c) { return c >= '0' && c <= '9'; })) {
      return file.substr(0, file.size() - tail) + kExtension + kManifestSuffix;
    }
  }
  return file + kManifestSuffix;
}

RecordIOManifest RecordIOManifest::Load(const std::string& path) {
  const InputFile file(path);
  try {
    if (file.size() > kMaxManifestBytes) {
      Throw(ErrorCode::kResourceLimit, "a manifest of ", file.size(), " bytes; the limit is ",
            kMaxManifestBytes);
    }
    std::string text(file.size(), '\0');
    file.Read(0, text.data(), text.size());
    RecordIOManifest manifest;
    Parse(text, &manifest.files_);
    return manifest;
  } catch (...) {
    const Error error = CurrentError();
    if (!error.file().empty()) throw;
    throw error.InFile(path, 0);
  }
}

std::optional<RecordIOCounts> RecordIOManifest::Find(const std::string& file) const {
  const auto found = files_.find(NameOf(file));
  if (found == files_.end()) return std::nullopt;
  return found->second;
}

void RecordIOManifest::Set(const std::string& file, const RecordIOCounts& counts) {
  files_[NameOf(file)] = counts;
}

bool RecordIOManifest::Remove(const std::string& file) { return files_.erase(NameOf(file)) > 0; }

RecordIOManifest RecordIOManifest::LoadIfThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) ? Load(path) : RecordIOManifest();
}

void RecordIOManifest::Relist(const std::string& path, const std::vector<std::string>& files,
                              const std::function<RecordIOCounts(size_t i)>& close) {
  size_t removed = 0;
  for (const std::string& file : files) removed += Remove(file) ? 1 : 0;
  if (removed > 0) Save(path);
  for (size_t i = 0; i < files.size(); ++i) Set(files[i], close(i));
  Save(path);
}

void RecordIOManifest::Save(const std::string& path) const {
  const auto check = [&](bool done, const char* problem) {
    if (!done) throw Error(ErrorCode::kIo, StrCat(problem, std::strerror(errno))).InFile(path, -1);
  };
  if (files_.empty()) {
    check(::unlink(path.c_str()) == 0 || errno == ENOENT, "cannot remove: ");
    return;
  }
  const std::string partial = path + ".partial";
  std::ofstream out(partial, std::ios::binary | std::ios::trunc);
  out << R"({"format": ")" << kFormat << R"(", "version": )" << kVersion << R"(, "files": [)";
  const char* separator = "\n ";
  for (const auto& [name, counts] : files_) {
    out << separator << R"({"name": )" << Json(name).dump() << R"(, "bytes": )" << counts.bytes
        << R"(, "chunks": )" << counts.chunks << R"(, "records": )" << counts.records << "}";
    separator = ",\n ";
  }
  out << "\n]}\n";
  out.close();
  const bool done = out.good() && std::rename(partial.c_str(), path.c_str()) == 0;
  const int reason = errno;
  if (!done) ::unlink(partial.c_str());
  errno = reason;
  check(done, "cannot write: ");
}

std::optional<RecordIOCounts> RecordIOManifests::Find(const std::string& file) {
  const std::string path = RecordIOManifest::PathOf(file);
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) {
    if (errno != ENOENT && errno != ENOTDIR && errno != ENAMETOOLONG) {
      throw Error(ErrorCode::kIo, StrCat("cannot look for it: ", std::strerror(errno)))
          .InFile(path, -1);
    }
    known_.erase(path);
    return std::nullopt;
  }
  const auto same = [&](const struct stat& other) {
    return status.st_dev == other.st_dev && status.st_ino == other.st_ino &&
           status.st_size == other.st_size && status.st_mtim.tv_sec == other.st_mtim.tv_sec &&
           status.st_mtim.tv_nsec == other.st_mtim.tv_nsec;
  };
  auto known = known_.find(path);
  if (known == known_.end() || !same(known->second.status)) {
    RecordIOManifest manifest = RecordIOManifest::Load(path);
    if (known_.size() >= kMostKnown) known_.clear();
    known = known_.insert_or_assign(path, Known{status, std::move(manifest)}).first;
  }
  return known->second.manifest.Find(file);
}

}  // namespace millrace
