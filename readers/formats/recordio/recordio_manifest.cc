// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/recordio/recordio_manifest.h"

#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/base/url.h"
#include "framework/io/file.h"
#include "framework/io/one_pass.h"
#include "readers/support/checksums.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

using Json = nlohmann::json;

constexpr size_t kMostKnown = 64;  // manifests, for readers of several sets
constexpr uint64_t kVersion = 1;
constexpr char kFormat[] = "recordio-manifest";
constexpr char kExtension[] = ".recordio";
constexpr size_t kShardDigits = 5;
constexpr size_t kShardTail = 1 + kShardDigits + sizeof(kExtension) - 1;  // "-00000.recordio"

std::string NameOf(const std::string& file) {
  const std::string path(WithoutQuery(file));
  return Escaped(path.substr(path.rfind('/') + 1));
}

// Whether a path or an escaped name is that of a shard.
bool IsShard(const std::string& file) {
  const size_t extension = std::strlen(kExtension);
  if (file.size() <= kShardTail ||
      file.compare(file.size() - extension, extension, kExtension) != 0) {
    return false;
  }
  const auto tail = file.end() - static_cast<std::ptrdiff_t>(kShardTail);
  return *tail == '-' && std::all_of(tail + 1, tail + 1 + kShardDigits,
                                     [](char c) { return c >= '0' && c <= '9'; });
}

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

// Throws if that is unknown: if a manifest that is there were taken for missing, readers would not
// check what it lists, and a writer would drop its entries.
bool IsThere(const FileStatus& status, const std::string& path) {
  if (status.kind != FileStatus::Kind::kUnknown) return status.exists();
  throw Error(ErrorCode::kIo, StrCat("cannot look for it: ", status.problem)).InFile(path, -1);
}

// The text of slots after its checksum.
std::string Sealed(const std::string& slots) {
  return Hex(Crc32c(slots.data(), slots.size())) + " " + slots;
}

}  // namespace

// Collects the entries while the text is parsed, so that no text, whatever it holds, takes more
// memory than a manifest's entries.
class RecordIOManifest::Parser {
 public:
  explicit Parser(std::map<std::string, Entry>* files) : files_(files) {}

  void Parse(const std::string& text) {
    Json manifest;
    try {
      manifest = Json::parse(text, [this](int depth, Json::parse_event_t event, const Json& value) {
        return Take(depth, event, value);
      });
    } catch (const Json::exception& error) {
      Refuse(Escaped(error.what()));
    }
    const auto has = [&](const char* key) {
      return manifest.is_object() && manifest.contains(key);
    };
    if (!has("format") || manifest["format"] != kFormat) {
      Refuse(StrCat("its format is not '", kFormat, "'"));
    }
    if (!has("version") || manifest["version"] != kVersion) {
      Refuse(StrCat("its version is not ", kVersion));
    }
    if (!has("files") || !manifest["files"].is_array()) Refuse("it has no list of files");
  }

 private:
  // False if the parser need not keep the value.
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

  static bool IsKnown(const Json& key) {
    static const char* const kKeys[] = {"format",     "version",     "files",    "name",
                                        "bytes",      "chunks",      "records",  "old_bytes",
                                        "old_chunks", "old_records", "replacing"};
    return std::find(std::begin(kKeys), std::end(kKeys), key.get_ref<const std::string&>()) !=
           std::end(kKeys);
  }

  void TakeFile(const Json& entry) {
    const auto name = entry.find("name");
    if (name == entry.end() || !name->is_string()) Refuse("a file without its name");
    Entry file;
    file.replacing = entry.contains("replacing");
    if (file.replacing && entry["replacing"] != true) Refuse("a file that is 'replacing' what?");
    if (!file.replacing) {
      file.promise.counts = {NumberOf(entry, "bytes"), NumberOf(entry, "chunks"),
                             NumberOf(entry, "records")};
      if (entry.contains("old_bytes")) {
        file.promise.old = {NumberOf(entry, "old_bytes"), NumberOf(entry, "old_chunks"),
                            NumberOf(entry, "old_records")};
      }
    }
    if (entry.contains("format")) file.promise.slots = SlotsIn(entry["format"]);
    if (!files_->emplace(name->get<std::string>(), file).second) {
      Refuse(StrCat("'", Escaped(name->get<std::string>()), "' is listed twice"));
    }
  }

  // Whether they are slots is seen when they are needed.
  static std::string SlotsIn(const Json& value) {
    if (!value.is_string()) Refuse("slots of a file that are no text");
    const auto& text = value.get_ref<const std::string&>();
    constexpr size_t kSlots = 9;  // where they begin, after checksum and space
    std::string slots = text.substr(std::min(kSlots, text.size()));
    if (slots.empty() || text != Sealed(slots)) {
      Refuse(StrCat("slots of a file that do not fit their checksum, '", Shown(text), "'"));
    }
    return slots;
  }

