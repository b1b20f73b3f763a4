// SPDX-License-Identifier: Apache-2.0
// The peek command: shows what a reader of a startup program yields.
#include <gflags/gflags.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <iostream>
#include <memory>
#include <new>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/spelling.h"
#include "framework/io/one_pass.h"
#include "framework/io/output_file.h"
#include "framework/io/status_line.h"
#include "framework/program/executor.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "operators/readers/support/slot_declaration.h"
#include "proto/framework.pb.h"
#include "tools/commands/files/files_program.h"
#include "tools/commands/help/shared_flags.h"
#include "tools/commands/peek/peek_images.h"
#include "tools/commands/peek/peek_marks.h"
#include "tools/commands/peek/peek_passes.h"
#include "tools/commands/peek/peek_slot_names.h"
#include "tools/commands/peek/peek_state.h"
#include "tools/commands/peek/peek_statistics.h"
#include "tools/commands/pictures/contact_sheet.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/command.h"
#include "tools/commands/shared/digest.h"
#include "tools/commands/shared/hosts.h"
#include "tools/commands/shared/json_line.h"
#include "tools/commands/shared/missing_slots.h"
#include "tools/commands/shared/pass_length.h"
#include "tools/commands/shared/slots_text.h"
#include "tools/commands/shared/standard_streams.h"
#include "tools/commands/shared/tensor_text.h"

DEFINE_string(startup, "", "the startup program that creates the reader");
DEFINE_string(field, "",
              "for files of a format with fields: \"name dtype[dims] option=value ...\", may be "
              "repeated; by default fields that fit the first records");
DEFINE_string(
    attribute, "",
    "for files: NAME=VALUE: an attribute of the format of the files, such as 'delimiter=;' "
    "(executor --list_formats tells them), may be repeated");
DEFINE_string(slots, "",
              "for files: the slots of an element, if their format does not tell them (fixed), as "
              "recordio write takes them: 'uint8[1,1] uint8[1,3,32,32]'");
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
DEFINE_string(
    png, "",
    "a file for a contact sheet of the slots that look like images, or hold encoded ones, such as "
    "JPEG and PNG (reduced to 256 pixels a side; damaged ones and those of more than 64 Mi "
    "pixels are passed over), with what slots of these names say is in them: boxes, points, "
    "keypoints, polygons, runs, masks, in colours by labels (see below); or, with --all, for "
    "histograms of the values. An existing file is replaced only with --force; pipes and devices "
    "are possible");
DEFINE_int32(
    passes, 1,
    "with --png: how many passes to draw, up to 100 images. By default what each makes of the "
    "first image of the first pass, which shows what random operators do; with --count the first "
    "elements of each");
DEFINE_string(
    state, "",
    "print what was saved in this file, or last in this folder of checkpoints: of the position of "
    "a chain of readers how far each lane is, and of which ranks; of a checkpoint of the executor "
    "that of all readers, the types and dims of the variables, the place in the programs and their "
    "SHA-256. With --json where each reader stands, and what is in flight");

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

constexpr int64_t kShownElements = 3;
constexpr int64_t kShownValues = 12;
constexpr size_t kSheetImages = 100;
constexpr size_t kMostWithout = 100;  // elements in a row without an image

