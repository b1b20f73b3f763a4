// SPDX-License-Identifier: Apache-2.0
// recordio convert: writes the records of files of any format to files of another one.
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/exact_text.h"
#include "framework/base/secrets.h"
#include "framework/io/one_pass.h"
#include "framework/io/status_line.h"
#include "framework/program/declarations.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/reader/file_format.h"
#include "framework/reader/reader_holder.h"
#include "operators/readers/support/slot_declaration.h"
#include "proto/framework.pb.h"
#include "readers/output/written_files.h"
#include "tools/commands/files/files_program.h"
#include "tools/commands/help/shared_flags.h"
#include "tools/commands/recordio/recordio_command.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/command.h"
#include "tools/commands/shared/json_line.h"
#include "tools/commands/shared/missing_slots.h"
#include "tools/commands/shared/pass_length.h"
#include "tools/commands/shared/slots_text.h"
#include "tools/commands/shared/standard_streams.h"

DECLARE_string(output);
DECLARE_string(label_filename);
DECLARE_string(slots);

DEFINE_string(
    shuffle, "",
    "convert: write the records in a random order, which this number decides; alone it is "
    "0. The records wait in memory, all of them unless --shuffle_buffer says how many");
DEFINE_int32(shuffle_buffer, 0,
             "convert: draw each record of --shuffle from so many that wait; 0: from all");
DEFINE_string(
    split, "",
    "convert: divide the records into parts of these shares, such as 0.9,0.1, by a hash of "
    "file name and place in it, which --seed changes. {split} in --output, or else the "
    "beginning of the name, is train and val of two parts, train, val and test of three, "
    "and part0, part1 and so on of more. Each part reads the inputs again");
DEFINE_string(filter, "",
              "convert: only the records for which a condition on their slots holds, such as "
              "'label >= 3 and lang in (\"en\", \"de\")'; executor --list_ops condition describes "
              "it. Slots without names are slot0, slot1 and so on");
DEFINE_double(sample, 1, "convert: only this share of the records, chosen by such a hash");
DEFINE_string(shard_size, "",
              "convert: begin another file after so many records (1000) or bytes (256MB, before "
              "compression); {shard:05} in --output is its number");

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// The hash of --sample must not be that of --split, or each part would have another share of it.
constexpr uint64_t kSampleSeed = 0x73616d706c65;

struct Part {
  std::string name;  // "" of an output that is not split
  std::string output;
  std::unique_ptr<ReaderBase> reader;
  std::vector<LoDTensor> first;
  std::unique_ptr<WrittenFiles> files;
};

std::vector<double> Shares() {
  std::vector<double> shares;
  for (const char* here = FLAGS_split.data(); !FLAGS_split.empty();) {
    const char* const end = FLAGS_split.data() + FLAGS_split.size();
    double share = 0;
    const auto read = std::from_chars(here, end, share);
    Require(read.ec == std::errc() && (read.ptr == end || *read.ptr == ','),
            "--split=", FLAGS_split, ": shares such as 0.9,0.1 are wanted");
    shares.push_back(share);
    if (read.ptr == end) break;
    here = read.ptr + 1;
  }
  Require(FLAGS_split.empty() || shares.size() > 1, "--split=", FLAGS_split,
          ": two parts or more are wanted, such as 0.9,0.1");
  return shares;
}

std::string PartName(size_t part, size_t parts) {
  const char* const names[] = {"train", "val", "test"};
  return parts <= std::size(names) ? names[part] : StrCat("part", part);
}

// The name of the output of a part.
std::string OutputOf(const std::string& part) {
  const std::string prefix =
      FLAGS_output.substr(0, FLAGS_output.size() - SplitFormatPrefix(FLAGS_output).path.size());
  std::string path = FLAGS_output.substr(prefix.size());
  if (path == "-") path = OutputName(path);
  constexpr char kSplit[] = "{split}";
  if (part.empty()) {
    Require(path.find(kSplit) == std::string::npos, "--output=", Escaped(FLAGS_output),
            ": {split} is the name of a part of --split=0.9,0.1");
    return prefix + path;
  }
  bool named = false;
  for (size_t at = 0; (at = path.find(kSplit, at)) != std::string::npos; named = true) {
    path.replace(at, sizeof(kSplit) - 1, part);
  }
  if (!named) path.insert(path.rfind('/') + 1, part + "-");
  return prefix + path;
}

