// SPDX-License-Identifier: Apache-2.0
#include "tools/commands/shared/missing_slots.h"

#include <vector>

#include "framework/reader/file_format.h"

namespace millhopper {
namespace {

// A word of a command line, as a shell reads it.
std::string ShellQuoted(const std::string& word) {
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return Escaped(quoted + "'");
}

// " --field='label int64[]'" for each entry.
std::string FieldFlags(const std::vector<std::string>& entries) {
  std::string flags;
  for (const std::string& entry : entries) flags += " --field=" + ShellQuoted(entry);
  return flags;
}

}  // namespace

Error InWordsOfFlags(const Error& error, const std::string& name) {
  const auto* const missing = dynamic_cast<const MissingSlots*>(error.cause().get());
  if (missing == nullptr) return error;
  const std::string what =
      missing->fields.empty()
          ? "the files do not tell their slots; --slots does, such as --slots='uint8[1,1] "
            "uint8[1,3,32,32]' for a label and an image in each record"
          : "the format needs --field for each slot, such as" + FieldFlags(missing->fields);
  const std::string found = error.message().substr(missing->problem.size());
  return Error(error.code(), StrCat(Escaped(name), ": ", what, found));
}

}  // namespace millhopper
