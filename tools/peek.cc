// SPDX-License-Identifier: Apache-2.0
// The peek command: shows what a reader of a startup program yields.
#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/io/file.h"
#include "framework/io/output_file.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/reader/file_format.h"
#include "framework/reader/position.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "proto/framework.pb.h"
#include "readers/file_list.h"
#include "readers/recordio_slots.h"
#include "tools/amounts.h"
#include "tools/command.h"
#include "tools/contact_sheet.h"
#include "tools/digest.h"
#include "tools/histogram.h"
#include "tools/json_line.h"
#include "tools/picture.h"
#include "tools/shared_flags.h"
#include "tools/shares.h"
#include "tools/standard_streams.h"
#include "tools/status_line.h"

DEFINE_string(startup, "", "the startup program that creates the reader");
DEFINE_string(field, "",
              "for files of a format with fields: \"name dtype[dims] option=value ...\", may be "
              "repeated; by default fields that fit the first records");
DEFINE_string(reader, "",
              "the variable of the reader to look at; by default the one that is created last");
DEFINE_int64(count, -1,
             "how many elements to look at; by default 3, or all of a pass with --all, --json and "
             "--digest, or as many as give 100 images with --png");
DEFINE_bool(all, false, "print statistics over the elements instead of the elements");
DEFINE_bool(digest, false,
            "print index and SHA-256 of each element, then 'stream', the SHA-256 of all these, and "
            "their number");
DEFINE_bool(
    stats, false,
    "at the end, print on standard error what every reader of the chain has done (elements, "
    "bytes, seconds) and what it holds");
DEFINE_string(png, "",
              "a file for a contact sheet of the slots that look like images or, with --all, for "
              "histograms of the values. An existing file is replaced only with --force; pipes and "
              "devices are possible");
DEFINE_int32(passes, 1,
             "with --png: how many passes to draw. By default the first element of each, which "
             "shows what random operators make of one image");
DEFINE_string(state, "",
              "print the saved position of a chain of readers in this file as JSON: where each "
              "reader stands, and what is in flight");

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

constexpr int64_t kShownElements = 3;
constexpr int64_t kShownValues = 12;
constexpr size_t kSheetImages = 100;

CommandHelp Help() {
  CommandHelp help;
  help.name = "peek";
  help.programs = {"startup"};
  help.usage =
      "peek FILE... [flags]\n"
      "peek --startup=FILE [--reader=NAME] [flags]\n"
      "peek --state=FILE\n";
  help.text =
      "Shows what files hold, or what a reader of a startup program yields: slots, types, dims,\n"
      "levels of detail, ranges and first values of some elements; or statistics over all of\n"
      "one pass. For files of a format that needs fields or slots it prints some that fit, ready\n"
      "to be pasted into a program. A file named -, or FORMAT:-, is standard input; what comes "
      "from a\n"
      "pipe is first copied into a file in $TMPDIR.\n"
      "\n"
      "With --json it prints one line for each element: {\"slots\": [...]} with dtype, dims, lod\n"
      "and data of each; with --digest, index and SHA-256; with --all, one line of statistics.\n";
  help.groups = {
      {"What to look at", {"field", "startup", "reader", "state", "count", "set", "plugin"}},
      {"How to show it", {"all", "json", "digest", "png", "passes", "force", "stats"}},
      {"Running", {"threads", "seed", "memory_limit", "timeout"}},
  };
  help.repeatable = {"field", "set", "plugin"};
  help.examples =
      "  peek train.csv\n"
      "  peek 'train-*.tfrecord' --field='label int64[]' --all\n"
      "  zcat train.csv.gz | peek csv:-\n"
      "  peek --startup=startup.pbtxt\n"
      "  peek --startup=startup.pbtxt --reader=files --all\n"
      "  peek --startup=startup.pbtxt --digest --threads=7\n"
      "  peek --state=saved.position\n";
  return help;
}