ShardSize SizeOfFlag() {
  ShardSize size;
  if (FLAGS_shard_size.empty()) return size;
  const bool is_count = FLAGS_shard_size.find_first_not_of("0123456789") == std::string::npos;
  const uint64_t number = ParseBytes("shard_size", FLAGS_shard_size);
  Require(number > 0, "--shard_size=", FLAGS_shard_size, ": a file has one record at least");
  (is_count ? size.records : size.bytes) = number;
  return size;
}

proto::OpDesc::Attr* AddAttr(proto::OpDesc* op, const std::string& name, proto::AttrType type) {
  proto::OpDesc::Attr* const attr = op->add_attrs();
  attr->set_name(name);
  attr->set_type(type);
  return attr;
}

// Makes programs of the chains of readers that are written.
class Chains {
 public:
  Chains(const Strings& inputs, const Strings& fields, const Strings& attributes)
      : given_(ProgramForFiles(inputs, fields, SlotsOfFlag(FLAGS_slots), attributes, look_.files(),
                               &hints_, "recordio convert")),
        desc_(given_.program->desc()),
        first_input_(inputs.front()) {
    if (!FLAGS_quiet) std::cerr << given_.hint;
    // One file after the other.
    proto::OpDesc* const open = desc_.mutable_blocks(0)->mutable_ops(0);
    AddAttr(open, "cycle_length", proto::INT)->set_i(1);
    if (!FLAGS_label_filename.empty()) AddLabels(open);
    if (!FLAGS_filter.empty()) AddFilter();
    Require(FLAGS_sample > 0 && FLAGS_sample <= 1, "--sample=", ExactText(FLAGS_sample),
            ": a share above 0, up to 1");
    if (FLAGS_sample < 1) {
      AddSplit({FLAGS_sample, 1 - FLAGS_sample}, 0, FLAGS_seed ^ kSampleSeed, &desc_);
    }
  }

  const Strings& slot_names() const { return given_.slot_names; }

  // The chain of a part of these shares, or of all.
  std::unique_ptr<ReaderBase> Open(const std::vector<double>& shares, size_t part) {
    proto::ProgramDesc desc = desc_;
    if (!shares.empty()) AddSplit(shares, part, FLAGS_seed, &desc);
    if (!FLAGS_shuffle.empty()) {
      proto::OpDesc* const op = AddReader("create_shuffle_reader", &desc);
      AddAttr(op, "buffer_size", proto::INT)
          ->set_i(FLAGS_shuffle_buffer > 0 ? FLAGS_shuffle_buffer : INT32_MAX);
      AddAttr(op, "seed", proto::LONG)->set_l(ShuffleSeed());
    }
    AddReader("create_double_buffer_reader", &desc);
    const auto program = Program::FromString(desc.SerializeAsString(), "recordio convert");
    RunState run;
    run.seed = FLAGS_seed;
    const DeclaredAs declared_as(&FlagDeclaration);
    const Executor executor(run);
    Scope scope;
    const auto prepared = executor.Prepare(program, ProgramRole::kStartup, &scope);
    try {
      prepared->Run();
    } catch (const Error& error) {
      throw InWordsOfFlags(error, first_input_);
    }
    const std::string& last = program->desc().blocks(0).ops().rbegin()->outputs(0).arguments(0);
    return prepared->Find(last)->GetMutable<ReaderHolder>()->NewHandle();
  }

 private:
  static int64_t ShuffleSeed() {
    int64_t seed = 0;
    const char* const end = FLAGS_shuffle.data() + FLAGS_shuffle.size();
    const auto read = std::from_chars(FLAGS_shuffle.data(), end, seed);
    Require(read.ec == std::errc() && read.ptr == end, "--shuffle=", FLAGS_shuffle,
            ": a whole number is wanted, or none");
    return seed;
  }

