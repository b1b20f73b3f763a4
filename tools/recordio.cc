// SPDX-License-Identifier: Apache-2.0
// The recordio command: writes RecordIO files from files of any format, and looks into them.
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iomanip>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <regex>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/attribute.h"
#include "framework/error.h"
#include "framework/file_format.h"
#include "framework/file_reader.h"
#include "framework/limits.h"
#include "framework/stop.h"
#include "framework/tensor_stream.h"
#include "framework/thread_pool.h"
#include "readers/file_list.h"
#include "readers/recordio_file.h"
#include "readers/recordio_manifest.h"
#include "readers/recordio_writer.h"
#include "tools/command.h"
#include "tools/digest.h"

DEFINE_string(output, "",
              "write: the file to write; with several --shards, OUTPUT-00000.recordio and so on");
DEFINE_int32(shards, 1,
             "write: how many files. Record i goes to file i modulo N, so that open_files, which "
             "takes one record from each of its files in turn, gives back the order of the input "
             "(for up to its cycle_length of files, 16 unless set)");
DEFINE_string(compressor, "none", "write: none, snappy or gzip");
DEFINE_string(dialect, "fluid",
              "write: whose files these are: fluid (C++), go (the Go and Python package) or crc32c "
              "(pyrecordio). All are recognised when they are read");
DEFINE_string(chunk_bytes, "1MiB",
              "write: a chunk is closed before it would have more bytes than this, uncompressed; "
              "such as 65536, 64MB or 1MiB. It is what one thread reads at once");
DEFINE_string(content, "tensors",
              "write: what a record holds. tensors: the slots of the input as serialised tensors, "
              "so that reading the output gives the elements of the input; bytes: the values of "
              "the slots one behind another and nothing else");
DEFINE_string(
    label_filename, "",
    "write: files with the labels of idx images, one for each input, separated by commas");
DEFINE_string(slots, "",
              "write: what an element of the inputs has, where their format does not know it, such "
              "as 'uint8[1,28,28] int64[1,1]'; -1 is any, and :1 behind a slot is one level of "
              "detail: 'uint8[-1]:1'. fixed needs it");
DEFINE_int64(count, 3, "head: how many records of each file");
DEFINE_int64(bytes, 64, "head: how many bytes of each record");