// The entries as a list that can be pasted into a program ("strings: [...]") and into Python.
void PrintFields(const Strings& fields) {
  // Where standard output is for other programs, people read standard error.
  const bool for_people = !FLAGS_digest && !FLAGS_json && FLAGS_png.empty();
  std::ostream& out = for_people ? std::cout : std::cerr;
  out << "fields that fit the first records:\n";
  for (size_t i = 0; i < fields.size(); ++i) {
    const char quote = fields[i].find('"') == std::string::npos ? '"' : '\'';
    out << (i == 0 ? "  [" : "   ") << quote << Escaped(fields[i]) << quote
        << (i + 1 == fields.size() ? "]\n" : ",\n");
  }
}

// The slots as lines to be pasted: into a program, and into Python.
void PrintSlots(const std::vector<SlotSpec>& slots, const proto::VarDesc& variable) {
  const bool for_people = !FLAGS_digest && !FLAGS_json && FLAGS_png.empty();
  std::ostream& out = for_people ? std::cout : std::cerr;
  const std::string program = variable.type().ShortDebugString();
  out << "slots that fit the first records, for recordio write:\n  --slots='" << SlotsText(slots)
      << "'\nfor a program:\n  type { " << program << "}\nfor Python:\n  slots={";
  for (size_t i = 0; i < slots.size(); ++i) {
    out << (i == 0 ? "" : ", ") << "\"slot" << i << "\": (\"" << ToString(slots[i].dtype) << "\", "
        << ToString(slots[i].dims);
    if (slots[i].lod_level > 0) out << ", " << slots[i].lod_level;
    out << ")";
  }
  out << "}\n";
}

// Declares the slots of a reader's variable.
void Declare(const std::vector<SlotSpec>& slots, proto::VarDesc* variable) {
  for (const SlotSpec& slot : slots) {
    auto* const tensor = variable->mutable_type()->mutable_reader()->add_lod_tensor();
    tensor->mutable_tensor()->set_data_type(
        static_cast<proto::VarType::Type>(static_cast<int>(slot.dtype)));
    for (const int64_t dim : slot.dims) tensor->mutable_tensor()->add_dims(dim);
    if (slot.lod_level > 0) tensor->set_lod_level(slot.lod_level);
  }
}

// A program that reads the files. Where their format takes fields and none are given, it has those
// that fit the first file, and they are printed.
std::shared_ptr<const Program> ProgramForFiles(const Strings& names, const Strings& given_fields) {
  Strings given;
  for (const std::string& name : names) given.push_back(DataName(name));
  const Strings files = ExpandFileNames(given);
  const FormatChoice choice = ChooseFormat(files.front());
  const FormatSchema& format =
      choice.schema != nullptr ? *choice.schema : FormatByContent(choice.path);
  const auto has_attribute = [&](const char* name) {
    return std::any_of(format.attributes.begin(), format.attributes.end(),
                       [&](const AttributeSchema& schema) { return schema.name == name; });
  };
  Require(given_fields.empty() || has_attribute("fields"), "--field: the format ", format.tag,
          " takes no fields");
  Strings fields = given_fields;
  if (fields.empty() && format.guess_fields != nullptr) {
    fields = format.guess_fields(SplitFormatPrefix(files.front()).path, format.WithDefaults({}));
    if (!fields.empty()) PrintFields(fields);
  }
  proto::ProgramDesc program;
  proto::BlockDesc* const block = program.add_blocks();
  block->set_idx(0);
  block->set_parent_idx(-1);
  proto::VarDesc* const variable = block->add_vars();
  variable->set_name("files");
  variable->set_persistable(true);
  variable->mutable_type()->set_type(proto::VarType::READER);
  proto::OpDesc* const open = block->add_ops();
  open->set_type("open_files");
  proto::OpDesc::Var* const output = open->add_outputs();
  output->set_parameter("Out");
  output->add_arguments(variable->name());
  const auto add_attribute = [open](const std::string& name, const Strings& values) {
    proto::OpDesc::Attr* const attribute = open->add_attrs();
    attribute->set_name(name);
    attribute->set_type(proto::STRINGS);
    for (const std::string& value : values) attribute->add_strings(value);
  };
  Strings with_format;
  for (const std::string& file : files) {
    with_format.push_back(StrCat(format.tag, ":", SplitFormatPrefix(file).path));
  }
  add_attribute("file_names", with_format);
  if (!fields.empty()) add_attribute("fields", fields);
  std::optional<std::vector<SlotSpec>> slots;
  if (format.tag == "recordio") {
    slots = SlotsOfFirstRecords(SplitFormatPrefix(files.front()).path);
  }
  if (slots) {
    Declare(*slots, variable);
    PrintSlots(*slots, *variable);
  } else if (has_attribute("content")) {  // no declaration fits records of tensors
    proto::OpDesc::Attr* const attribute = open->add_attrs();
    attribute->set_name("content");
    attribute->set_type(proto::STRING);
    attribute->set_s("bytes");
  }
  return Program::FromString(program.SerializeAsString(), "peek");
}

