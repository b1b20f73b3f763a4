// SPDX-License-Identifier: Apache-2.0
// recordio index: writes the indexes of files of any format that has them.

#include <atomic>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/file.h"
#include "framework/io/output_file.h"
#include "framework/reader/file_format.h"
#include "readers/chunk_index.h"
#include "readers/file_list.h"
#include "readers/indexable_format.h"
#include "tools/amounts.h"
#include "tools/command.h"
#include "tools/json_line.h"
#include "tools/recordio_command.h"
#include "tools/shared_flags.h"
#include "tools/standard_streams.h"
#include "tools/status_line.h"

namespace millhopper {
namespace {

// A format that finds the records of this file, or null if it needs more than fields to do it.
// Which fields it has matters for a header only, so those that fit are guessed where the format
// needs some and none are given.
std::unique_ptr<FileFormat> FormatFor(const FormatSchema& schema, const std::string& path,
                                      const std::vector<std::string>& fields) {
  FormatArguments arguments;
  if (!fields.empty()) arguments.attributes.Set("fields", fields);
  if (schema.tag == "recordio") arguments.attributes.Set("content", std::string("bytes"));
  try {
    return schema.Make(arguments);
  } catch (const Error&) {
    if (!fields.empty()) throw;
    if (schema.guess_fields == nullptr) return nullptr;
    const std::vector<std::string> guessed =
        schema.guess_fields(path, schema.WithDefaults(arguments.attributes));
    if (guessed.empty()) throw;
    arguments.attributes.Set("fields", guessed);
  }
  return schema.Make(arguments);
}

ChunkIndex MakeIndex(const FormatChoice& choice, const std::vector<std::string>& fields,
                     std::atomic<uint64_t>* bytes) {
  const std::string& path = choice.path;
  Require(MayHaveIndex(path), Escaped(path),
          ": an index lies beside its file, so only files on local disks can have one");
  const FormatSchema& schema = choice.schema == nullptr ? FormatByContent(path) : *choice.schema;
  const std::unique_ptr<FileFormat> format = FormatFor(schema, path, fields);
  auto* const indexable = dynamic_cast<IndexableFormat*>(format.get());
  Require(indexable != nullptr, Escaped(path), ": there is no index for files of the format ",
          schema.tag,
          "; there are indexes of recordio, tar, tfrecord, mxnet, text, csv, tsv, jsonl, libsvm, "
          "multislot and ctr_svm");
  return indexable->MakeIndex({path, "", BufferType::kMemory}, bytes);
}

void Print(const std::string& path, const std::string& index_path, const ChunkIndex& index) {
  if (FLAGS_json) {
    nlohmann::json json = {{"file", path},
                           {"index", index_path},
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

double BytesOf(const std::vector<std::string>& names) {
  uint64_t bytes = 0;
  for (const std::string& name : names) {
    try {
      bytes += File::Open(ChooseFormat(name).path)->size();
    } catch (const Error&) {  // making its index reports it
    }
  }
  return static_cast<double>(bytes);
}

}  // namespace

int IndexFiles(const std::vector<std::string>& patterns, const std::vector<std::string>& fields) {
  const std::vector<std::string> names = ExpandFileNames(patterns);
  std::atomic<uint64_t> bytes{0};
  const Progress progress(StatusLine::IsShown() ? BytesOf(names) : 0);
  const StatusLine status([&] {
    const auto done = static_cast<double>(bytes.load());
    return progress.Line(done, HumanBytes(done));
  });
  int code = 0;
  for (const std::string& name : names) {
    try {
      const FormatChoice choice = ChooseFormat(name);
      const ChunkIndex index = MakeIndex(choice, fields, &bytes);
      OutputFile output(IndexPathOf(choice.path));
      output.Write(index.ToBytes());
      output.Publish();
      Print(choice.path, output.path(), index);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      std::cout << std::flush;
      PrintError(error.what());
      if (code == 0) code = static_cast<int>(error.code());
    }
  }
  return code;
}

}  // namespace millhopper
