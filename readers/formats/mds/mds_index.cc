// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/mds/mds_index.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/memory/memory.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

using Json = nlohmann::json;

constexpr uint64_t kVersion = 2;
constexpr uint64_t kMaxShardBytes = UINT32_MAX;  // offsets in a shard have 32 bits

[[noreturn]] void Refuse(const std::string& problem) {
  Throw(ErrorCode::kDataLoss, "no index of MDS shards: ", problem);
}

// The member of an object; null if there is none.
const Json& Member(const Json& object, const char* key) {
  static const Json none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

uint64_t NumberOf(const Json& object, const char* key, const std::string& where) {
  const Json& number = Member(object, key);
  if (!number.is_number_unsigned()) Refuse(StrCat(where, " has no number of ", key));
  return number.get<uint64_t>();
}

std::string TextOf(const Json& text, const std::string& what) {
  if (!text.is_string()) Refuse(what + " is no text");
  return text.get<std::string>();
}

// Throws unless the name is that of a file in the folder, or in a folder below it.
void CheckName(const std::string& name, const std::string& where) {
  bool inside = !name.empty() && name.find('\0') == std::string::npos &&
                name.find("://") == std::string::npos;
  for (size_t begin = 0; inside && begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    inside = !part.empty() && part != "." && part != "..";
    begin = end + 1;
  }
  if (!inside) {
    Refuse(StrCat(where, " is in the file '", Escaped(name.substr(0, 200)),
                  "', which is no name in the folder of the index"));
  }
}

MdsShard::Stored StoredOf(const Json& data, const std::string& where) {
  MdsShard::Stored stored;
  if (data.is_null()) return stored;
  stored.name = TextOf(Member(data, "basename"), where + "'s basename");
  CheckName(stored.name, where);
  stored.bytes = NumberOf(data, "bytes", where);
  return stored;
}

std::vector<MdsColumn> ColumnsOf(const Json& shard, const std::string& where) {
  const Json& names = Member(shard, "column_names");
  const Json& encodings = Member(shard, "column_encodings");
  const Json& sizes = Member(shard, "column_sizes");
  if (!names.is_array() || !encodings.is_array() || !sizes.is_array() ||
      names.size() != encodings.size() || names.size() != sizes.size()) {
    Refuse(StrCat(where, " does not have a name, an encoding and a size for each column"));
  }
  if (names.size() > kMaxSlots) {
    Throw(ErrorCode::kResourceLimit, where, " has ", names.size(), " columns; the limit is ",
          kMaxSlots);
  }
  std::vector<MdsColumn> columns;
  for (size_t i = 0; i < names.size(); ++i) {
    MdsColumn column;
    column.name = TextOf(names[i], "the name of a column");
    column.encoding = TextOf(encodings[i], "the encoding of a column");
    if (!sizes[i].is_null()) {
      const bool right =
          sizes[i].is_number_unsigned() && sizes[i].get<uint64_t>() <= kMaxRecordBytes;
      if (!right) Refuse(StrCat("the size of column '", Escaped(column.name), "' is no size"));
      column.size = sizes[i].get<uint32_t>();
    }
    const auto same = [&](const MdsColumn& other) { return other.name == column.name; };
    if (std::any_of(columns.begin(), columns.end(), same)) {
      Refuse(StrCat("two columns are named '", Escaped(column.name), "'"));
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

// Takes each shard as soon as it is parsed, so that no text takes more memory than its entries.
class Parser {
 public:
  explicit Parser(MdsIndex* index) : index_(index) {}

  void Parse(std::string_view text) {
    Json rest;
    try {
      rest = Json::parse(text, [this](int depth, Json::parse_event_t event, const Json& value) {
        return Take(depth, event, value);
      });
    } catch (const Json::exception& error) {
      Refuse(Escaped(error.what()));
    }
    if (NumberOf(rest, "version", "it") != kVersion) {
      Refuse(
          StrCat("its version is ", Member(rest, "version").get<uint64_t>(), ", not ", kVersion));
    }
    if (!Member(rest, "shards").is_array()) Refuse("it has no list of shards");
  }

 private:
  // False if the parser need not keep the value.
  bool Take(int depth, Json::parse_event_t event, const Json& value) {
    constexpr int kShardDepth = 2;
    constexpr int kDeepest = 8;
    if (depth > kDeepest) Refuse("its values are nested too deeply");
    if (event == Json::parse_event_t::key && depth == 1) in_shards_ = value == "shards";
    if (!in_shards_ || depth != kShardDepth) return true;
    if (event == Json::parse_event_t::object_end) {
      TakeShard(value);
      return false;
    }
    if (event == Json::parse_event_t::value) Refuse("a shard is no object");
    return true;
  }

  void TakeShard(const Json& entry) {
    const std::string where = StrCat("shard ", index_->shards.size());
    if (TextOf(Member(entry, "format"), where + "'s format") != "mds") {
      Refuse(StrCat("the format of ", where, " is '", Escaped(entry["format"].get<std::string>()),
                    "'; of all formats of its library, "
                    "mds is read"));
    }
    if (NumberOf(entry, "version", where) != kVersion) {
      Refuse(StrCat("the version of ", where, " is not ", kVersion));
    }
    MdsShard shard;
    shard.samples = NumberOf(entry, "samples", where);
    shard.raw = StoredOf(Member(entry, "raw_data"), where);
    shard.zip = StoredOf(Member(entry, "zip_data"), where);
    if (shard.raw.name.empty()) Refuse(where + " has no raw_data");
    if (shard.raw.bytes > kMaxShardBytes) {
      Refuse(where + " is larger than 4 GiB, which none can be");
    }
    if (shard.samples == 0) Refuse(where + " has no samples");
    if (shard.samples > shard.raw.bytes / sizeof(uint32_t)) {
      Refuse(StrCat(where, " has ", shard.samples, " samples in ", shard.raw.bytes, " bytes"));
    }
    const Json& compression = Member(entry, "compression");
    if (!compression.is_null()) shard.compression = TextOf(compression, where + "'s compression");
    shard.compression = shard.compression.substr(0, shard.compression.find(':'));
    std::vector<MdsColumn> columns = ColumnsOf(entry, where);
    if (index_->shards.empty()) {
      index_->columns = std::move(columns);
    } else {
      if (columns != index_->columns) Refuse(where + " has other columns than the first shard");
      const MdsShard& last = index_->shards.back();
      const uint64_t end = last.begin + last.raw.bytes;
      shard.begin = (end + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    }
    index_->shards.push_back(std::move(shard));
  }

  MdsIndex* const index_;
  bool in_shards_ = false;
};

}  // namespace

uint64_t MdsIndex::samples() const {
  uint64_t samples = 0;
  for (const MdsShard& shard : shards) samples += shard.samples;
  return samples;
}

MdsIndex ReadMdsIndex(const std::string& path) {
  const Text text = ReadTextFile(path, "index");
  try {
    MdsIndex index;
    Parser(&index).Parse(text);
    return index;
  } catch (const Error& error) {
    if (error.interrupts() || !error.file().empty()) throw;
    constexpr std::string_view kShard = ".mds";
    const bool is_shard = path.size() > kShard.size() &&
                          path.compare(path.size() - kShard.size(), kShard.size(), kShard) == 0;
    if (is_shard) {
      throw Error(ErrorCode::kInvalidArgument,
                  StrCat("a shard of MDS, which is read by the index beside it: '",
                         Escaped(path.substr(0, path.rfind('/') + 1)), "index.json'"))
          .InFile(path, -1);
    }
    throw error.InFile(path, 0);
  }
}

}  // namespace millhopper