CommandHelp Help() {
  CommandHelp help;
  help.name = "peek";
  help.programs = {"startup"};
  help.usage =
      "peek FILE... [flags]\n"
      "peek --startup=FILE [--reader=NAME] [flags]\n"
      "peek --state=FILE|FOLDER [--json]\n";
  help.text =
      "Shows what files hold, or what a reader of a startup program yields: slots with the names\n"
      "that the files or the program tell, types, dims, levels of detail, ranges and first values\n"
      "of some elements; or statistics over all of one pass. Of files it says the format and how\n"
      "they are compressed; for those of a format that needs fields or slots it prints some that\n"
      "fit, ready to be pasted into a program. A file named -,\n"
      "or FORMAT:-, is standard input, which is read once; with --allow_exec, 'pipe:COMMAND' or\n"
      "'FORMAT:pipe:COMMAND' is what a command writes. Files may also be https://host/name and\n"
      "s3://bucket/name, with the credentials and settings of the AWS tools (AWS_PROFILE ...).\n"
      "\n"
      "With --json it prints one line for each element: {\"slots\": [...]} with name, if it has\n"
      "one, dtype, dims, lod and data of each, and text of what is text: the text, or a list of\n"
      "several; with --digest, index and SHA-256; with --all, one line of statistics.\n"
      "\n"
      "With --png, images have over them what slots of these names say is in them:\n"
      "  boxes, bbox, bboxes   outlines of [.., 4]: in the notation that files and programs tell\n"
      "                        (box_format), or else left, top, right and bottom; boxes_xywh,\n"
      "                        bbox_cxcywh and the like say it themselves\n"
      "  points, keypoints     crosses at [.., 2], or [.., 3] with 0 last for those not labelled\n"
      "  polygons, runs        shades of these, as the format coco has them\n"
      "  mask, masks           shades of integers or bool [.., H, W] or [.., H, W, 1]: of each\n"
      "                        object, or one of classes\n"
      "Objects with the same number in labels, or label, have the same one of 8 colours. Encoded\n"
      "images with such slots are drawn as they are stored; others are turned as EXIF asks.\n";
  help.groups = {
      {"What to look at",
       {"field", "attribute", "slots", "startup", "reader", "state", "count", "set", "plugin",
        "allow_exec", "allow_local_entries"}},
      {"How to show it", {"all", "json", "digest", "png", "passes", "force", "stats"}},
      {"Running", {"threads", "seed", "index", "memory_limit", "timeout"}},
      {"Servers",
       {"cache_dir", "cache_bytes", "requests", "connect_timeout", "silence_timeout",
        "request_timeout"}},
  };
  help.repeatable = {"field", "attribute", "set", "plugin"};
  help.examples =
      "  peek train.csv\n"
      "  peek 'train-*.tfrecord' --field='label int64[]' --all\n"
      "  peek --attribute='delimiter=;' prices.csv\n"
      "  zcat train.csv.gz | peek csv:-\n"
      "  peek --slots='uint8[1,1] uint8[1,3,32,32]' fixed:data_batch_1.bin\n"
      "  peek --allow_exec 'tar:pipe:ssh store cat train.tar'\n"
      "  peek --startup=startup.pbtxt\n"
      "  peek --startup=startup.pbtxt --reader=files --all\n"
      "  peek --startup=startup.pbtxt --digest --threads=7\n"
      "  peek --state=saved.position\n"
      "  peek --state=saved\n";
  return help;
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
    const auto length = static_cast<int64_t>(LengthIfTold(*reader).value_or(0));
    const int64_t total = count < 0 ? length : std::min(count, length);
    status.emplace([&i, progress = Progress(static_cast<double>(total))] {
      const int64_t done = i.load();
      return progress.Line(static_cast<double>(done),
                           Counted(static_cast<uint64_t>(done), "element"));
    });
  }
  try {
    for (bool more = true; more && i.load() != count && reader->HasNext(); ++i) {
      reader->ReadNext(&element);
      more = visit(i.load(), element);
    }
  } catch (const std::bad_alloc&) {
    NoteOutOfMemory("while showing what is read from ", reader->origin());
    throw;
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

void PrintJson(ReaderHolder* reader, const Strings& slot_names) {
  VisitElements(reader, -1, [&](int64_t, const auto& element) {
    std::cout << ToJson(element, slot_names) << "\n";
    return true;
  });
}

// Writes a picture to the file of --png and says what it shows.
void WritePicture(const std::string& png, const std::string& what, OutputFile* file) {
  file->Write(png);
  file->Publish();
  (file->is_standard_output() ? std::cerr : std::cout)
      << Escaped(FLAGS_png) << ": " << what << "\n";
}

std::string OfElements(int64_t count) {
  return StrCat(" of ", WithCommas(static_cast<uint64_t>(count)),
                count == 1 ? " element" : " elements");
}

// Adds the first elements of each pass; returns how many.
int64_t AddElements(ReaderHolder* reader, const MarkSlots& marks, ContactSheet* sheet) {
  int64_t count = 0;
  for (int pass = 0; pass < FLAGS_passes; ++pass) {
    if (pass > 0) reader->ReInit();
    const int64_t standard = FLAGS_passes > 1 ? 1 : -1;
    size_t without = 0;  // elements in a row that have added no image
    count += VisitElements(reader, standard, [&](int64_t, const auto& element) {
      const size_t before = sheet->image_count();
      AddImages(element, marks, kSheetImages, sheet);
      without = sheet->image_count() > before ? 0 : without + 1;
      // Without --count, stops when the sheet is full or many elements have added no image.
      return FLAGS_count >= 0 || (without < kMostWithout && sheet->image_count() < kSheetImages);
    });
  }
  return count;
}

// Adds the first image of the first element as each pass makes it; returns false, having added
// nothing, if that cannot be found in every pass. `same` is another reader like the one held.
bool AddPasses(ReaderBase* same, const ReaderHolder& reader, const MarkSlots& marks, int passes,
               ContactSheet* sheet) {
  try {
    size_t images = 0;
    VisitPasses(same, reader.NewHandle().get(), passes,
                [&](const auto& element) { AddImages(element, marks, ++images, sheet); });
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument || sheet->image_count() > 0) throw;
    return false;
  }
}

