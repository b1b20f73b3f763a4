// SPDX-License-Identifier: Apache-2.0
// Plugins: shared libraries that add operators, readers and formats. A plugin is built against
// these headers by the same compiler and links nothing of Millhopper. It has one line
// MILLHOPPER_PLUGIN beside its REGISTER_ lines, which are the same as Millhopper's own:
//
//   #include "framework/plugin.h"
//   ...
//   REGISTER_OPERATOR(add_constant, Schema, Run);
//   MILLHOPPER_PLUGIN;
//
// A parser plugin (millhopper_parser.h) is another kind, which knows nothing of these headers.
#ifndef MILLHOPPER_FRAMEWORK_PLUGIN_H_
#define MILLHOPPER_FRAMEWORK_PLUGIN_H_

#include <google/protobuf/stubs/common.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/version.h"
#include "framework/program/executor.h"
#include "framework/program/infer_context.h"
#include "framework/program/operator.h"
#include "framework/program/run_state.h"
#include "framework/program/scope.h"
#include "framework/reader/file_format.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "framework/tensor/rows.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// Loads a plugin and keeps what it registers, or the parser that it exports. `path` must be
// absolute and name a regular file that is not writable by everybody. Loading the same plugin again
// does nothing. One thread at a time may call this, and only while no program is checked or run.
// Throws kPlugin:
// - before any code of the plugin runs, if the file is not allowed, is no plugin or was built for
//   another Millhopper;
// - if the library cannot be loaded;
// - if its parser is of another version, or cannot be as it says (parser_plugins.h);
// - if the plugin registers a name that is taken. Then none of its registrations stay, but its
//   initialisers have run, and the library stays in memory.
void LoadPlugin(const std::string& path);

// The Millhopper that a plugin was built for. The plugin's file holds these bytes, so that
// LoadPlugin finds and compares them before any of the plugin's code runs.
struct PluginStamp {
  char mark[32];
  char version[16];
  char compiler[48];
  uint64_t layout;  // a hash of the sizes of the classes that plugins use
};

namespace internal {

template <size_t n>
constexpr void CopyText(const char* text, char (&to)[n]) {
  for (size_t i = 0; i + 1 < n && text[i] != 0; ++i) to[i] = text[i];
}

constexpr uint64_t Mixed(std::initializer_list<uint64_t> numbers) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a over 64-bit words
  for (const uint64_t number : numbers) hash = (hash ^ number) * 1099511628211u;
  return hash;
}

}  // namespace internal

// The stamp of code that is compiled with these headers.
constexpr PluginStamp CurrentPluginStamp() {
  PluginStamp stamp{};
  internal::CopyText("millhopper plugin, built for:", stamp.mark);
  internal::CopyText(kVersion, stamp.version);
  internal::CopyText(__VERSION__, stamp.compiler);
  stamp.layout = internal::Mixed(
      {__GXX_ABI_VERSION,       _GLIBCXX_USE_CXX11_ABI, GOOGLE_PROTOBUF_VERSION, sizeof(Attribute),
       sizeof(AttributeSchema), sizeof(OpSchema),       sizeof(OpContext),       sizeof(RunState),
       sizeof(PreparedBlock),   sizeof(Variable),       sizeof(Scope),           sizeof(Error),
       sizeof(LoDTensor),       sizeof(Rows),           sizeof(SlotSpec),        sizeof(Ticket),
       sizeof(TicketRun),       sizeof(ReaderBase),     sizeof(ReaderHolder),    sizeof(Chunk),
       sizeof(FileFormat),      sizeof(FormatSchema)});
  return stamp;
}

// No code refers to the stamp, so it would be dropped: `used` makes the compiler keep it, `retain`
// makes the linker keep it in spite of --gc-sections, which optimised libraries are linked with.
#define MILLHOPPER_PLUGIN                                                                 \
  [[maybe_unused]] __attribute__((                                                        \
      used, retain)) static constexpr ::millhopper::PluginStamp millhopper_plugin_stamp = \
      ::millhopper::CurrentPluginStamp()

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PLUGIN_H_