namespace millrace {
namespace {

constexpr int kMaxShards = 10000;
constexpr char kExtension[] = ".recordio";

CommandHelp Help() {
  CommandHelp help;
  help.usage =
      "recordio write --output=FILE INPUT... [flags]\n"
      "recordio inspect FILE...\n"
      "recordio verify FILE...\n"
      "recordio head FILE... [--count=N] [--bytes=N]\n";
  help.text =
      "Writes RecordIO files and looks into them.\n"
      "\n"
      "  write    stores the records of the inputs, one input behind another. Inputs are\n"
      "           of any format that is known: idx, text, fixed, recordio; by their\n"
      "           prefix (idx:FILE), extension or first bytes. Records of RecordIO files\n"
      "           are copied as they are, unless --slots says to check them and write\n"
      "           them anew. A file gets its name when it is complete; until then it is\n"
      "           called FILE.partial. A manifest beside the files says what they hold\n"
      "           (FILE.manifest.json; for shards OUTPUT.recordio.manifest.json): keep it\n"
      "           with them, and a file that has lost chunks is an error for its readers\n"
      "  inspect  prints a line a chunk: number, first byte, records, bytes as stored and\n"
      "           expanded, compressor, checksum; then totals\n"
      "  verify   reads everything, compares every checksum and demands that each chunk\n"
      "           holds exactly the records that its header says; exits with 3 if not.\n"
      "           It reports every damaged chunk that it can find. A file that was cut\n"
      "           off between two chunks looks whole unless it has a manifest: compare\n"
      "           the totals\n"
      "  head     prints the first records: bytes, and the tensors if they are some\n"
      "\n"
      "Names may have *, ?, [a-z], {a,b} and {00000..00127}.\n";
  help.groups = {
      {"Input of write", {"slots", "label_filename", "plugin"}},
      {"Output of write", {"output", "shards", "content", "dialect", "compressor", "chunk_bytes"}},
      {"head", {"count", "bytes"}},
      {"Running", {"threads", "timeout"}},
  };
  help.repeatable = {"plugin"};
  help.examples =
      "  recordio write --output=train --shards=4 --label_filename=train-labels-idx1-ubyte.gz \\\n"
      "      train-images-idx3-ubyte.gz\n"
      "  recordio write --output=lines.recordio --compressor=snappy text:input.txt\n"
      "  recordio write --output=points.recordio --slots='float32[1,2] int64[1,1]' fixed:points\n"
      "  recordio write --output=again.recordio --dialect=go --chunk_bytes=32MiB old.recordio\n"
      "  recordio verify 'train-*.recordio'\n";
  return help;
}

// "1 chunk", "2,345 chunks".
std::string Counted(uint64_t number, const char* what) {
  return StrCat(WithCommas(number), " ", what, number == 1 ? "" : "s");
}

// ---- write ----

DataType DataTypeFromName(const std::string& name) {
  std::vector<std::string> known;
  for (int number = 0; number < 64; ++number) {
    if (!IsDataType(number)) continue;
    const auto type = static_cast<DataType>(number);
    if (name == ToString(type)) return type;
    known.emplace_back(ToString(type));
  }
  Throw(ErrorCode::kInvalidArgument, "--slots: no type '", name, "'", DidYouMean(name, known));
}

std::vector<SlotSpec> ParseSlots(const std::string& text) {
  static const std::regex slot_pattern(
      R"([\s,;]*([a-z0-9]+)\[(-?\d{1,18}(?:\s*,\s*-?\d{1,18})*)\](?::(\d{1,2}))?[\s,;]*)");
  static const std::regex dim_pattern(R"(-?\d+)");
  std::vector<SlotSpec> slots;
  size_t parsed = 0;
  for (std::sregex_iterator slot(text.begin(), text.end(), slot_pattern,
                                 std::regex_constants::match_continuous);
       slot != std::sregex_iterator(); ++slot) {
    const std::string dims = (*slot)[2];
    SlotSpec spec;
    spec.dtype = DataTypeFromName((*slot)[1]);
    for (std::sregex_iterator dim(dims.begin(), dims.end(), dim_pattern);
         dim != std::sregex_iterator(); ++dim) {
      spec.dims.push_back(std::stoll(dim->str()));
    }
    if ((*slot)[3].matched) spec.lod_level = std::stoi((*slot)[3]);
    slots.push_back(spec);
    parsed = static_cast<size_t>(slot->position() + slot->length());
  }
  Require(parsed == text.size(), "--slots: '", text.substr(parsed),
          "' is no slot; one looks like float32[1,784] or, with a level of detail, uint8[-1]:1");
  if (!slots.empty()) CheckSlots(slots);
  return slots;
}

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
  Input(const std::string& name, const std::string& labels, const std::vector<SlotSpec>& slots) {
    const FormatChoice choice = ChooseFormat(name);
    const FormatSchema* schema = choice.schema;
    if (schema == nullptr && slots.empty() && IsRecordIO(choice.path)) {
      schema = FindFileFormat("recordio");
    }
    FormatArguments arguments;
    arguments.declared = slots;
    arguments.has_companions = !labels.empty();
    verbatim_ = schema != nullptr && schema->tag == "recordio" && slots.empty();
    if (schema != nullptr) {
      for (const AttributeSchema& attribute : schema->attributes) {
        arguments.attributes.Set(attribute.name, attribute.default_value);
      }
    }
    if (verbatim_) arguments.attributes.Set("content", std::string("bytes"));
    try {
      reader_ = std::make_unique<FileReader>(
          schema == nullptr ? MakeFormatByContent(arguments) : schema->make(arguments),
          FileEntry{choice.path, labels});
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kInvalidArgument) throw;
      throw error.WithContext(StrCat("for ", Escaped(name), " (--slots declares them here)"));
    }
    reader_->set_origin(Escaped(name));
  }

  // True if the records are stored as they are.
  bool verbatim() const { return verbatim_; }
  // The next element, or null at the end; valid until the next call.
  const std::vector<LoDTensor>* Next() {
    if (!reader_->HasNext()) return nullptr;
    reader_->ReadNext(&element_);
    return &element_;
  }