// `open_again` makes another reader like the one held.
void WriteSheet(ReaderHolder* reader, const MarkSlots& marks,
                const std::function<std::unique_ptr<ReaderBase>()>& open_again) {
  OutputFile file(OutputName(FLAGS_png), RulesOfFlags());
  ContactSheet sheet;
  const bool one_element = FLAGS_passes > 1 && FLAGS_count < 0;
  const int passes = std::min(FLAGS_passes, static_cast<int>(kSheetImages));
  if (one_element && AddPasses(open_again().get(), *reader, marks, passes, &sheet)) {
    const std::string what = StrCat("an image as ", passes, " passes make it");
    return WritePicture(sheet.ToPng(), what, &file);
  }
  const int64_t count = AddElements(reader, marks, &sheet);
  WritePicture(sheet.ToPng(), "images" + OfElements(count), &file);
}

void PrintElement(int64_t index, const std::vector<LoDTensor>& element, const Strings& slot_names) {
  std::cout << "element " << index << "\n";
  for (size_t slot = 0; slot < element.size(); ++slot) {
    const LoDTensor tensor = element[slot].OnHost();
    std::cout << "  " << SlotTitle(slot, slot_names) << ": " << Describe(tensor);
    if (!tensor.lod().empty()) std::cout << ", lod " << ToString(tensor.lod());
    Statistics statistics;
    for (int64_t i = 0; i < tensor.numel(); ++i) statistics.Add(ValueAt(tensor, i));
    if (tensor.numel() > 1 && !IsText(tensor)) std::cout << ", " << statistics.Range();
    std::cout << "\n   " << ValuesText(tensor, kShownValues);
    if (tensor.numel() > kShownValues && !IsText(tensor)) {
      std::cout << " ... " << WithCommas(static_cast<uint64_t>(tensor.numel())) << " values";
    }
    std::cout << "\n";
  }
}

void PrintElements(ReaderHolder* reader, const Strings& slot_names) {
  const int64_t count = VisitElements(reader, kShownElements, [&](int64_t i, const auto& element) {
    PrintElement(i, element, slot_names);
    return true;
  });
  const bool more = reader->HasNext();
  std::cout << (more ? "and more elements\n" : count == 0 ? "no element\n" : "no more elements\n");
}

// Adds up all elements of the pass, or as many as --count says; returns their number.
int64_t AddUp(ReaderHolder* reader, PassStatistics* statistics) {
  const int64_t count = VisitElements(reader, -1, [&](int64_t, const auto& element) {
    statistics->Add(element);
    return true;
  });
  statistics->AddMixes(reader->Chain());
  return count;
}

void WriteHistograms(ReaderHolder* reader) {
  OutputFile file(OutputName(FLAGS_png), RulesOfFlags());
  PassStatistics statistics(reader->Chain());
  const int64_t count = AddUp(reader, &statistics);
  std::string what;
  const std::string png = statistics.ToPng(&what);
  WritePicture(png, what + OfElements(count), &file);
}

void PrintStatisticsAsJson(ReaderHolder* reader) {
  PassStatistics statistics(reader->Chain());
  const int64_t count = AddUp(reader, &statistics);
  PrintJsonLine(
      {{"elements", count}, {"more", reader->HasNext()}, {"slots", statistics.SlotsToJson()}});
}

void PrintStatistics(ReaderHolder* reader, const Strings& slot_names) {
  PassStatistics statistics(reader->Chain());
  const int64_t count = AddUp(reader, &statistics);
  std::cout << WithCommas(static_cast<uint64_t>(count)) << (count == 1 ? " element" : " elements")
            << (reader->HasNext() ? ", and more\n" : "\n") << statistics.ToText(slot_names);
}

