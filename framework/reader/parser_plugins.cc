// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/parser_plugins.h"

#include <map>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/limits.h"

namespace millhopper {
namespace {

std::map<std::string, ParserPlugin>& Registry() {
  static auto* const registry = new std::map<std::string, ParserPlugin>;
  return *registry;
}

// What a parser says of its slots is not trusted.
std::vector<SlotSpec> SlotsOf(const MillhopperParser& parser) {
  Require(parser.slot_count > 0 && parser.slot_count <= kMaxSlots, "it declares ",
          parser.slot_count, " slots; 1 to ", kMaxSlots, " are possible");
  Require(parser.slots != nullptr, "its list of slots is null");
  std::vector<SlotSpec> slots(parser.slot_count);
  for (size_t i = 0; i < slots.size(); ++i) {
    const MillhopperSlot& declared = parser.slots[i];
    Require(declared.rank >= 1 && declared.rank <= kMaxRank, "slot ", i, " has ", declared.rank,
            " axes; 1 to ", kMaxRank, " are possible");
    Require(declared.dims != nullptr, "the dims of slot ", i, " are null");
    Require(declared.lod_levels <= kMaxLodLevels, "slot ", i, " has ", declared.lod_levels,
            " levels of detail; the limit is ", kMaxLodLevels);
    slots[i].dtype = DataTypeFromNumber(declared.dtype);
    slots[i].dims = Dims(std::vector<int64_t>(declared.dims, declared.dims + declared.rank));
    slots[i].lod_level = static_cast<int>(declared.lod_levels);
  }
  CheckSlots(slots);
  return slots;
}

ParserPlugin Checked(const std::string& path, const MillhopperParser* parser) {
  Require(parser != nullptr, "its function millhopper_parser has no parser for version ",
          MILLHOPPER_PARSER_ABI, " of the interface; build it again with millhopper_parser.h of ",
          "this Millhopper");
  Require(parser->abi_version == MILLHOPPER_PARSER_ABI, "its parser is of version ",
          parser->abi_version, " of the interface, but this Millhopper has version ",
          MILLHOPPER_PARSER_ABI, "; build it again with millhopper_parser.h of this Millhopper");
  Require(parser->parse != nullptr, "its parser has no function `parse`");
  Require((parser->create == nullptr) == (parser->destroy == nullptr),
          "its parser has only one of the functions `create` and `destroy`");
  return {path, parser, SlotsOf(*parser)};
}

}  // namespace

void AddParserPlugin(const std::string& path, const MillhopperParser* (*exported)(uint32_t)) {
  if (FindParserPlugin(path) != nullptr) return;
  try {
    Registry().emplace(path, Checked(path, exported(MILLHOPPER_PARSER_ABI)));
  } catch (...) {
    throw Error(ErrorCode::kPlugin, CurrentError().message()).InFile(path, -1);
  }
}

const ParserPlugin* FindParserPlugin(const std::string& path) {
  const auto found = Registry().find(path);
  return found == Registry().end() ? nullptr : &found->second;
}

std::vector<std::string> ParserPluginPaths() {
  std::vector<std::string> paths;
  for (const auto& entry : Registry()) paths.push_back(entry.first);
  return paths;
}

}  // namespace millhopper