// The names of the readers that the program creates, in the order of creation.
std::vector<std::string> CreatedReaders(const Program& program) {
  std::vector<std::string> names;
  for (const proto::OpDesc& op : program.desc().blocks(0).ops()) {
    if (!FindOperator(op.type())->schema.creates_reader) continue;
    for (const proto::OpDesc::Var& output : op.outputs()) {
      names.insert(names.end(), output.arguments().begin(), output.arguments().end());
    }
  }
  return names;
}

std::string ReaderName(const Program& program) {
  const std::vector<std::string> names = CreatedReaders(program);
  Require(!names.empty(), program.name(), ": this program creates no reader");
  if (FLAGS_reader.empty()) return names.back();
  Require(std::count(names.begin(), names.end(), FLAGS_reader) > 0, "--reader=", FLAGS_reader, ": ",
          program.name(), " creates no reader of this name", DidYouMean(FLAGS_reader, names));
  return FLAGS_reader;
}

// Calls visit(index, element) for the first elements of a pass: as many as --count says or, without
// it, `standard`; a negative number means all. Stops early when visit returns false. Returns how
// many elements were visited. A terminal shows how far the pass is.
int64_t VisitElements(ReaderHolder* reader, int64_t standard,
                      const std::function<bool(int64_t, const std::vector<LoDTensor>&)>& visit) {
  const int64_t count = FLAGS_count >= 0 ? FLAGS_count : standard;
  std::vector<LoDTensor> element;
  std::atomic<int64_t> i{0};
  std::optional<StatusLine> status;
  if (StatusLine::IsShown() && isatty(STDOUT_FILENO) == 0) {
    const int64_t length = static_cast<int64_t>(reader->PassLength().value_or(0));
    const auto total = static_cast<double>(count < 0 ? length : std::min(count, length));
    status.emplace([&i, total, started = std::chrono::steady_clock::now()] {
      const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;
      const auto done = static_cast<double>(i.load());
      const std::string progress = ProgressText(done, total, seconds.count());
      return StrCat(Counted(static_cast<uint64_t>(i.load()), "element"),
                    progress.empty() ? "" : ", ", progress);
    });
  }
  for (bool more = true; more && i.load() != count && reader->HasNext(); ++i) {
    reader->ReadNext(&element);
    more = visit(i.load(), element);
  }
  return i.load();
}

void PrintDigests(ReaderHolder* reader) {
  Sha256 stream;
  const int64_t count = VisitElements(reader, -1, [&](int64_t i, const auto& element) {
    const Digest digest = DigestOf(element);
    stream.Add(digest.data(), digest.size());
    if (FLAGS_json) {
      PrintJsonLine({{"element", i}, {"sha256", ToHex(digest)}});
    } else {
      std::cout << i << " " << ToHex(digest) << "\n";
    }
    return true;
  });
  if (FLAGS_json) {
    PrintJsonLine({{"elements", count}, {"stream_sha256", ToHex(stream.Value())}});
  } else {
    std::cout << "stream " << ToHex(stream.Value()) << " " << count << "\n";
  }
}

void PrintJson(ReaderHolder* reader) {
  VisitElements(reader, -1, [](int64_t, const auto& element) {
    std::cout << ToJson(element) << "\n";
    return true;
  });
}