  std::map<std::string, Entry>* files_;
};

std::string RecordIOManifest::PathOf(const std::string& file) {
  const std::string path(WithoutQuery(file));
  const std::string whole =
      IsShard(path) ? path.substr(0, path.size() - kShardTail) + kExtension : path;
  return whole + kManifestSuffix + file.substr(path.size());
}

RecordIOManifest RecordIOManifest::Load(const std::string& path) {
  const std::unique_ptr<const File> file = File::Open(path);
  try {
    if (file->size() > kMaxBytes) {
      Throw(ErrorCode::kResourceLimit, "a manifest of ", file->size(), " bytes; the limit is ",
            kMaxBytes);
    }
    std::string text(file->size(), '\0');
    file->Read(0, text.data(), text.size());
    RecordIOManifest manifest;
    Parser(&manifest.files_).Parse(text);
    return manifest;
  } catch (...) {
    const Error error = CurrentError();
    if (!error.file().empty()) throw;
    throw error.InFile(path, 0);
  }
}

RecordIOManifest RecordIOManifest::LoadIfThere(const std::string& path) {
  if (CanBeReadOnceOnly(path)) return RecordIOManifest();
  return IsThere(FileSystemOf(path).Stat(path), path) ? Load(path) : RecordIOManifest();
}

RecordIOManifest RecordIOManifest::LoadToReplace(const std::string& file) {
  const std::string path = PathOf(file);
  if (CanBeReadOnceOnly(path) || IsShard(std::string(WithoutQuery(file)))) return LoadIfThere(path);
  const FileStatus status = FileSystemOf(path).Stat(path);
  const bool is_empty = status.kind == FileStatus::Kind::kFile && status.size == 0;
  return !is_empty && IsThere(status, path) ? Load(path) : RecordIOManifest();
}

std::optional<RecordIOPromise> RecordIOManifest::Find(const std::string& file) const {
  const auto found = files_.find(NameOf(file));
  if (found == files_.end()) return std::nullopt;
  if (!found->second.replacing) return found->second.promise;
  const auto replacing = std::count_if(files_.begin(), files_.end(),
                                       [](const auto& entry) { return entry.second.replacing; });
  throw Error(ErrorCode::kDataLoss,
              StrCat("is one of ", replacing,
                     " files that were being replaced together, so that old and new ones may lie "
                     "side by side (",
                     Escaped(PathOf(file)),
                     "). If nobody is writing them now, it was interrupted: write all of them "
                     "again, with `millhopper-recordio write --force` or as they were made"))
      .InFile(file, -1);
}

bool RecordIOManifest::Lists(const std::string& file) const {
  return files_.count(NameOf(file)) > 0;
}

void RecordIOManifest::Set(const std::string& file, const RecordIOPromise& promise) {
  files_[NameOf(file)] = {promise, false};
}

void RecordIOManifest::SetReplacing(const std::string& file) { files_[NameOf(file)] = {{}, true}; }

void RecordIOManifest::DropOtherShards(const std::vector<std::string>& files) {
  std::set<std::string> kept;
  for (const std::string& file : files) kept.insert(NameOf(file));
  for (auto entry = files_.begin(); entry != files_.end();) {
    const bool drop = IsShard(entry->first) && kept.count(entry->first) == 0;
    entry = drop ? files_.erase(entry) : std::next(entry);
  }
}

std::vector<std::string> RecordIOManifest::Missing(const std::string& path) const {
  // The listed names are escaped. The manifest's own name gives the unescaped name of the set.
  const std::string_view name = WithoutQuery(path);
  const std::string whole(name.substr(0, name.size() - std::strlen(kManifestSuffix)));
  const std::string stem = whole.substr(0, whole.size() - std::strlen(kExtension));
  const std::string whole_name = NameOf(whole);
  const std::string stem_name = NameOf(stem);
  std::vector<std::string> missing;
  for (const auto& [listed, entry] : files_) {
    CheckStop();
    std::string file;
    if (listed == whole_name) file = whole;
    if (IsShard(listed) && listed.compare(0, listed.size() - kShardTail, stem_name) == 0) {
      file = stem + listed.substr(listed.size() - kShardTail);
    }
    if (file.empty()) continue;
    if (FileSystemOf(file).Stat(file).kind == FileStatus::Kind::kMissing) missing.push_back(file);
  }
  return missing;
}

