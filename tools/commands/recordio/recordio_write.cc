// SPDX-License-Identifier: Apache-2.0
// recordio write: stores the records of files of any format.
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/base/stop.h"
#include "framework/base/url.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/io/status_line.h"
#include "framework/reader/file_format.h"
#include "framework/reader/file_reader.h"
#include "readers/fields/fields.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_commit.h"
#include "readers/formats/recordio/recordio_file.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/recordio/recordio_slots.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/sources/file_list.h"
#include "readers/sources/inferred_fields.h"
#include "tools/commands/help/shared_flags.h"
#include "tools/commands/recordio/recordio_command.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/command.h"
#include "tools/commands/shared/format_attributes.h"
#include "tools/commands/shared/json_line.h"
#include "tools/commands/shared/missing_slots.h"
#include "tools/commands/shared/pass_length.h"
#include "tools/commands/shared/slots_text.h"
#include "tools/commands/shared/standard_streams.h"

DEFINE_string(
    output, "",
    "write: the file to write; with several --shards, OUTPUT-00000.recordio and so on; convert: "
    "the file, of which {shard:05} is the number and {split} the part. "
    "Existing files are replaced only with --force, all together. A single output may also "
    "be a pipe or a device, such as /dev/stdout; it has no manifest then");
DEFINE_int32(shards, 1,
             "write: how many files. Record i goes to file i modulo N, so that open_files, which "
             "takes one record from each of its files in turn, gives back the order of the input "
             "(for up to its cycle_length of files, 16 unless set)");
DEFINE_string(compressor, "none", "write: none, snappy or gzip");
DEFINE_string(dialect, "fluid",
              "write: the kind of RecordIO: fluid (as C++ Fluid writes), go (as the Go and Python "
              "package writes) or crc32c (as pyrecordio writes). Readers recognise all of them");
DEFINE_string(
    chunk_bytes, "1MiB",
    "write: the most bytes in a chunk, uncompressed; such as 65536, 64MB or 1MiB. A thread "
    "reads one chunk at a time");
DEFINE_string(content, "tensors",
              "write: what a record holds. tensors: the slots of the input as serialised tensors, "
              "so that reading the output gives the elements of the input; bytes: only the values "
              "of the slots, one slot after another");
DEFINE_string(
    label_filename, "",
    "write, convert: files with the labels of idx images, one for each input, separated by commas");
DEFINE_string(
    slots, "",
    "write, convert, verify: the slots of an element of the inputs, if their format does not tell "
    "them, such "
    "as 'image uint8[1,28,28] label int64[1,1]'; names may be left out. -1 means any length, and "
    ":1 "
    "after a slot means one level of detail: 'uint8[-1]:1'. The format fixed needs this flag");

DEFINE_string(
    attribute, "",
    "write, convert, verify, index: NAME=VALUE: an attribute of the format of the files, such as "
    "'delimiter=;' (executor --list_formats tells them), may be repeated. The index is "
    "for readers with the same");
DEFINE_string(field, "",
              "write, convert, verify: for inputs of a format with fields: \"name dtype[dims] "
              "option=value ...\", "
              "may be repeated; peek prints some that fit a file. index: only whether they name "
              "columns of a table by its header matters; those that peek prints if none are given");