// Writes a picture to the file of --png and says what it shows.
void WritePicture(const std::string& png, const std::string& what, int64_t elements,
                  OutputFile* file) {
  file->Write(png);
  file->Publish();
  (file->is_standard_output() ? std::cerr : std::cout)
      << Escaped(FLAGS_png) << ": " << what << " of " << WithCommas(static_cast<uint64_t>(elements))
      << (elements == 1 ? " element\n" : " elements\n");
}

void WriteSheet(ReaderHolder* reader) {
  OutputFile file(OutputName(FLAGS_png), RulesOfFlags());
  ContactSheet sheet;
  int64_t count = 0;
  for (int pass = 0; pass < FLAGS_passes; ++pass) {
    if (pass > 0) reader->ReInit();
    const int64_t standard = FLAGS_passes > 1 ? 1 : -1;
    count += VisitElements(reader, standard, [&sheet](int64_t, const auto& element) {
      const size_t before = sheet.image_count();
      sheet.Add(element, kSheetImages);
      // Without --count, stops when the sheet is full or an element has added no image.
      return FLAGS_count >= 0 ||
             (sheet.image_count() > before && sheet.image_count() < kSheetImages);
    });
  }
  WritePicture(sheet.ToPng(), "images", count, &file);
}

// Statistics of values, which may be nan or infinite.
struct Statistics {
  uint64_t count = 0, not_finite = 0;
  double lowest = std::numeric_limits<double>::infinity();
  double highest = -std::numeric_limits<double>::infinity();
  double mean = 0, squares = 0;  // of the finite ones; squares is the sum of squared deviations

  void Add(double value) {
    ++count;
    if (!std::isfinite(value)) {
      ++not_finite;
      return;
    }
    lowest = std::min(lowest, value);
    highest = std::max(highest, value);
    // Welford's method, which loses no precision with many values.
    const double finite = static_cast<double>(count - not_finite);
    const double delta = value - mean;
    mean += delta / finite;
    squares += delta * (value - mean);
  }

  std::string Range() const {
    std::string text = count == not_finite ? "no finite value" : StrCat(lowest, " to ", highest);
    if (not_finite > 0) text += StrCat(", ", WithCommas(not_finite), " nan or infinite");
    return text;
  }
  double deviation() const {
    const uint64_t finite = count - not_finite;
    return finite == 0 ? 0 : std::sqrt(squares / static_cast<double>(finite));
  }
};

void PrintElement(int64_t index, const std::vector<LoDTensor>& element) {
  std::cout << "element " << index << "\n";
  for (size_t slot = 0; slot < element.size(); ++slot) {
    const LoDTensor tensor = element[slot].OnHost();
    std::cout << "  slot " << slot << ": " << Describe(tensor);
    if (!tensor.lod().empty()) std::cout << ", lod " << ToString(tensor.lod());
    Statistics statistics;
    for (int64_t i = 0; i < tensor.numel(); ++i) statistics.Add(ValueAt(tensor, i));
    if (tensor.numel() > 1) std::cout << ", " << statistics.Range();
    std::cout << "\n   ";
    for (int64_t i = 0; i < std::min(tensor.numel(), kShownValues); ++i) {
      std::cout << " " << ValueText(tensor, i);
    }
    if (tensor.numel() > kShownValues) {
      std::cout << " ... " << WithCommas(static_cast<uint64_t>(tensor.numel())) << " values";
    }
    std::cout << "\n";
  }
}

void PrintElements(ReaderHolder* reader) {
  const int64_t count = VisitElements(reader, kShownElements, [](int64_t i, const auto& element) {
    PrintElement(i, element);
    return true;
  });
  const bool more = reader->HasNext();
  std::cout << (more ? "and more elements\n" : count == 0 ? "no element\n" : "no more elements\n");
}

// Statistics of one slot over many elements.
struct SlotStatistics {
  std::set<std::string> kinds;          // dtype and dims
  Statistics values, steps, sequences;  // sequences: of the outermost level of detail
  Histogram value_histogram, sequence_histogram;
};

constexpr size_t kShownKinds = 4;

// How full packed rows are.
struct PackFill {
  Statistics steps;  // filled, by row
  Histogram histogram;
  uint64_t rows = 0, filled = 0, all = 0;

