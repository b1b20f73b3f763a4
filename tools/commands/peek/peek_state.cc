// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/peek/peek_state.h"

#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/checkpoint/checkpoint.h"
#include "framework/checkpoint/checkpoint_folder.h"
#include "framework/io/file.h"
#include "framework/io/file_system.h"
#include "framework/reader/position.h"

namespace millhopper {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestSetting = 200;  // bytes

// Bytes that are not UTF-8 are replaced, as JSON has no others.
std::string Text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string CheckpointText(const Checkpoint& checkpoint) {
  Json settings = Json::object(), tensors = Json::object(), readers = Json::object();
  for (const auto& [name, text] : checkpoint.settings) {
    settings[name] = text.size() <= kLongestSetting ? text : StrCat(text.size(), " bytes");
  }
  for (const auto& [name, tensor] : checkpoint.tensors) {
    tensors[name] = StrCat(ToString(tensor.dtype()), " ", ToString(tensor.dims()));
  }
  for (const auto& [name, position] : checkpoint.positions) {
    readers[name] = Json::parse(position.ToJson());
  }
  return Text({{"settings", settings},
               {"numbers", checkpoint.numbers},
               {"tensors", tensors},
               {"readers", readers}});
}

std::string PositionText(const File& file) {
  if (file.size() > kMaxPositionBytes) {
    throw Error(ErrorCode::kResourceLimit, StrCat("the position of a chain of readers has at most ",
                                                  kMaxPositionBytes, " bytes"))
        .InFile(file.path(), -1);
  }
  std::string bytes(file.size(), '\0');
  if (!bytes.empty()) file.Read(0, bytes.data(), bytes.size());
  try {
    return Position::Parse(bytes).ToJson();
  } catch (const Error& error) {
    throw error.InFile(file.path(), -1);
  }
}

}  // namespace

void PrintState(const std::string& path) {
  const bool is_folder = FileSystemOf(path).Stat(path).kind == FileStatus::Kind::kDirectory;
  std::vector<std::string> others;
  const std::string name = is_folder ? NewestCheckpointIn(path, &others) : path;
  for (const std::string& other : others) {
    std::cerr << "warning: " << Escaped(other) << ": this is no checkpoint; passed over\n";
  }
  const std::unique_ptr<const File> file = File::Open(name);
  // Older states may hold secrets.
  std::cout << WithoutSecrets(
      IsCheckpoint(*file) ? CheckpointText(ReadCheckpoint(name)) : PositionText(*file),
      TextKind::kWords);
}

}  // namespace millhopper