 private:
  static bool IsRecordIO(const std::string& path) {
    const InputFile file(path);
    char head[kRecordIOHeaderBytes];
    const size_t size = std::min<uint64_t>(file.size(), sizeof(head));
    file.Read(0, head, size);
    return HasRecordIOMagic(head, size);
  }

  bool verbatim_ = false;
  std::unique_ptr<FileReader> reader_;
  std::vector<LoDTensor> element_;
};

// Makes records of elements, which must be alike: whoever reads them declares their slots once.
class Encoder {
 public:
  explicit Encoder(bool tensors) : tensors_(tensors) {}

  // The record of an element; valid until the next call.
  const std::string& Encode(const std::vector<LoDTensor>& element, bool verbatim) {
    CheckKind(element, verbatim);
    record_.clear();
    if (tensors_ && !verbatim) {
      const auto count = static_cast<uint32_t>(element.size());
      record_.append(reinterpret_cast<const char*>(&count), sizeof(count));
      for (const LoDTensor& tensor : element) AppendTensor(tensor, &record_);
    } else {
      for (const LoDTensor& tensor : element) {
        record_.append(static_cast<const char*>(tensor.raw_data()), tensor.bytes());
      }
    }
    return record_;
  }

 private:
  struct Kind {
    DataType dtype;
    size_t rank;
    size_t levels;
    bool operator==(const Kind& other) const {
      return dtype == other.dtype && rank == other.rank && levels == other.levels;
    }
  };