  // Takes the numbers of documents of some rows, of which 0 is padding.
  void Add(const LoDTensor& ids) {
    const int64_t length = ids.dims().empty() ? 0 : ids.dims()[ids.dims().size() - 1];
    for (int64_t row = 0; length > 0 && row < ids.numel() / length; ++row) {
      uint64_t used = 0;
      for (int64_t i = 0; i < length; ++i) used += ValueAt(ids, row * length + i) != 0 ? 1 : 0;
      ++rows;
      filled += used;
      all += static_cast<uint64_t>(length);
      steps.Add(static_cast<double>(used));
      histogram.Add(static_cast<double>(used));
    }
  }
  double padding() const { return 1 - static_cast<double>(filled) / static_cast<double>(all); }
};

// Whether the elements are packed rows: of create_pack_reader, or of readers on it that leave its
// slots as they are.
bool ArePacked(const ChainStats& chain) {
  if (chain.kind == "create_pack_reader") return true;
  for (const char* const kind :
       {"create_batch_reader", "create_cache_reader", "create_double_buffer_reader",
        "create_multi_pass_reader", "create_shard_reader", "create_shuffle_reader",
        "create_skip_reader", "create_take_reader"}) {
    if (chain.kind == kind && chain.below.size() == 1) return ArePacked(chain.below[0]);
  }
  return false;
}

// A mix of readers, by the names of their variables, and how many elements of each were loaded.
struct MixShares {
  std::string name;
  Shares shares;
};

void AddMixes(const ChainStats& chain, std::vector<MixShares>* mixes) {
  if (chain.kind == "create_mix_reader") {
    mixes->push_back({chain.name, {}});
    for (const ChainStats& below : chain.below) {
      mixes->back().shares.Add(StrCat("'", Escaped(below.name), "'"), below.elements);
    }
  }
  for (const ChainStats& below : chain.below) AddMixes(below, mixes);
}

// What is known of all elements together.
struct AllStatistics {
  std::vector<SlotStatistics> slots;
  PackFill packs;
  std::vector<MixShares> mixes;
};

// Adds up the elements; returns their number.
int64_t AddUp(ReaderHolder* reader, AllStatistics* all) {
  std::vector<SlotStatistics>& slots = all->slots;
  const bool packed = ArePacked(reader->Chain());
  const int64_t count = VisitElements(reader, -1, [&](int64_t, const auto& element) {
    slots.resize(std::max(slots.size(), element.size()));
    for (size_t slot = 0; slot < element.size(); ++slot) {
      const LoDTensor tensor = element[slot].OnHost();
      SlotStatistics& statistics = slots[slot];
      if (statistics.kinds.size() <= kShownKinds) statistics.kinds.insert(Describe(tensor));
      if (!tensor.dims().empty()) statistics.steps.Add(static_cast<double>(tensor.dims()[0]));
      if (!tensor.lod().empty()) {
        const LodLevel& level = tensor.lod().front();
        for (size_t i = 1; i < level.size(); ++i) {
          const auto length = static_cast<double>(level[i] - level[i - 1]);
          statistics.sequences.Add(length);
          statistics.sequence_histogram.Add(length);
        }
      }
      for (int64_t i = 0; i < tensor.numel(); ++i) {
        const double value = ValueAt(tensor, i);
        statistics.values.Add(value);
        statistics.value_histogram.Add(value);
      }
    }
    // The last two slots say of which document a step is, and which of its steps.
    if (packed && element.size() > 2) all->packs.Add(element[element.size() - 2].OnHost());
    return true;
  });
  AddMixes(reader->Chain(), &all->mixes);
  return count;
}