std::string RecordIOManifest::ToText(uint64_t limit) const {
  const auto text_of = [this](bool with_slots) {
    std::string text =
        StrCat(R"({"format": ")", kFormat, R"(", "version": )", kVersion, R"(, "files": [)");
    const char* separator = "\n ";
    for (const auto& [name, entry] : files_) {
      text += StrCat(separator, R"({"name": )", Json(name).dump());
      separator = ",\n ";
      const auto add = [&text](const char* prefix, const RecordIOCounts& counts) {
        text += StrCat(", \"", prefix, "bytes\": ", counts.bytes, ", \"", prefix,
                       "chunks\": ", counts.chunks, ", \"", prefix, "records\": ", counts.records);
      };
      if (entry.replacing) {
        text += R"(, "replacing": true)";
      } else {
        add("", entry.promise.counts);
        if (entry.promise.old) add("old_", *entry.promise.old);
      }
      if (with_slots && !entry.promise.slots.empty()) {
        text += StrCat(R"(, "format": )", Json(Sealed(entry.promise.slots)).dump());
      }
      text += "}";
    }
    return text + "\n]}\n";
  };
  std::string text = text_of(true);
  return text.size() <= limit ? text : text_of(false);
}

std::optional<NamedSlots> SlotsOf(const RecordIOPromise& promise, const std::string& file) {
  if (promise.slots.empty()) return std::nullopt;
  try {
    return ParseSlots(promise.slots);
  } catch (const Error& error) {
    throw Error(ErrorCode::kDataLoss,
                StrCat("the slots of '", NameOf(file), "': ", error.message()))
        .InFile(RecordIOManifest::PathOf(file), 0);
  }
}

std::optional<NamedSlots> StoredSlots(const std::vector<std::string>& files) {
  std::map<std::string, RecordIOManifest> manifests;  // by path
  std::optional<NamedSlots> first;
  std::string last_text;
  CommonSlots common;
  bool named = true;
  for (const std::string& file : files) {
    CheckStop();
    if (CanBeReadOnceOnly(file)) return std::nullopt;
    const std::string path = RecordIOManifest::PathOf(file);
    auto known = manifests.find(path);
    if (known == manifests.end()) {
      known = manifests.emplace(path, RecordIOManifest::LoadIfThere(path)).first;
    }
    const std::optional<RecordIOPromise> promise = known->second.Find(file);
    if (!promise || promise->slots.empty()) return std::nullopt;
    if (promise->slots == last_text) continue;
    last_text = promise->slots;
    const NamedSlots slots = *SlotsOf(*promise, file);
    if (!first) first = slots;
    named = named && slots.names == first->names;
    common.Add(slots.slots);
  }
  const std::optional<std::vector<SlotSpec>> slots = common.slots();
  if (!slots) return std::nullopt;
  return NamedSlots{*slots, named ? first->names : std::vector<std::string>()};
}

Error MissingFile(const std::string& file) {
  return Error(ErrorCode::kDataLoss,
               StrCat("is not there, but the manifest of its set lists it (",
                      Escaped(RecordIOManifest::PathOf(file)),
                      "): restore it or write the set again; to read what is left, name the files "
                      "one by one"))
      .InFile(file, -1);
}

std::optional<RecordIOPromise> RecordIOManifests::Find(const std::string& file) {
  if (CanBeReadOnceOnly(file)) return std::nullopt;
  const std::string path = RecordIOManifest::PathOf(file);
  const FileStatus status = FileSystemOf(path).Stat(path);
  if (!IsThere(status, path)) {
    known_.erase(path);
    return std::nullopt;
  }
  const auto same = [&](const FileStatus& other) {
    return status.id == other.id && status.size == other.size && status.version == other.version;
  };
  auto known = known_.find(path);
  if (known == known_.end() || !same(known->second->status)) {
    auto loaded = std::make_unique<Known>();
    loaded->status = status;
    // Only as long as it is loaded: another file may have its number later.
    FilesRead read(FileRole::kManifest);
    read.Add(path, status.id);
    loaded->manifest = RecordIOManifest::Load(path);
    CheckMissing(loaded->manifest, path);
    if (known_.size() >= kMostKnown) known_.clear();
    known = known_.insert_or_assign(path, std::move(loaded)).first;
  }
  return known->second->manifest.Find(file);
}

void RecordIOManifests::CheckMissing(const RecordIOManifest& manifest,
                                     const std::string& path) const {
  if (patterns_.empty()) return;
  for (const std::string& file : manifest.Missing(path)) {
    const bool meant =
        std::any_of(patterns_.begin(), patterns_.end(), [&file](const std::string& pattern) {
          return ::fnmatch(pattern.c_str(), file.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
        });
    if (!meant) continue;
    manifest.Find(file);  // throws if the file is being replaced
    throw MissingFile(file);
  }
}

}  // namespace millhopper