namespace millhopper {
namespace {

constexpr int kMaxShards = 10000;
constexpr char kExtension[] = ".recordio";

std::vector<std::string> SplitAtCommas(const std::string& text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

// One file that records are taken from.
class Input {
 public:
  // `patterns` are the wildcards by which the inputs were found. Fields that are not given, or by
  // name alone, are those of the first input, if it has the same format. It looks at a file that
  // can be read once only as one of `once`.
  Input(const std::string& name, const std::string& labels, const NamedSlots& slots,
        const std::vector<std::string>& fields, const std::vector<std::string>& attributes,
        const std::vector<std::string>& patterns, const Input* first, OnePassFiles* once)
      : names_(slots.names) {
    const FormatChoice choice = ChooseFormat(name);
    const FormatSchema* schema = choice.schema;
    if (schema == nullptr && slots.slots.empty()) {
      RefuseFolder(choice.path);
      const OnePassScope scope(once);
      if (IsRecordIO(choice.path)) schema = FindFileFormat("recordio");
    }
    FormatArguments arguments;
    arguments.declared = slots.slots;
    arguments.patterns = patterns;
    arguments.has_companions = !labels.empty();
    Require(schema != nullptr || attributes.empty(), Escaped(name),
            ": --attribute needs the format, by the name or as a prefix such as csv:");
    if (schema != nullptr) arguments.attributes = AttributesOfFlags(*schema, attributes);
    verbatim_ = schema != nullptr && schema->tag == "recordio" && slots.slots.empty();
    Require(!verbatim_ || !arguments.attributes.Has("content"), Escaped(name),
            ": --attribute=content is of no use here, because records of RecordIO files are copied "
            "as they are; with --slots they are read as elements");
    format_ = schema;
    if (!fields.empty()) arguments.attributes.Set("fields", fields);
    if (first != nullptr && first->format_ == schema && !first->fields_.empty()) {
      arguments.attributes.Set("fields", first->fields_);
    } else if (schema != nullptr) {
      arguments.files = {FileEntry{choice.path, labels}};
      InferFields(*schema, &arguments);
      arguments.files.clear();
    }
    if (arguments.attributes.Has("fields")) {
      fields_ = arguments.attributes.Get<std::vector<std::string>>("fields");
      if (names_.empty()) names_ = NamesOf(fields_);
    }
    if (names_.empty() && schema != nullptr && schema->tag == "recordio") {
      if (const std::optional<NamedSlots> stored = StoredSlots({choice.path})) {
        names_ = stored->names;
      }
    }
    if (verbatim_) arguments.attributes.Set("content", std::string("bytes"));
    try {
      reader_ = std::make_unique<FileReader>(
          schema == nullptr ? MakeFormatByContent(arguments) : schema->Make(arguments),
          FileEntry{choice.path, labels});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      const std::string where = StrCat("for ", Escaped(name), " (--slots declares them here)");
      throw InWordsOfFlags(error.WithContext(where), name);
    }
    reader_->set_origin(Escaped(name));
  }

  // Whether the records are copied unchanged.
  bool verbatim() const { return verbatim_; }
  // The slots that its format knows or that are declared.
  const std::vector<SlotSpec>& slots() const { return reader_->slots(); }
  // Names of the slots, or none.
  const std::vector<std::string>& names() const { return names_; }
  // How many elements there are, if the file tells it.
  std::optional<uint64_t> records() const { return LengthIfTold(*reader_); }
  // The next element, or null at the end; valid until the next call.
  const std::vector<LoDTensor>* Next() {
    if (!reader_->HasNext()) return nullptr;
    reader_->ReadNext(&element_);
    return &element_;
  }

 private:
  static bool IsRecordIO(const std::string& path) {
    const ByteStream stream(path);
    char head[kRecordIOHeaderBytes];
    return !stream.compressed() && HasRecordIOMagic(head, stream.Head(head, sizeof(head)));
  }

  bool verbatim_ = false;
  const FormatSchema* format_ = nullptr;  // null if the first bytes of the file tell it
  std::vector<std::string> fields_;
  std::vector<std::string> names_;
  std::unique_ptr<FileReader> reader_;
  std::vector<LoDTensor> element_;
};

// Makes records of elements. All must have slots of the same kind, because a reader of the output
// declares its slots only once.
class Encoder {
 public:
  explicit Encoder(bool tensors) : tensors_(tensors) {}

  // The record of an element, valid until the next call. Adds its slots to *common.
  const std::string& Encode(const std::vector<LoDTensor>& element, bool verbatim,
                            CommonSlots* common) {
    CheckKind(element, verbatim);
    record_.clear();
    AddSlots(element, verbatim, common);
    if (tensors_ && !verbatim) {
      AppendRecordOfTensors(element, &record_);
    } else {
      for (const LoDTensor& tensor : element) {
        record_.append(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
      }
    }
    return record_;
  }

  // The last one.
  const std::string& record() const { return record_; }

 private:
  struct Kind {
    DataType dtype;
    size_t rank;
    size_t levels;
    bool operator==(const Kind& other) const {
      return dtype == other.dtype && rank == other.rank && levels == other.levels;
    }
  };

  void AddSlots(const std::vector<LoDTensor>& element, bool verbatim, CommonSlots* common) const {
    if (verbatim) {
      const auto* const bytes = static_cast<const char*>(element[0].raw_data());
      const auto found = SlotsOfRecord(bytes, element[0].bytes());
      found ? common->Add(*found) : common->GiveUp();
    } else {
      tensors_ ? common->Add(element) : common->GiveUp();
    }
  }

  void CheckKind(const std::vector<LoDTensor>& element, bool verbatim) {
    const bool first = kinds_.empty();
    if (first) verbatim_ = verbatim;
    Require(verbatim == verbatim_,
            "records of RecordIO files are copied as they are, so they cannot be mixed with those "
            "of other formats; with --slots they are read as elements");
    Require(first || element.size() == kinds_.size(), "an element of ", element.size(),
            " slots follows one of ", kinds_.size(), "; one output holds elements of one kind");
    for (size_t i = 0; i < element.size(); ++i) {
      const Kind kind = {element[i].dtype(), element[i].dims().size(), element[i].lod().size()};
      if (first) kinds_.push_back(kind);
      Require(kind == kinds_[i], "slot ", i, ": ", Describe(element[i]), " with ",
              element[i].lod().size(), " levels of detail is of another type or rank than in ",
              "records before; one output holds elements of one kind");
    }
  }

  const bool tensors_;
  bool verbatim_ = false;
  std::vector<Kind> kinds_;
  std::string record_;
};

std::string ShardName(const std::string& stem, int number) {
  char digits[16];
  std::snprintf(digits, sizeof(digits), "-%05d", number);
  return stem + digits + kExtension;
}

// The first existing shard with this number or a higher one; "" if there is none.
std::string LeftShard(const std::string& stem, int number) {
  const size_t slash = stem.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : stem.substr(0, slash + 1);
  const std::string lowest = ShardName(stem, number);
  std::vector<FolderEntry> entries;
  try {
    entries = FileSystemOf(folder).ListFolder(folder.empty() ? "." : folder);
  } catch (const Error& error) {  // if the folder cannot be used, the writers report it
    if (error.interrupts()) throw;
  }
  std::string first;
  for (const FolderEntry& entry : entries) {
    const std::string name = folder + entry.name;
    // Names of the same length that differ only in their digits sort by their numbers.
    if (name.size() != lowest.size() || name.compare(0, stem.size() + 1, stem + "-") != 0) continue;
    if (RecordIOManifest::PathOf(name) != RecordIOManifest::PathOf(lowest)) continue;
    if (name >= lowest && (first.empty() || name < first)) first = name;
  }
  return first;
}

std::vector<std::string> OutputNames() {
  Require(!FLAGS_output.empty(), "write: --output is missing (--help tells more)");
  Require(FLAGS_shards >= 1 && FLAGS_shards <= kMaxShards, "--shards=", FLAGS_shards, ": 1 to ",
          kMaxShards, " are possible");
  if (FLAGS_shards == 1) return {OutputName(FLAGS_output)};
  Require(FLAGS_output != "-",
          "--output=-: standard output takes one file, and --shards=", FLAGS_shards,
          " makes several; name a file, after which they are called");
  Require(
      WithoutQuery(FLAGS_output) == FLAGS_output, "--shards=", FLAGS_shards,
      ": no numbers can be given to a URL with a query; write one file, or set in the environment "
      "what the query says");
  std::string stem = FLAGS_output;
  const size_t extension = std::strlen(kExtension);
  if (stem.size() > extension && stem.substr(stem.size() - extension) == kExtension) {
    stem.resize(stem.size() - extension);
  }
  const std::string left = LeftShard(stem, FLAGS_shards);
  Require(left.empty(), Escaped(left), " is left from an earlier run with more than ", FLAGS_shards,
          " shards, and would be read with the new ones; remove it and those after it");
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(FLAGS_shards));
  for (int i = 0; i < FLAGS_shards; ++i) names.push_back(ShardName(stem, i));
  return names;
}

// How many records the inputs have; 0 if one of them does not tell.
uint64_t RecordsOf(const std::vector<std::unique_ptr<Input>>& inputs) {
  uint64_t total = 0;
  for (const std::unique_ptr<Input>& input : inputs) {
    const std::optional<uint64_t> records = input->records();
    if (!records) return 0;
    total += *records;
  }
  return total;
}

// The names that all inputs give their slots, or none.
std::vector<std::string> NamesOfAll(const std::vector<std::unique_ptr<Input>>& inputs) {
  const std::vector<std::string>& first = inputs.front()->names();
  const bool same = std::all_of(inputs.begin(), inputs.end(),
                                [&](const auto& input) { return input->names() == first; });
  return same ? first : std::vector<std::string>();
}

// Has the manifest tell the slots of a file: those of its records or, where it has none, those that
// its inputs would have had.
void SetSlots(const CommonSlots& common, const NamedSlots& of_inputs, RecordIOWriter* file) {
  const std::optional<std::vector<SlotSpec>> found = common.slots();
  if (!found && file->records() > 0) return;
  NamedSlots slots = of_inputs;
  if (found) slots.slots = *found;
  if (slots.names.size() != slots.slots.size()) slots.names.clear();
  file->set_slots(std::move(slots));
}

// The slots that all inputs have before a record is read, if they know them.
NamedSlots SlotsBeforeReading(const std::vector<std::unique_ptr<Input>>& inputs) {
  NamedSlots slots{inputs.front()->slots(), NamesOfAll(inputs)};
  const auto is_known = [&](const auto& input) {
    return !input->verbatim() && input->slots() == slots.slots;
  };
  if (FLAGS_content != "tensors" || !std::all_of(inputs.begin(), inputs.end(), is_known) ||
      !std::all_of(slots.slots.begin(), slots.slots.end(),
                   [](const SlotSpec& slot) { return slot.known; })) {
    slots.slots.clear();
  }
  return slots;
}

// Stores the records of the inputs and gives the files their names.
void Copy(std::vector<std::unique_ptr<Input>>* inputs, const std::vector<RecordIOWriter*>& files) {
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> bytes{0};
  uint64_t total = 0;  // of the records of all inputs, if the files tell it
  if (StatusLine::IsShown()) total = RecordsOf(*inputs);
  const StatusLine status([&, progress = Progress(static_cast<double>(total))] {
    const uint64_t done = records.load();
    return progress.Line(
        static_cast<double>(done),
        StrCat(Counted(done, "record"), ", ", HumanBytes(static_cast<double>(bytes.load()))));
  });
  Encoder encoder(FLAGS_content == "tensors");
  const NamedSlots before = SlotsBeforeReading(*inputs);
  std::vector<CommonSlots> common(files.size());
  for (std::unique_ptr<Input>& input : *inputs) {
    while (const std::vector<LoDTensor>* element = input->Next()) {
      const size_t file = records.load() % files.size();
      files[file]->Write(encoder.Encode(*element, input->verbatim(), &common[file]));
      ++records;
      bytes += encoder.record().size();
      CheckStop();
    }
    input.reset();
  }
  for (size_t i = 0; i < files.size(); ++i) SetSlots(common[i], before, files[i]);
  CommitRecordIO(files, files.size() > 1);
}

}  // namespace

int WriteRecordIO(const std::vector<std::string>& patterns, const std::vector<std::string>& fields,
                  const std::vector<std::string>& attributes) {
  const std::vector<std::string> outputs = OutputNames();
  RecordIOOptions options;
  options.compressor = RecordIOCompressorFromName(FLAGS_compressor);
  options.dialect = RecordIODialectFromName(FLAGS_dialect);
  options.chunk_bytes = ParseBytes("chunk_bytes", FLAGS_chunk_bytes);
  Require(FLAGS_content == "tensors" || FLAGS_content == "bytes", "--content=", FLAGS_content,
          ": it is tensors or bytes");
  const NamedSlots slots = SlotsOfFlag(FLAGS_slots);
  const std::vector<std::string> names = ExpandFileNames(patterns);
  std::vector<std::string> label_patterns = SplitAtCommas(FLAGS_label_filename);
  for (std::string& name : label_patterns) name = DataName(name);
  const std::vector<std::string> labels = ExpandFileNames(label_patterns);
  Require(labels.empty() || labels.size() == names.size(), "--label_filename names ", labels.size(),
          " files, but there are ", names.size(), " inputs");
  const std::vector<std::string> wildcards = WildcardsOf(patterns);
  // All inputs are opened before anything is written, so that a wrong name costs nothing.
  OnePassLook look;
  std::vector<std::unique_ptr<Input>> inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    inputs.push_back(std::make_unique<Input>(
        names[i], labels.empty() ? std::string() : labels[i], slots, fields, attributes, wildcards,
        i == 0 ? nullptr : inputs.front().get(), look.files()));
  }
  OutputRules rules = RulesOfFlags();
  rules.stream = outputs.size() == 1;
  std::vector<std::unique_ptr<RecordIOWriter>> writers;
  std::vector<RecordIOWriter*> files;
  for (const std::string& output : outputs) {
    writers.push_back(std::make_unique<RecordIOWriter>(output, options, rules));
    files.push_back(writers.back().get());
  }
  if (!files[0]->output().is_stream()) CheckListing(files);
  Copy(&inputs, files);
  std::ostream& summary = files[0]->output().is_standard_output() ? std::cerr : std::cout;
  for (const RecordIOWriter* file : files) {
    if (FLAGS_json && &summary == &std::cout) {
      PrintJsonLine({{"file", WithoutSecrets(file->output().path(), TextKind::kName)},
                     {"records", file->records()},
                     {"chunks", file->chunks()},
                     {"bytes", file->bytes()}});
      continue;
    }
    summary << Escaped(file->output().path()) << ": " << Counted(file->records(), "record") << ", "
            << Counted(file->chunks(), "chunk") << ", " << Counted(file->bytes(), "byte") << "\n";
  }
  return 0;
}

}  // namespace millhopper