void WriteHistograms(ReaderHolder* reader) {
  constexpr size_t kGap = 16, kWidth = 512, kHeight = 160;
  OutputFile file(OutputName(FLAGS_png), RulesOfFlags());
  AllStatistics all;
  const int64_t count = AddUp(reader, &all);
  using Drawing = std::function<void(size_t left, size_t top, Picture * picture)>;
  std::vector<Drawing> drawings;
  const auto add = [&drawings](const auto& what) {
    if (what.empty()) return;
    drawings.emplace_back([&what](size_t left, size_t top, Picture* picture) {
      what.Draw(left, top, kWidth, kHeight, picture);
    });
  };
  for (const SlotStatistics& slot : all.slots) {
    add(slot.value_histogram);
    add(slot.sequence_histogram);
  }
  Require(!drawings.empty(), "--png: this reader yields no values");
  std::string what = "histograms of the values, then the lengths, of every slot";
  add(all.packs.histogram);
  if (!all.packs.histogram.empty()) what += ", then of the filled steps of packed rows";
  for (const MixShares& mix : all.mixes) {
    add(mix.shares);
    if (!mix.shares.empty()) what += StrCat(", then the shares of mix '", Escaped(mix.name), "'");
  }
  Picture picture(kGap + kWidth + kGap, kGap + drawings.size() * (kHeight + kGap), {32, 32, 32});
  for (size_t i = 0; i < drawings.size(); ++i) {
    drawings[i](kGap, kGap + i * (kHeight + kGap), &picture);
  }
  WritePicture(picture.ToPng(), what, count, &file);
}

nlohmann::json ToJson(const Statistics& statistics) {
  const bool none = statistics.count == statistics.not_finite;
  nlohmann::json json = {{"count", statistics.count}, {"not_finite", statistics.not_finite}};
  if (none) return json;
  json["lowest"] = JsonNumber(statistics.lowest);
  json["highest"] = JsonNumber(statistics.highest);
  json["mean"] = JsonNumber(statistics.mean);
  json["deviation"] = JsonNumber(statistics.deviation());
  return json;
}

void PrintStatisticsAsJson(ReaderHolder* reader) {
  AllStatistics all;
  const int64_t count = AddUp(reader, &all);
  nlohmann::json json = {{"elements", count}, {"more", reader->HasNext()}};
  json["slots"] = nlohmann::json::array();
  for (const SlotStatistics& slot : all.slots) {
    json["slots"].push_back({{"kinds", slot.kinds},
                             {"values", ToJson(slot.values)},
                             {"length_of_axis_0", ToJson(slot.steps)},
                             {"sequences", ToJson(slot.sequences)}});
  }
  PrintJsonLine(json);
}

void PrintHistogram(const Histogram& histogram) {
  if (!histogram.empty()) std::cout << "    " << histogram.ToText() << "\n";
}

void PrintPacksAndMixes(const AllStatistics& all) {
  const PackFill& packs = all.packs;
  if (packs.rows > 0) {
    std::cout << "packed rows: " << WithCommas(packs.rows) << ", " << WithCommas(packs.filled)
              << " of " << WithCommas(packs.all) << " steps filled, padding "
              << std::lround(1000 * packs.padding()) / 10.0
              << " %\n  filled steps of a row: " << packs.steps.Range() << ", mean "
              << packs.steps.mean << "\n";
    PrintHistogram(packs.histogram);
  }
  for (const MixShares& mix : all.mixes) {
    if (mix.shares.empty()) continue;
    std::cout << "mix '" << Escaped(mix.name) << "':\n" << mix.shares.ToText("  ");
  }
}

void PrintStatistics(ReaderHolder* reader) {
  AllStatistics all;
  const int64_t count = AddUp(reader, &all);
  const std::vector<SlotStatistics>& slots = all.slots;
  std::cout << WithCommas(static_cast<uint64_t>(count)) << (count == 1 ? " element" : " elements")
            << (reader->HasNext() ? ", and more\n" : "\n");
  for (size_t slot = 0; slot < slots.size(); ++slot) {
    const SlotStatistics& statistics = slots[slot];
    std::cout << "slot " << slot << ":";
    size_t shown = 0;
    for (const std::string& kind : statistics.kinds) {
      if (shown++ == kShownKinds) break;
      std::cout << (shown == 1 ? " " : ", ") << kind;
    }
    std::cout << (statistics.kinds.size() > kShownKinds ? ", ...\n" : "\n");
    std::cout << "  values: " << WithCommas(statistics.values.count) << ", "
              << statistics.values.Range() << ", mean " << statistics.values.mean << ", deviation "
              << statistics.values.deviation() << "\n";
    PrintHistogram(statistics.value_histogram);
    if (statistics.steps.count > 0) {
      std::cout << "  length of axis 0: " << statistics.steps.Range() << ", mean "
                << statistics.steps.mean << "\n";
    }
    if (statistics.sequences.count > 0) {
      std::cout << "  sequences: " << WithCommas(statistics.sequences.count) << ", of length "
                << statistics.sequences.Range() << ", mean " << statistics.sequences.mean << "\n";
      PrintHistogram(statistics.sequence_histogram);
    }
  }
  PrintPacksAndMixes(all);
}

