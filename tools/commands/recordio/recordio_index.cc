// SPDX-License-Identifier: Apache-2.0
// recordio index: writes the indexes of files of any format that has them.

#include <atomic>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/io/file_system.h"
#include "framework/io/output_file.h"
#include "framework/io/status_line.h"
#include "framework/reader/file_format.h"
#include "readers/index/chunk_index.h"
#include "readers/index/indexable_format.h"
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

namespace millhopper {
namespace {

// A format that finds the records of this file, or null if it needs more than fields to do it.
// Which fields it has matters for a header only, so those that fit, and how the file is written,
// are found where the format needs some and none are given, as readers find them.
std::unique_ptr<FileFormat> FormatFor(const FormatSchema& schema, const std::string& path,
                                      const std::vector<std::string>& fields,
                                      const std::vector<std::string>& attributes) {
  FormatArguments arguments;
  arguments.attributes = AttributesOfFlags(schema, attributes);
  if (!fields.empty()) arguments.attributes.Set("fields", fields);
  if (schema.tag == "recordio") arguments.attributes.Set("content", std::string("bytes"));
  try {
    return schema.Make(arguments);
  } catch (const Error& error) {
    if (!fields.empty()) throw;
    if (schema.guess_fields == nullptr) return nullptr;
    arguments.files = {FileEntry{path, ""}};
    const FittingFields found = FieldsThatFit(schema, arguments);
    arguments.files.clear();
    if (found.entries.empty()) throw InWordsOfFlags(error, path);
    for (const auto& [name, value] : found.attributes.values()) {
      arguments.attributes.Set(name, value);
    }
    arguments.attributes.Set("fields", found.entries);
  }
  return schema.Make(arguments);
}

ChunkIndex MakeIndex(const FormatChoice& choice, const std::vector<std::string>& fields,
                     const std::vector<std::string>& attributes, std::atomic<uint64_t>* bytes) {
  const std::string& path = choice.path;
  Require(MayHaveIndex(path), Escaped(path),
          ": an index lies beside its file, so only files on local disks can have one");
  if (choice.schema == nullptr) RefuseFolder(path);
  const FormatSchema& schema = choice.schema == nullptr ? FormatByContent(path) : *choice.schema;
  const std::unique_ptr<FileFormat> format = FormatFor(schema, path, fields, attributes);
  auto* const indexable = dynamic_cast<IndexableFormat*>(format.get());
  Require(indexable != nullptr, Escaped(path), ": there is no index for files of the format ",
          schema.tag,
          "; there are indexes of recordio, tar, tfrecord, mxnet, text, csv, tsv, jsonl, libsvm, "
          "libffm, multislot and ctr_svm");
  return indexable->MakeIndex({path, "", BufferType::kMemory}, bytes);
}

// An index may be made again at any time, but another file of its name is not destroyed unasked.
OutputRules RulesFor(const std::string& index_path) {
  OutputRules rules;
  const bool is_file = FileSystemOf(index_path).Stat(index_path).kind == FileStatus::Kind::kFile;
  rules.make_target = false;
  rules.overwrite = FLAGS_force || (is_file && IsChunkIndex(index_path));
  rules.refusal = "the file exists and is no index; delete it, or replace it with --force";
  return rules;
}

void Print(const std::string& path, const std::string& index_path, const ChunkIndex& index) {
  if (FLAGS_json) {
    nlohmann::json json = {{"file", WithoutSecrets(path, TextKind::kName)},
                           {"index", WithoutSecrets(index_path, TextKind::kName)},
                           {"records", index.records},
                           {"bytes", index.file_bytes}};
    if (!index.chunks.empty()) json["chunks"] = index.chunks.size();
    PrintJsonLine(json);
    return;
  }
  std::cout << Escaped(index_path) << ": " << Counted(index.records, "record") << ", "
            << (index.chunks.empty() ? "" : Counted(index.chunks.size(), "chunk") + ", ")
            << Counted(index.file_bytes, "byte") << "\n";
}

}  // namespace

int IndexFiles(const std::vector<std::string>& patterns, const std::vector<std::string>& fields,
               const std::vector<std::string>& attributes) {
  const std::vector<std::string> names = ExpandFileNames(patterns);
  std::atomic<uint64_t> bytes{0};
  const Progress progress(StatusLine::IsShown() ? BytesOf(names) : 0);
  const StatusLine status([&] {
    const auto done = static_cast<double>(bytes.load());
    return progress.Line(done, HumanBytes(done));
  });
  return VisitFiles(names, [&](const FormatChoice& choice) {
    const ChunkIndex index = MakeIndex(choice, fields, attributes, &bytes);
    OutputFile output(IndexPathOf(choice.path), RulesFor(IndexPathOf(choice.path)));
    output.Write(index.ToBytes());
    output.Publish();
    Print(choice.path, output.path(), index);
  });
}

}  // namespace millhopper