  // A reader on the last one.
  static proto::OpDesc* AddReader(const std::string& type, proto::ProgramDesc* desc) {
    proto::BlockDesc* const block = desc->mutable_blocks(0);
    const std::string below = block->ops().rbegin()->outputs(0).arguments(0);
    proto::VarDesc* const variable = block->add_vars();
    variable->set_name(StrCat("files.", block->ops_size()));
    variable->set_persistable(true);
    variable->mutable_type()->set_type(proto::VarType::READER);
    proto::OpDesc* const op = block->add_ops();
    op->set_type(type);
    proto::OpDesc::Var* const input = op->add_inputs();
    input->set_parameter("UnderlyingReader");
    input->add_arguments(below);
    proto::OpDesc::Var* const output = op->add_outputs();
    output->set_parameter("Out");
    output->add_arguments(variable->name());
    return op;
  }

  static void AddSplit(const std::vector<double>& shares, size_t part, uint64_t seed,
                       proto::ProgramDesc* desc) {
    proto::OpDesc* const op = AddReader("create_split_reader", desc);
    proto::OpDesc::Attr* const attr = AddAttr(op, "shares", proto::FLOAT64S);
    for (const double share : shares) attr->add_float64s(share);
    AddAttr(op, "part", proto::LONG)->set_l(static_cast<int64_t>(part));
    AddAttr(op, "seed", proto::LONG)->set_l(static_cast<int64_t>(seed));
  }

  // A block that runs the operator condition on all slots.
  void AddFilter() {
    Strings names = given_.slot_names;
    for (size_t count = names.empty() ? Open({}, 0)->slots().size() : 0; names.size() < count;) {
      names.push_back(StrCat("slot", names.size()));
    }
    proto::OpDesc* const filter = AddReader("create_filter_reader", &desc_);
    proto::BlockDesc* const block = desc_.add_blocks();
    block->set_idx(desc_.blocks_size() - 1);
    block->set_parent_idx(0);
    proto::OpDesc* const op = block->add_ops();
    op->set_type("condition");
    const auto declare = [block](const std::string& name, proto::OpDesc::Var* argument) {
      proto::VarDesc* const variable = block->add_vars();
      variable->set_name(name);
      variable->mutable_type()->set_type(proto::VarType::LOD_TENSOR);
      argument->add_arguments(name);
    };
    op->add_inputs()->set_parameter("X");
    op->add_outputs()->set_parameter("Out");
    Strings sources;
    for (size_t i = 0; i < names.size(); ++i) {
      sources.push_back(StrCat("slot", i));
      declare(sources.back(), op->mutable_inputs(0));
    }
    declare("holds", op->mutable_outputs(0));
    ToProto("condition", FLAGS_filter, op->add_attrs());
    ToProto("names", names, op->add_attrs());
    ToProto("sub_block", BlockIndex(block->idx()), filter->add_attrs());
    ToProto("source_var_names", sources, filter->add_attrs());
    ToProto("sink_var_names", Strings{"holds"}, filter->add_attrs());
  }

  void AddLabels(proto::OpDesc* open) const {
    const FormatSchema* const format = FindFileFormat(given_.format);
    Require(!format->companion_list_name.empty(), "--label_filename: files of the format ",
            format->tag, " have their labels in themselves");
    AddAttr(open, format->companion_list_name, proto::STRINGS)->add_strings(FLAGS_label_filename);
  }

  OnePassLook look_;
  std::ostringstream hints_;  // the fields are printed when all is written
  FilesProgram given_;
  proto::ProgramDesc desc_;
  const std::string first_input_;
};

