// SPDX-License-Identifier: Apache-2.0
// Parsers of plugins that the user has allowed.
#ifndef MILLHOPPER_FRAMEWORK_READER_PARSER_PLUGINS_H_
#define MILLHOPPER_FRAMEWORK_READER_PARSER_PLUGINS_H_

#include <string>
#include <vector>

#include "framework/parser/millhopper_parser.h"
#include "framework/tensor/rows.h"

namespace millhopper {

// A parser and the slots that it has declared. It lives as long as the process.
struct ParserPlugin {
  std::string path;  // of its library
  const MillhopperParser* parser;
  std::vector<SlotSpec> slots;
};

// Has the exported function of the library at `path` hand over its parser, and keeps that. The
// plugin's loader (plugin.h) calls it, with the contract of LoadPlugin. Throws kPlugin, naming the
// library, if there is no parser of this version, or if what it says of itself cannot be.
void AddParserPlugin(const std::string& path, const MillhopperParser* (*exported)(uint32_t));

// Null if the library has not been allowed, or is no parser.
const ParserPlugin* FindParserPlugin(const std::string& path);
// The libraries that have been allowed.
std::vector<std::string> ParserPluginPaths();

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_PARSER_PLUGINS_H_
