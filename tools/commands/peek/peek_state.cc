// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/peek/peek_state.h"

#include <algorithm>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/checkpoint/checkpoint.h"
#include "framework/checkpoint/checkpoint_folder.h"
#include "framework/checkpoint/rank_checkpoints.h"
#include "framework/io/file.h"
#include "framework/io/file_system.h"
#include "framework/reader/position.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/digest.h"

namespace millhopper {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kLongestSetting = 200;  // bytes

// Bytes that are not UTF-8 are replaced, as JSON has no others.
std::string Text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

// A text of a program or other run, which may be long.
std::string Shown(const std::string& text) {
  if (text.size() <= kLongestSetting) return text;
  Sha256 digest;
  digest.Add(text.data(), text.size());
  return StrCat(text.size(), " bytes, SHA-256 ", ToHex(digest.Value()));
}

Json CheckpointJson(const Checkpoint& checkpoint) {
  Json settings = Json::object(), tensors = Json::object(), readers = Json::object();
  for (const auto& [name, text] : checkpoint.settings) settings[name] = Shown(text);
  for (const auto& [name, tensor] : checkpoint.tensors) {
    tensors[name] = StrCat(ToString(tensor.dtype()), " ", ToString(tensor.dims()));
  }
  for (const auto& [name, position] : checkpoint.positions) {
    readers[name] = Json::parse(position.ToJson());
  }
  return {{"settings", settings},
          {"numbers", checkpoint.numbers},
          {"tensors", tensors},
          {"readers", readers}};
}

// A number of a position, which has none if it is 0.
uint64_t NumberIn(const Json& json, const char* name) {
  const auto found = json.find(name);
  if (found == json.end()) return 0;
  return found->is_string() ? std::stoull(found->get<std::string>()) : found->get<uint64_t>();
}

// A part of a position, which lacks it if it is empty.
Json PartOf(const Json& json, const char* name) {
  return json.contains(name) ? json.at(name) : Json::object();
}

// Says how far the lanes of a chain are: what each has taken of its source, and how many of its
// elements are planned and in no batch that was read.
void PrintLanes(const Json& chain, std::ostream& out) {
  Json stream;                        // the last one of lanes
  std::map<std::string, size_t> met;  // how many lanes of each reader
  for (const Json& reader : chain.value("readers", Json::array())) {
    const Json settings = PartOf(reader, "settings"), numbers = PartOf(reader, "numbers");
    if (!settings.contains("lanes")) continue;
    if (settings.contains("stripe")) {
      stream = reader;
      met.clear();
      continue;
    }
    const size_t i = met[reader.value("name", "")]++;
    const uint64_t ranks = std::max<uint64_t>(NumberIn(stream, "ranks"), 1);
    const Json ahead = PartOf(PartOf(stream, "elements"), StrCat("lane", i).c_str());
    out << "    lane " << NumberIn(stream, "rank") + i * ranks << " of "
        << Escaped(settings.at("lanes").get<std::string>()) << " of '"
        << Escaped(reader.value("name", "")) << "': ";
    if (numbers.contains("next")) out << NumberIn(numbers, "next") << " records taken, ";
    out << NumberIn(ahead, "count") << " elements planned ahead\n";
  }
}

// What lanes of a rank stand below a chain, or "".
std::string RankOf(const Json& chain) {
  for (const Json& reader : chain.value("readers", Json::array())) {
    if (NumberIn(reader, "ranks") < 2) continue;
    return StrCat("rank ", NumberIn(reader, "rank"), " of ", NumberIn(reader, "ranks"), ", ");
  }
  return "";
}

// The position of a chain, or those of all ranks.
void PrintPosition(const Json& position, std::ostream& out) {
  for (const Json& chain : position.value("ranks", Json::array({position}))) {
    out << "  " << RankOf(chain) << "pass " << NumberIn(chain, "pass") << ": "
        << NumberIn(chain, "read") << " elements read"
        << (chain.value("end", false) ? ", to the end" : "") << "\n";
    PrintLanes(chain, out);
  }
}

// What all ranks have in common.
void PrintRun(const Json& checkpoint, std::ostream& out) {
  for (const auto& [name, number] : checkpoint.at("numbers").items()) {
    out << name << ": " << number << "\n";
  }
  for (const auto& [name, text] : checkpoint.at("settings").items()) {
    out << Escaped(name) << ": " << Escaped(text.get<std::string>()) << "\n";
  }
  for (const auto& [name, tensor] : checkpoint.at("tensors").items()) {
    out << "variable " << Escaped(name) << ": " << tensor.get<std::string>() << "\n";
  }
}

void PrintReaders(const Json& checkpoint, std::ostream& out) {
  for (const auto& [name, position] : checkpoint.at("readers").items()) {
    out << "reader '" << Escaped(name) << "':\n";
    PrintPosition(position, out);
  }
}

// How many steps were done when a checkpoint was saved; what is wrong with it is told elsewhere.
std::string StepsIn(const std::string& path) {
  try {
    const std::map<std::string, uint64_t> numbers = ReadCheckpointNumbers(path);
    const auto steps = numbers.find("steps");
    return Counted(steps == numbers.end() ? 0 : steps->second, "step");
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss) throw;
    return "damaged";
  }
}

