// SPDX-License-Identifier: Apache-2.0
// Files whose records a plugin's parser turns into tensors.
#ifndef MILLHOPPER_READERS_SOURCES_PLUGIN_READER_H_
#define MILLHOPPER_READERS_SOURCES_PLUGIN_READER_H_

#include <memory>
#include <string>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/parser_plugins.h"
#include "framework/reader/reader.h"
#include "readers/sources/multi_file_reader.h"

namespace millhopper {

// What create_plugin_reader makes: `names` (expanded by ExpandFileNames) are files of the format
// `records`, each of whose records is one slot of bytes, and the parser makes an element of each.
// It is called where other formats load their records: by any thread, straight before the tensors
// are copied into their place; by at most options.thread_num threads at once, unless that is 0.
//
// The parser is not trusted: it gets a copy of the record, and what it returns is checked. Where it
// misbehaves, the consumer gets an error of the code kPlugin in the element's place; a record that
// it refuses is kDataLoss. Both name the file, the byte, the record and the plugin, and so do the
// lines of a crash within it.
//
// Throws kInvalidArgument and kIo; opens nothing, calls nothing of the plugin.
std::unique_ptr<ReaderBase> OpenPluginReader(const std::vector<std::string>& names,
                                             const FormatSchema& records, FormatArguments arguments,
                                             const ParserPlugin& plugin,
                                             const MultiFileOptions& options);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_PLUGIN_READER_H_