// Opens the outputs of all parts, so that what one cannot hold is refused before anything is
// written.
std::vector<Part> OpenParts(Chains* chains) {
  const std::vector<double> shares = Shares();
  std::set<std::string> beside;
  std::vector<Part> parts(std::max<size_t>(1, shares.size()));
  for (size_t i = 0; i < parts.size(); ++i) {
    Part& part = parts[i];
    if (!shares.empty()) part.name = PartName(i, parts.size());
    part.output = OutputOf(part.name);
    part.reader = chains->Open(shares, i);
    const NamedSlots slots = SlotsToWrite(part.reader.get(), chains->slot_names(), &part.first);
    part.files = std::make_unique<WrittenFiles>(part.output, slots, SizeOfFlag(), RulesOfFlags());
    const std::string other = part.files->beside();
    Require(other.empty() || beside.insert(other).second, Escaped(other),
            " would be that of two parts; give each a folder: {split}/...");
  }
  return parts;
}

void PrintWritten(const Part& part, const Written& written, std::ostream* out) {
  for (const Written::File& file : written.files) {
    if (FLAGS_json && out == &std::cout) {
      nlohmann::json json = {{"file", WithoutSecrets(file.path, TextKind::kName)},
                             {"records", file.records},
                             {"bytes", file.bytes},
                             {"fields", written.fields}};
      if (!written.slots.names.empty()) json["names"] = written.slots.names;
      if (!part.name.empty()) json["split"] = part.name;
      PrintJsonLine(json);
      continue;
    }
    *out << Escaped(file.path) << ": " << Counted(file.records, "record") << ", "
         << Counted(file.bytes, "byte") << "\n";
  }
}

}  // namespace

int ConvertFiles(const Strings& patterns, const Strings& fields, const Strings& attributes) {
  Require(!FLAGS_output.empty(), "convert: --output is missing (--help tells more)");
  Require(FLAGS_shuffle_buffer >= 0, "--shuffle_buffer=", FLAGS_shuffle_buffer, ": 1 or more");
  Require(FLAGS_shuffle_buffer == 0 || !FLAGS_shuffle.empty(),
          "--shuffle_buffer=", FLAGS_shuffle_buffer, ": there is no --shuffle");
  Chains chains(patterns, fields, attributes);
  std::vector<Part> parts = OpenParts(&chains);
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> bytes{0};
  uint64_t total = 0;
  if (!FLAGS_quiet && StatusLine::IsShown() && parts.size() == 1) {
    total = LengthIfTold(*parts[0].reader).value_or(0);
  }
  std::optional<StatusLine> status;
  if (!FLAGS_quiet) {
    const auto text = [&, progress = Progress(static_cast<double>(total))] {
      const uint64_t done = records.load();
      return progress.Line(
          static_cast<double>(done),
          StrCat(Counted(done, "record"), ", ", HumanBytes(static_cast<double>(bytes.load()))));
    };
    status.emplace(text, StatusLine::kLogged);
  }
  uint64_t before = 0;  // bytes of the parts before
  for (Part& part : parts) {
    WriteElements(part.reader.get(), part.first, part.files.get(), [&] {
      ++records;
      bytes = before + part.files->bytes();
    });
    before += part.files->bytes();
    part.reader.reset();
  }
  std::ostream& out = parts[0].files->is_standard_output() ? std::cerr : std::cout;
  for (Part& part : parts) part.files->Prepare();
  std::vector<Written> written;
  for (Part& part : parts) {
    written.push_back(part.files->Publish());
    PrintWritten(part, written.back(), &out);
  }
  // Parts have the same but for the default of nulls, which a part may have none of.
  for (size_t i = 0; i < parts.size() && !FLAGS_json; ++i) {
    if (i > 0 && written[i].fields == written[i - 1].fields) continue;
    const std::string of = i == 0 ? "" : StrCat(" of ", parts[i].name);
    PrintFields(StrCat("fields that read the same records", of),
                {written[i].fields, {}, written[i].attributes}, &out);
    if (i > 0 || written[i].slots.names.empty()) continue;
    out << "slots that read the same records:\n  "
        << FlagDeclaration(written[i].slots.slots, written[i].slots.names) << "\n";
  }
  return 0;
}

}  // namespace millhopper