// The position that is saved in the file of --state, as JSON.
void PrintState() {
  const std::unique_ptr<const File> file = File::Open(FLAGS_state);
  if (file->size() > kMaxPositionBytes) {
    throw Error(ErrorCode::kResourceLimit, StrCat("the position of a chain of readers has at most ",
                                                  kMaxPositionBytes, " bytes"))
        .InFile(FLAGS_state, -1);
  }
  std::string bytes(file->size(), '\0');
  if (!bytes.empty()) file->Read(0, bytes.data(), bytes.size());
  try {
    std::cout << Position::Parse(bytes).ToJson();
  } catch (const Error& error) {
    throw error.InFile(FLAGS_state, -1);
  }
}

int RunPeek(const Arguments& arguments) {
  if (!FLAGS_state.empty()) {
    Require(arguments.words.empty() && FLAGS_startup.empty(),
            "--state shows a saved position and reads no files or programs (--help tells more)");
    PrintState();
    return 0;
  }
  Require(arguments.words.empty() != FLAGS_startup.empty(),
          arguments.words.empty() ? "nothing to look at: give a file, or --startup"
                                  : "files and --startup exclude each other",
          " (--help tells more)");
  Require(FLAGS_startup.empty() || arguments.all("field").empty(),
          "--field is for files; a program has its own fields");
  const bool png = !FLAGS_png.empty();
  Require(FLAGS_digest + (FLAGS_all || png) <= 1, "--digest excludes --all and --png");
  Require(!FLAGS_json || !png, "--json excludes --png");
  Require(FLAGS_passes == 1 || (FLAGS_passes > 1 && png && !FLAGS_all), "--passes=", FLAGS_passes,
          ": 1 or more passes can be drawn with --png, without --all");
  Require(FLAGS_count >= -1, "--count=", FLAGS_count,
          ": 0 or more are possible, and -1 for as many as fit what is shown");
  const std::shared_ptr<const Program> program =
      FLAGS_startup.empty()
          ? ProgramForFiles(arguments.words, arguments.all("field"))
          : Program::FromFile(ProgramName(FLAGS_startup), ParseSettings(arguments.all("set")));
  RunState run;
  run.seed = FLAGS_seed;
  const Executor executor(run);
  Scope scope;
  const std::unique_ptr<PreparedProgram> prepared =
      executor.Prepare(program, ProgramRole::kStartup, &scope);
  const std::string name = ReaderName(*program);
  prepared->Run();
  auto* reader = prepared->Find(name)->GetMutable<ReaderHolder>();
  if (FLAGS_digest) {
    PrintDigests(reader);
  } else if (FLAGS_json) {
    FLAGS_all ? PrintStatisticsAsJson(reader) : PrintJson(reader);
  } else if (png) {
    FLAGS_all ? WriteHistograms(reader) : WriteSheet(reader);
  } else {
    std::cout << reader->origin() << "\n";
    for (size_t i = 0; i < reader->slots().size(); ++i) {
      std::cout << "  slot " << i << " is declared "
                << (reader->slots()[i].known ? ToString(reader->slots()[i]) : "by its file")
                << "\n";
    }
    FLAGS_all ? PrintStatistics(reader) : PrintElements(reader);
  }
  if (FLAGS_stats) {
    FlushOutput();
    std::cerr << ToTable({reader->Chain()});
  }
  return 0;
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  return millhopper::RunCommand(argc, argv, millhopper::Help(), millhopper::RunPeek);
}
