// SPDX-License-Identifier: Apache-2.0
// recordio verify: of RecordIO files that their chunks are whole, of all others that each record
// can be read.
#include <gflags/gflags.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/io/one_pass.h"
#include "framework/io/status_line.h"
#include "framework/reader/file_format.h"
#include "readers/sources/checked_file.h"
#include "readers/sources/file_list.h"
#include "readers/sources/inferred_fields.h"
#include "tools/commands/help/shared_flags.h"
#include "tools/commands/recordio/recordio_command.h"
#include "tools/commands/recordio/recordio_files.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/command.h"
#include "tools/commands/shared/format_attributes.h"
#include "tools/commands/shared/json_line.h"
#include "tools/commands/shared/missing_slots.h"
#include "tools/commands/shared/slots_text.h"

DECLARE_string(slots);

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// A format with the fields that are given, or that fit the file.
std::unique_ptr<FileFormat> FormatOf(const FormatSchema& schema, const std::string& path,
                                     const Strings& fields, const Strings& attributes) {
  FormatArguments arguments;
  arguments.attributes = AttributesOfFlags(schema, attributes);
  arguments.declared = SlotsOfFlag(FLAGS_slots).slots;
  if (!fields.empty()) arguments.attributes.Set("fields", fields);
  arguments.files = {FileEntry{path, ""}};
  try {
    InferFields(schema, &arguments);
    return schema.Make(arguments);
  } catch (const Error& error) {
    if (!FoundNoRecord(schema, arguments, error)) throw InWordsOfFlags(error, path);
  }
  // No record has to have this field, and no table a header for it.
  arguments.attributes.Set("fields", Strings{"#0 str"});
  return schema.Make(arguments);
}

void PrintFound(const std::string& path, const std::string& format,
                const CheckedFile::Found& found) {
  if (FLAGS_json) {
    PrintJsonLine({{"file", WithoutSecrets(path, TextKind::kName)},
                   {"format", format},
                   {"records", found.records},
                   {"bad", found.bad},
                   {"whole", found.bad == 0}});
    return;
  }
  std::cout << Escaped(path) << ": " << (found.bad == 0 ? "whole, " : "DAMAGED, ") << format << ", "
            << Counted(found.records, "record")
            << (found.bad == 0 ? "" : ", " + Counted(found.bad, "error")) << "\n";
}

// Of a file in which no fields could be found, because a record is wrong.
void PrintUnlooked(const std::string& path, const std::string& format, const Error& error) {
  std::cout << std::flush;
  PrintError(error.what());
  if (FLAGS_json) {
    PrintJsonLine({{"file", WithoutSecrets(path, TextKind::kName)},
                   {"format", format},
                   {"bad", 1},
                   {"whole", false}});
    return;
  }
  std::cout << Escaped(path) << ": DAMAGED, " << format
            << ", 1 error, before its fields were found; with --field all records are checked\n";
}

// Returns the exit code of the first error, or 0.
int CheckFile(const FormatChoice& choice, const FormatSchema& schema, const Strings& fields,
              const Strings& attributes, const std::function<void(uint64_t bytes)>& progress) {
  int code = 0;
  std::unique_ptr<FileFormat> format;
  try {
    format = FormatOf(schema, choice.path, fields, attributes);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kDataLoss || !fields.empty()) throw;
    PrintUnlooked(choice.path, schema.tag, error);
    return static_cast<int>(error.code());
  }
  CheckedFile file(std::move(format), {choice.path, ""});
  file.set_origin(Escaped(choice.path));
  const CheckedFile::Found found = file.Check(
      [&code](const Error& error) {
        std::cout << std::flush;
        PrintError(error.what());
        if (code == 0) code = static_cast<int>(error.code());
      },
      progress);
  PrintFound(choice.path, schema.tag, found);
  return code;
}

}  // namespace

int VerifyFiles(const Strings& patterns, const Strings& fields, const Strings& attributes) {
  // What cannot be opened is an error of the first action that comes to it.
  Strings of_recordio;
  std::vector<std::pair<std::string, const FormatSchema*>> others;
  int code = VisitFiles(ExpandFileNames(patterns), [&](const FormatChoice& choice) {
    // What can be read once only is not looked at: it is RecordIO unless its name says otherwise.
    const bool once = CanBeReadOnceOnly(choice.path);
    const FormatSchema* schema = choice.schema;
    if (schema == nullptr && once) schema = FindFileFormat("recordio");
    if (schema == nullptr) RefuseFolder(choice.path);
    if (schema == nullptr) schema = &FormatByContent(choice.path);
    // The bytes of a file are what counts, whatever its name says.
    if (schema->tag == "recordio" ||
        (!once && !schema->reads_folders && BeginsAsRecordIO(choice.path))) {
      of_recordio.push_back("recordio:" + choice.path);
    } else {
      others.emplace_back(choice.path, schema);
    }
  });
  if (!of_recordio.empty()) {
    const int found = VerifyRecordIO(of_recordio);
    if (code == 0) code = found;
  }
  std::atomic<uint64_t> bytes{0};
  uint64_t before = 0;
  Strings paths;
  for (const auto& [path, schema] : others) paths.push_back(path);
  const Progress total(StatusLine::IsShown() ? BytesOf(paths) : 0);
  const StatusLine status([&] {
    const auto done = static_cast<double>(bytes.load());
    return total.Line(done, HumanBytes(done));
  });
  for (const auto& [path, schema] : others) {
    const int file_code = VisitFiles({StrCat(schema->tag, ":", path)}, [&](const auto& choice) {
      const int found = CheckFile(choice, *choice.schema, fields, attributes,
                                  [&](uint64_t done) { bytes = before + done; });
      if (code == 0) code = found;
    });
    if (code == 0) code = file_code;
    before += static_cast<uint64_t>(BytesOf({path}));
  }
  return code;
}

}  // namespace millhopper