// What each rank has saved last, which may be more than all of them have.
void PrintNewestOfEach(const std::string& folder, std::ostream& out) {
  for (const size_t ranks : NumbersOfRanksIn(folder)) {
    for (size_t rank = 0; rank < ranks; ++rank) {
      const std::vector<std::string> saved = CheckpointsIn(FolderOfRank(folder, {rank, ranks}));
      out << "rank " << rank << " of " << ranks << ": ";
      if (saved.empty()) {
        out << "nothing saved\n";
        continue;
      }
      out << StepsIn(saved[0]) << ", in " << Escaped(saved[0]) << "\n";
    }
  }
}

// Of a folder in which several ranks save.
void PrintRanks(const std::string& folder, bool as_json, std::ostream& out) {
  std::vector<std::string> damaged;
  const std::vector<StateOfRanks> states = StatesOfAllRanks(folder, 1, &damaged);
  for (const std::string& one : damaged) std::cerr << "warning: " << one << "; passed over\n";
  if (!as_json) PrintNewestOfEach(folder, out);
  Require(
      !states.empty(), Escaped(folder),
      ": there is no step that all ranks have saved, so that only as many as before can resume, "
      "each from its own");
  const StateOfRanks& newest = states[0];
  Json ranks = Json::array();
  for (const std::string& path : newest.paths)
    ranks.push_back(CheckpointJson(ReadCheckpoint(path)));
  if (as_json) {
    out << Text({{"ranks", ranks}});
    return;
  }
  out << "the newest that all " << newest.ranks << " have:\n";
  PrintRun(ranks[0], out);
  for (const Json& rank : ranks) PrintReaders(rank, out);
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

void PrintSaved(const std::string& path, bool as_json, std::ostream& out) {
  const bool is_folder = FileSystemOf(path).Stat(path).kind == FileStatus::Kind::kDirectory;
  if (is_folder) {
    const std::vector<size_t> ranks = NumbersOfRanksIn(path);
    if (!ranks.empty() && ranks.back() > 1) return PrintRanks(path, as_json, out);
  }
  std::vector<std::string> others;
  const std::string name = is_folder ? NewestCheckpointIn(path, &others) : path;
  for (const std::string& other : others) {
    std::cerr << "warning: " << Escaped(other) << ": this is no checkpoint; passed over\n";
  }
  const std::unique_ptr<const File> file = File::Open(name);
  const bool is_checkpoint = IsCheckpoint(*file);
  const Json json =
      is_checkpoint ? CheckpointJson(ReadCheckpoint(name)) : Json::parse(PositionText(*file));
  if (as_json) {
    out << Text(json);
  } else if (is_checkpoint) {
    PrintRun(json, out);
    PrintReaders(json, out);
  } else {
    PrintPosition(json, out);
  }
}

}  // namespace

void PrintState(const std::string& path, bool as_json) {
  std::ostringstream out;
  // Older states may hold secrets.
  const auto print = [&out] { std::cout << WithoutSecrets(out.str(), TextKind::kWords); };
  try {
    PrintSaved(path, as_json, out);
  } catch (const Error&) {
    print();  // what each rank has, though they have no step in common
    throw;
  }
  print();
}

}  // namespace millhopper
