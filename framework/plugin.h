// SPDX-License-Identifier: Apache-2.0
// Plugins: shared libraries that add operators, readers and formats. A plugin is built against
// these headers by the same compiler, links nothing of Millhopper and has one line
// MILLHOPPER_PLUGIN; besides it are the REGISTER_ lines that everything has:
//
//   #include "framework/plugin.h"
//   ...
//   REGISTER_OPERATOR(add_constant, Schema, Run);
//   MILLHOPPER_PLUGIN;
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

// Loads a plugin, which adds what it registers. `path` must be absolute, and the file must be a
// regular one that not everybody may write. Loading it again does nothing. One thread at a time,
// while no program is checked or run. Throws kPlugin if the file is not allowed, is no plugin, was
// built for another Millhopper (nothing of it has run then), cannot be loaded, or registers a name
// that is taken (then nothing that it registers stays, but it has run and stays in memory).
void LoadPlugin(const std::string& path);

// What a plugin was built for. Lies in the file as it is here, to be found and compared before any
// of the plugin's code runs.
struct PluginStamp {
  char mark[32];
  char version[16];
  char compiler[48];
  uint64_t layout;  // of the classes that plugins use
};

namespace internal {

template <size_t n>
constexpr void CopyText(const char* text, char (&to)[n]) {
  for (size_t i = 0; i + 1 < n && text[i] != 0; ++i) to[i] = text[i];
}

constexpr uint64_t Mixed(std::initializer_list<uint64_t> numbers) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a, of 64-bit words
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

// Nothing refers to the stamp: `used` keeps it in what is compiled, `retain` in what is linked with
// --gc-sections, as optimised libraries are.
#define MILLHOPPER_PLUGIN                                                                 \
  [[maybe_unused]] __attribute__((                                                        \
      used, retain)) static constexpr ::millhopper::PluginStamp millhopper_plugin_stamp = \
      ::millhopper::CurrentPluginStamp()

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PLUGIN_H_