int RunPeek(const Arguments& arguments) {
  if (!FLAGS_state.empty()) {
    Require(
        arguments.words.empty() && FLAGS_startup.empty(),
        "--state shows what was saved and reads no other files or programs (--help tells more)");
    PrintState(StateName(FLAGS_state), FLAGS_json);
    return 0;
  }
  Require(arguments.words.empty() != FLAGS_startup.empty(),
          arguments.words.empty() ? "nothing to look at: give a file, or --startup"
                                  : "files and --startup exclude each other",
          " (--help tells more)");
  Require(FLAGS_startup.empty() || (arguments.all("field").empty() && FLAGS_slots.empty() &&
                                    arguments.all("attribute").empty()),
          "--field, --slots and --attribute are for files; a program has its own");
  const bool png = !FLAGS_png.empty();
  Require(FLAGS_digest + (FLAGS_all || png) <= 1, "--digest excludes --all and --png");
  Require(!FLAGS_json || !png, "--json excludes --png");
  Require(FLAGS_passes == 1 || (FLAGS_passes > 1 && png && !FLAGS_all), "--passes=", FLAGS_passes,
          ": 1 or more passes can be drawn with --png, without --all");
  Require(FLAGS_count >= -1, "--count=", FLAGS_count,
          ": 0 or more are possible, and -1 for as many as fit what is shown");
  // Where standard output is for other programs, people read standard error.
  std::ostream& hints = FLAGS_digest || FLAGS_json || png ? std::cerr : std::cout;
  OnePassLook look;
  FilesProgram peeked =
      FLAGS_startup.empty()
          ? ProgramForFiles(arguments.words, arguments.all("field"), SlotsOfFlag(FLAGS_slots),
                            arguments.all("attribute"), look.files(), &hints, "peek")
          : FilesProgram{
                Program::FromFile(ProgramName(FLAGS_startup), ParseSettings(arguments.all("set"))),
                {},
                "",
                "",
                ""};
  hints << peeked.hint;
  const std::shared_ptr<const Program>& program = peeked.program;
  RunState run;
  run.seed = FLAGS_seed;
  std::optional<DeclaredAs> declared_as;
  if (FLAGS_startup.empty()) declared_as.emplace(&FlagDeclaration);
  const Executor executor(run);
  Scope scope;
  const std::unique_ptr<PreparedProgram> prepared =
      executor.Prepare(program, ProgramRole::kStartup, &scope);
  for (const Problem& warning : program->Warnings()) {
    std::cerr << "warning: " << warning.text << "\n";
  }
  const std::string name = ReaderName(*program);
  const auto open_again = [&] {
    Scope other;
    const auto again = executor.Prepare(program, ProgramRole::kStartup, &other);
    again->Run();
    return again->Find(name)->GetMutable<ReaderHolder>()->NewHandle();
  };
  try {
    prepared->Run();
  } catch (const Error& error) {
    if (arguments.words.empty()) throw;
    throw InWordsOfFlags(error, arguments.words.front());
  }
  auto* reader = prepared->Find(name)->GetMutable<ReaderHolder>();
  if (!FLAGS_startup.empty() && !FLAGS_digest) {
    peeked.slot_names = SlotNamesOf(*program, name, reader->slots());
  }
  if (FLAGS_digest) {
    PrintDigests(reader);
  } else if (FLAGS_json) {
    FLAGS_all ? PrintStatisticsAsJson(reader) : PrintJson(reader, peeked.slot_names);
  } else if (png) {
    const MarkSlots marks(peeked.slot_names, BoxNotationOf(*program));
    FLAGS_all ? WriteHistograms(reader) : WriteSheet(reader, marks, open_again);
  } else {
    if (!peeked.first_file.empty()) std::cout << peeked.first_file << "\n";
    std::cout << reader->origin() << "\n";
    for (size_t i = 0; i < reader->slots().size(); ++i) {
      std::cout << "  " << SlotTitle(i, peeked.slot_names) << " is declared "
                << (reader->slots()[i].known ? ToString(reader->slots()[i]) : "by its file")
                << "\n";
    }
    FLAGS_all ? PrintStatistics(reader, peeked.slot_names)
              : PrintElements(reader, peeked.slot_names);
  }
  if (FLAGS_stats) {
    FlushOutput();
    std::cerr << ToTable({reader->Chain()}) << ServersTable();
  }
  return 0;
}

}  // namespace
}  // namespace millhopper

int main(int argc, char** argv) {
  return millhopper::RunCommand(argc, argv, millhopper::Help(), millhopper::RunPeek);
}