  void CheckKind(const std::vector<LoDTensor>& element, bool verbatim) {
    const bool first = kinds_.empty();
    if (first) verbatim_ = verbatim;
    Require(verbatim == verbatim_,
            "records of RecordIO files are copied as they are, so they cannot be mixed with those "
            "of other formats; --slots makes them elements");
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

std::vector<std::string> OutputNames() {
  Require(!FLAGS_output.empty(), "write: --output is missing (--help tells more)");
  Require(FLAGS_shards >= 1 && FLAGS_shards <= kMaxShards, "--shards=", FLAGS_shards, ": 1 to ",
          kMaxShards, " are possible");
  if (FLAGS_shards == 1) return {FLAGS_output};
  std::string stem = FLAGS_output;
  const size_t extension = std::strlen(kExtension);
  if (stem.size() > extension && stem.substr(stem.size() - extension) == kExtension) {
    stem.resize(stem.size() - extension);
  }
  std::vector<std::string> names;
  names.reserve(static_cast<size_t>(FLAGS_shards));
  for (int i = 0; i < FLAGS_shards; ++i) {
    char number[16];
    std::snprintf(number, sizeof(number), "-%05d", i);
    names.push_back(stem + number + kExtension);
  }
  return names;
}

int Write(const std::vector<std::string>& patterns) {
  const std::vector<std::string> outputs = OutputNames();
  RecordIOOptions options;
  options.compressor = RecordIOCompressorFromName(FLAGS_compressor);
  options.dialect = RecordIODialectFromName(FLAGS_dialect);
  options.chunk_bytes = ParseBytes("chunk_bytes", FLAGS_chunk_bytes);
  Require(FLAGS_content == "tensors" || FLAGS_content == "bytes", "--content=", FLAGS_content,
          ": it is tensors or bytes");
  const std::vector<SlotSpec> slots = ParseSlots(FLAGS_slots);
  const std::vector<std::string> names = ExpandFileNames(patterns);
  const std::vector<std::string> labels = ExpandFileNames(SplitAtCommas(FLAGS_label_filename));
  Require(labels.empty() || labels.size() == names.size(), "--label_filename names ", labels.size(),
          " files, but there are ", names.size(), " inputs");
  // All are opened before anything is written, so that a wrong name costs nothing.
  std::vector<std::unique_ptr<Input>> inputs;
  for (size_t i = 0; i < names.size(); ++i) {
    inputs.push_back(
        std::make_unique<Input>(names[i], labels.empty() ? std::string() : labels[i], slots));
  }
  const std::string manifest_path = RecordIOManifest::PathOf(outputs[0]);
  RecordIOManifest manifest = RecordIOManifest::LoadIfThere(manifest_path);
  std::vector<std::unique_ptr<RecordIOWriter>> writers;
  writers.reserve(outputs.size());
  for (const std::string& output : outputs) {
    writers.push_back(std::make_unique<RecordIOWriter>(output, options));
  }
  std::atomic<uint64_t> records{0};
  std::atomic<uint64_t> bytes{0};
  {
    const StatusLine status([&] {
      return StrCat(Counted(records.load(), "record"), ", ",
                    HumanBytes(static_cast<double>(bytes.load())));
    });
    Encoder encoder(FLAGS_content == "tensors");
    for (std::unique_ptr<Input>& input : inputs) {
      while (const std::vector<LoDTensor>* element = input->Next()) {
        const std::string& record = encoder.Encode(*element, input->verbatim());
        writers[records.load() % writers.size()]->Write(record);
        ++records;
        bytes += record.size();
        CheckStop();
      }
      input.reset();
    }
    manifest.Relist(manifest_path, outputs, [&writers](size_t i) {
      writers[i]->Close();
      return RecordIOCounts{writers[i]->bytes(), writers[i]->chunks(), writers[i]->records()};
    });
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    std::cout << Escaped(outputs[i]) << ": " << Counted(writers[i]->records(), "record") << ", "
              << Counted(writers[i]->chunks(), "chunk") << ", "
              << Counted(writers[i]->bytes(), "byte") << "\n";
  }
  return 0;
}

// ---- inspect and verify ----

// Counts of a file or of several.
struct Totals {
  uint64_t chunks = 0, damaged = 0, records = 0, stored = 0, expanded = 0;

  void Add(const Totals& other) {
    chunks += other.chunks;
    damaged += other.damaged;
    records += other.records;
    stored += other.stored;
    expanded += other.expanded;
  }
  std::string Text() const {
    return StrCat(Counted(chunks, "chunk"), ", ", Counted(records, "record"), ", ",
                  Counted(stored, "byte"), " stored, ", WithCommas(expanded), " expanded",
                  damaged == 0 ? "" : StrCat(", ", Counted(damaged, "chunk"), " damaged"));
  }
};

uint64_t ExpandedBytes(const Chunk& chunk) {
  uint64_t bytes = 0;
  for (const Piece& piece : chunk.pieces) bytes += sizeof(uint32_t) + piece.size;
  return bytes;
}

// Fetches the chunks of a file on all threads and calls visit(chunk, error) for each in order; the
// error is null for one that is whole. Throws the error that ends the file, if there is one.
void VisitChunks(RecordIOFile* file,
                 const std::function<void(const Chunk& chunk, const Error* error)>& visit) {
  const size_t at_once = static_cast<size_t>(std::max(1, ThreadPool::Get().size()));
  std::optional<Error> end;
  for (bool more = true; more;) {
    std::vector<Ref<Chunk>> chunks;
    try {
      while (more && chunks.size() < at_once) {
        Ref<Chunk> chunk = Pool<Chunk>::Take();
        more = file->Claim(chunk.get());
        if (more) chunks.push_back(std::move(chunk));
      }
    } catch (...) {
      end = CurrentError();
      more = false;
    }
    std::vector<std::optional<Error>> errors(chunks.size());
    ParallelFor(chunks.size(), [&](size_t i) {
      try {
        file->Fetch(chunks[i].get());
      } catch (...) {
        errors[i] = CurrentError();
      }
    });
    for (size_t i = 0; i < chunks.size(); ++i) {
      visit(*chunks[i], errors[i] ? &*errors[i] : nullptr);
    }
    CheckStop();
  }
  if (end) throw Error(*end);
}

// Calls visit(name) for the files that the patterns name; what it throws is printed, and the next
// file is looked at. Returns the exit code, that of the first error.
int VisitFiles(const std::vector<std::string>& patterns,
               const std::function<void(const std::string& name)>& visit) {
  int code = 0;
  for (const std::string& name : ExpandFileNames(patterns)) {
    try {
      visit(ChooseFormat(name).path);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kCancelled) throw;
      std::cout << std::flush;
      PrintError(error.what());
      if (code == 0) code = static_cast<int>(error.code());
    }
  }
  return code;
}

void PrintChunk(const RecordIOFile& file, const Chunk& chunk, const Error* error) {
  const RecordIOHeader header = file.Header(chunk);
  const auto compressor = RecordIOCompressorOf(file.dialect(), header.compressor_code);
  std::cout << std::setw(8) << chunk.expected << std::setw(14) << chunk.offset << std::setw(10)
            << header.records << std::setw(12) << header.payload_bytes << std::setw(12)
            << ExpandedBytes(chunk) << "  " << std::left << std::setw(10)
            << (compressor ? ToString(*compressor) : "unknown") << std::right << "  "
            << Hex(header.checksum) << (error != nullptr ? "  damaged" : "") << "\n";
}

// Looks at every chunk of the files; prints them if `print_chunks`.
int LookAtChunks(const std::vector<std::string>& patterns, bool print_chunks) {
  Totals all;
  RecordIOManifests manifests;
  size_t files = 0;
  int code = 0;
  std::atomic<uint64_t> bytes{0};
  {
    const StatusLine status([&] { return HumanBytes(static_cast<double>(bytes.load())); });
    const int file_code = VisitFiles(patterns, [&](const std::string& name) {
      RecordIOFile file(name, manifests.Find(name));
      Totals totals;
      const auto finish = [&](bool ended) {
        if (print_chunks) std::cout << "  " << totals.Text() << "\n";
        if (!print_chunks) {
          std::cout << Escaped(name) << ": "
                    << (totals.damaged == 0 && ended ? "whole, " : "DAMAGED, ") << totals.Text()
                    << "\n";
        }
        all.Add(totals);
        ++files;
      };
      if (print_chunks) {
        std::cout << Escaped(name) << "\n"
                  << "   chunk          byte   records      stored    expanded  compressor  "
                     "checksum\n";
      }
      try {
        VisitChunks(&file, [&](const Chunk& chunk, const Error* error) {
          ++totals.chunks;
          totals.records += chunk.pieces.size();
          totals.stored += chunk.length;
          totals.expanded += ExpandedBytes(chunk);
          bytes += chunk.length;
          if (print_chunks) PrintChunk(file, chunk, error);
          if (error == nullptr) return;
          ++totals.damaged;
          std::cout << std::flush;
          PrintError(error->what());
          if (code == 0) code = static_cast<int>(error->code());
        });
      } catch (...) {
        finish(false);
        throw;
      }
      if (print_chunks) std::cout << "  dialect " << ToString(file.dialect()) << "\n";
      finish(true);
    });
    if (code == 0) code = file_code;
  }
  if (files > 1) std::cout << Counted(files, "file") << ": " << all.Text() << "\n";
  return code;
}

int Inspect(const std::vector<std::string>& patterns) { return LookAtChunks(patterns, true); }
int Verify(const std::vector<std::string>& patterns) { return LookAtChunks(patterns, false); }

// ---- head ----

void PrintBytes(const char* bytes, size_t size) {
  constexpr size_t kLine = 16;
  const size_t shown = std::min<size_t>(size, static_cast<size_t>(FLAGS_bytes));
  for (size_t begin = 0; begin < shown; begin += kLine) {
    std::string text;
    std::printf("  %08zx ", begin);
    for (size_t i = begin; i < begin + kLine; ++i) {
      if (i >= shown) {
        std::printf("   ");
        continue;
      }
      const auto byte = static_cast<unsigned char>(bytes[i]);
      std::printf(" %02x", byte);
      text += byte >= 0x20 && byte < 0x7f ? bytes[i] : '.';
    }
    std::printf("  |%s|\n", text.c_str());
  }
  if (shown < size) std::printf("  ... %zu more bytes\n", size - shown);
}

// The tensors that a record holds, or nothing if it is not exactly some.
std::vector<LoDTensor> TensorsOf(const char* bytes, size_t size) {
  uint32_t count = 0;
  if (size < sizeof(count)) return {};
  std::memcpy(&count, bytes, sizeof(count));
  if (count > kMaxSlots) return {};
  std::vector<LoDTensor> tensors;
  size_t position = sizeof(count);
  try {
    for (uint32_t i = 0; i < count; ++i) {
      const TensorView view = ParseTensor(bytes + position, size - position);
      Lod lod(view.levels);
      for (size_t level = 0; level < view.levels; ++level) {
        for (size_t k = 0; k < view.lod[level].count; ++k) lod[level].push_back(view.lod[level][k]);
      }
      LoDTensor tensor;
      tensor.Allocate(view.dtype, view.dims);
      if (view.value_bytes > 0) {
        std::memcpy(tensor.mutable_raw_data(), view.values, view.value_bytes);
      }
      tensor.set_lod(std::move(lod));
      tensors.push_back(std::move(tensor));
      position += view.size;
    }
  } catch (const Error&) {
    return {};
  }
  return position == size ? tensors : std::vector<LoDTensor>();
}

void PrintTensor(size_t slot, const LoDTensor& tensor) {
  constexpr int64_t kShownValues = 8;
  std::string text = StrCat("  slot ", slot, ": ", Describe(tensor));
  if (!tensor.lod().empty()) text += ", lod " + ToString(tensor.lod());
  text += ":";
  for (int64_t i = 0; i < std::min(tensor.numel(), kShownValues); ++i) {
    text += " " + ValueText(tensor, i);
  }
  if (tensor.numel() > kShownValues) text += " ...";
  std::printf("%s\n", text.c_str());
}

// Prints the records of a chunk, `left` at most, which counts down.
void PrintRecords(const Chunk& chunk, int64_t* left) {
  for (size_t i = 0; i < chunk.pieces.size() && *left > 0; ++i, --*left) {
    const Piece& piece = chunk.pieces[i];
    const char* bytes = chunk.bytes->data() + piece.offset;
    std::printf("record %zu of chunk %llu at byte %llu: %u bytes\n", i,
                static_cast<unsigned long long>(chunk.expected),
                static_cast<unsigned long long>(chunk.offset), piece.size);
    PrintBytes(bytes, piece.size);
    const std::vector<LoDTensor> tensors = TensorsOf(bytes, piece.size);
    for (size_t slot = 0; slot < tensors.size(); ++slot) PrintTensor(slot, tensors[slot]);
  }
}

int Head(const std::vector<std::string>& patterns) {
  Require(FLAGS_count >= 0 && FLAGS_bytes >= 0, "--count and --bytes are 0 or more");
  return VisitFiles(patterns, [](const std::string& name) {
    RecordIOFile file(name);
    std::printf("%s\n", Escaped(name).c_str());
    int64_t left = FLAGS_count;
    while (left > 0) {
      const Ref<Chunk> chunk = Pool<Chunk>::Take();
      if (!file.Claim(chunk.get())) break;
      std::exception_ptr error;
      try {
        file.Fetch(chunk.get());
      } catch (...) {
        error = std::current_exception();  // the records before the damaged place come first
      }
      PrintRecords(*chunk, &left);
      std::fflush(stdout);
      if (error != nullptr && left > 0) std::rethrow_exception(error);
      CheckStop();
    }
  });
}

int RunRecordIO(const Arguments& arguments) {
  static const std::map<std::string, int (*)(const std::vector<std::string>&)> actions = {
      {"write", &Write}, {"inspect", &Inspect}, {"verify", &Verify}, {"head", &Head}};
  Require(!arguments.words.empty(),
          "say what to do: write, inspect, verify or head "
          "(--help tells more)");
  const std::string& name = arguments.words[0];
  const auto action = actions.find(name);
  Require(action != actions.end(), "'", Escaped(name),
          "' is none of write, inspect, verify and head",
          DidYouMean(name, {"write", "inspect", "verify", "head"}));
  const std::vector<std::string> files(arguments.words.begin() + 1, arguments.words.end());
  Require(!files.empty(), name, ": no file is named (--help tells more)");
  return action->second(files);
}

}  // namespace
}  // namespace millrace

int main(int argc, char** argv) {
  return millrace::RunCommand(argc, argv, millrace::Help(), &millrace::RunRecordIO);
}
