// SPDX-License-Identifier: Apache-2.0
// recordio inspect, verify and head: show what files hold, chunk by chunk or record by record.
#include <gflags/gflags.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <iomanip>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/secrets.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/io/status_line.h"
#include "framework/reader/file_format.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/fields/named_slots.h"
#include "readers/formats/recordio/recordio_file.h"
#include "readers/formats/recordio/recordio_manifest.h"
#include "readers/formats/recordio/recordio_slots.h"
#include "readers/sources/file_list.h"
#include "readers/support/checksums.h"
#include "tools/commands/help/shared_flags.h"
#include "tools/commands/recordio/recordio_command.h"
#include "tools/commands/recordio/recordio_files.h"
#include "tools/commands/shared/amounts.h"
#include "tools/commands/shared/command.h"
#include "tools/commands/shared/digest.h"
#include "tools/commands/shared/json_line.h"
#include "tools/commands/shared/standard_streams.h"
#include "tools/commands/shared/tensor_text.h"

DEFINE_int64(count, 3, "head: how many records of each file");
DEFINE_int64(bytes, 64, "head: how many bytes of each record");

namespace millhopper {
namespace {

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
  nlohmann::json Json() const {
    return {{"chunks", chunks},
            {"damaged", damaged},
            {"records", records},
            {"stored", stored},
            {"expanded", expanded}};
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

// Fetches the chunks of a file on all threads and calls visit(chunk, error) for each in order;
// `error` is null if the chunk is whole. Throws the error, if any, that makes the rest of the file
// unreadable.
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

void PrintChunk(const RecordIOFile& file, const std::string& name, const Chunk& chunk,
                const Error* error) {
  const RecordIOHeader header = file.Header(chunk);
  const auto compressor = RecordIOCompressorOf(file.dialect(), header.compressor_code);
  if (FLAGS_json) {
    PrintJsonLine({{"file", WithoutSecrets(name, TextKind::kName)},
                   {"chunk", RecordIOFile::NumberOf(chunk)},
                   {"byte", chunk.offset},
                   {"records", header.records},
                   {"stored", header.payload_bytes},
                   {"expanded", ExpandedBytes(chunk)},
                   {"compressor", compressor ? ToString(*compressor) : "unknown"},
                   {"checksum", header.checksum},
                   {"damaged", error != nullptr}});
    return;
  }
  std::cout << std::setw(8) << RecordIOFile::NumberOf(chunk) << std::setw(14) << chunk.offset
            << std::setw(10) << header.records << std::setw(12) << header.payload_bytes
            << std::setw(12) << ExpandedBytes(chunk) << "  " << std::left << std::setw(10)
            << (compressor ? ToString(*compressor) : "unknown") << std::right << "  "
            << Hex(header.checksum) << (error != nullptr ? "  damaged" : "") << "\n";
}

// Throws that a file is none of RecordIO if its name and its first bytes say so: it is no damage.
void CheckIsRecordIO(const FormatChoice& choice) {
  if (choice.schema == nullptr || choice.schema->tag == "recordio") return;
  Require(BeginsAsRecordIO(choice.path), Escaped(choice.path), ": is a file of the format ",
          choice.schema->tag, ", not RecordIO; millhopper-peek shows what it holds");
}

// An error for each file that the manifest of `name` lists but that does not exist.
std::vector<Error> MissingOfSet(const std::string& name) {
  const std::string path = RecordIOManifest::PathOf(name);
  const RecordIOManifest manifest = RecordIOManifest::LoadIfThere(path);
  std::vector<Error> errors;
  for (const std::string& file : manifest.Missing(path)) {
    try {
      manifest.Find(file);  // throws if the file is just being replaced
      errors.push_back(MissingFile(file));
    } catch (const Error& error) {
      errors.push_back(error);
    }
  }
  return errors;
}

// Reads every chunk of the files and reports errors; prints each chunk if `print_chunks`.
int LookAtChunks(const std::vector<std::string>& patterns, bool print_chunks) {
  Totals all;
  RecordIOManifests manifests;
  size_t files = 0;
  int code = 0;
  std::set<std::string> manifests_seen;
  const auto report = [&code](const Error& error) {
    std::cout << std::flush;
    PrintError(error.what());
    if (code == 0) code = static_cast<int>(error.code());
  };
  std::atomic<uint64_t> bytes{0};
  const std::vector<std::string> names = ExpandFileNames(patterns);
  {
    const Progress progress(StatusLine::IsShown() ? BytesOf(names) : 0);
    const StatusLine status([&] {
      const auto done = static_cast<double>(bytes.load());
      return progress.Line(done, HumanBytes(done));
    });
    const int file_code = VisitFiles(names, [&](const FormatChoice& choice) {
      const std::string& name = choice.path;
      CheckIsRecordIO(choice);
      if (manifests_seen.insert(RecordIOManifest::PathOf(name)).second) {
        for (const Error& error : MissingOfSet(name)) report(error);
      }
      RecordIOFile file(name, manifests.Find(name));
      Totals totals;
      const auto finish = [&](bool ended) {
        if (FLAGS_json) {
          nlohmann::json json = totals.Json();
          json["file"] = WithoutSecrets(name, TextKind::kName);
          json["dialect"] = ToString(file.dialect());
          json["whole"] = totals.damaged == 0 && ended;
          PrintJsonLine(json);
        } else if (print_chunks) {
          std::cout << "  dialect " << ToString(file.dialect()) << "\n  " << totals.Text() << "\n";
        } else {
          std::cout << Escaped(name) << ": "
                    << (totals.damaged == 0 && ended ? "whole, " : "DAMAGED, ") << totals.Text()
                    << "\n";
        }
        all.Add(totals);
        ++files;
      };
      if (print_chunks && !FLAGS_json) {
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
          if (print_chunks) PrintChunk(file, name, chunk, error);
          if (error == nullptr) return;
          ++totals.damaged;
          report(*error);
        });
      } catch (...) {
        finish(false);
        throw;
      }
      finish(true);
    });
    if (code == 0) code = file_code;
  }
  if (files > 1 && !FLAGS_json) std::cout << Counted(files, "file") << ": " << all.Text() << "\n";
  return code;
}

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

// The tensors of a record; none if the record is not exactly a list of serialised tensors.
std::vector<LoDTensor> TensorsOf(const char* bytes, size_t size) {
  std::vector<LoDTensor> tensors;
  const bool is_list = VisitTensorsOfRecord(bytes, size, [&](const TensorView& view) {
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
  });
  return is_list ? tensors : std::vector<LoDTensor>();
}

void PrintTensor(const std::string& title, const LoDTensor& tensor) {
  constexpr int64_t kShownValues = 8;
  std::string text = StrCat("  ", title, ": ", Describe(tensor));
  if (!tensor.lod().empty()) text += ", lod " + ToString(tensor.lod());
  text += ":" + ValuesText(tensor, kShownValues);
  if (tensor.numel() > kShownValues && !IsText(tensor)) text += " ...";
  std::printf("%s\n", text.c_str());
}

// The names of the slots of a file, if its manifest tells them. A wrong manifest is no reason not
// to show records; `verify` reports it.
std::vector<std::string> NamesIn(const std::string& file) {
  try {
    const std::optional<NamedSlots> stored = StoredSlots({file});
    return stored ? stored->names : std::vector<std::string>();
  } catch (const Error&) {
    return {};
  }
}

// A record as a line of JSON: its place, the first bytes and the tensors that it holds, if any.
void PrintRecordAsJson(const std::string& name, const Chunk& chunk, size_t i,
                       const std::vector<std::string>& slot_names) {
  const Piece& piece = chunk.pieces[i];
  const char* bytes = chunk.bytes->data() + piece.offset;
  std::string hex;
  const auto shown = std::min<size_t>(piece.size, static_cast<size_t>(FLAGS_bytes));
  for (size_t k = 0; k < shown; ++k) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned char>(bytes[k]));
    hex += digits;
  }
  nlohmann::json json = {{"file", WithoutSecrets(name, TextKind::kName)},
                         {"chunk", RecordIOFile::NumberOf(chunk)},
                         {"byte", chunk.offset},
                         {"record", i},
                         {"bytes", piece.size},
                         {"hex", hex}};
  const std::vector<LoDTensor> tensors = TensorsOf(bytes, piece.size);
  if (!tensors.empty()) json.update(nlohmann::json::parse(ToJson(tensors, slot_names)));
  PrintJsonLine(json);
}

// Prints at most *left records of a chunk, and subtracts their number from *left.
void PrintRecords(const std::string& name, const Chunk& chunk,
                  const std::vector<std::string>& slot_names, int64_t* left) {
  for (size_t i = 0; i < chunk.pieces.size() && *left > 0; ++i, --*left) {
    if (FLAGS_json) {
      PrintRecordAsJson(name, chunk, i, slot_names);
      continue;
    }
    const Piece& piece = chunk.pieces[i];
    const char* bytes = chunk.bytes->data() + piece.offset;
    std::printf("record %zu of chunk %llu at byte %llu: %u bytes\n", i,
                static_cast<unsigned long long>(RecordIOFile::NumberOf(chunk)),
                static_cast<unsigned long long>(chunk.offset), piece.size);
    PrintBytes(bytes, piece.size);
    const std::vector<LoDTensor> tensors = TensorsOf(bytes, piece.size);
    for (size_t slot = 0; slot < tensors.size(); ++slot) {
      PrintTensor(SlotTitle(slot, slot_names), tensors[slot]);
    }
  }
}

}  // namespace

int InspectRecordIO(const std::vector<std::string>& patterns) {
  return LookAtChunks(patterns, true);
}

int VerifyRecordIO(const std::vector<std::string>& patterns) {
  return LookAtChunks(patterns, false);
}

int HeadOfRecordIO(const std::vector<std::string>& patterns) {
  Require(FLAGS_count >= 0 && FLAGS_bytes >= 0, "--count and --bytes are 0 or more");
  return VisitFiles(ExpandFileNames(patterns), [](const FormatChoice& choice) {
    const std::string& name = choice.path;
    CheckIsRecordIO(choice);
    RecordIOFile file(name);
    if (!FLAGS_json) std::printf("%s\n", Escaped(name).c_str());
    const std::vector<std::string> slot_names = NamesIn(name);
    int64_t left = FLAGS_count;
    while (left > 0) {
      const Ref<Chunk> chunk = Pool<Chunk>::Take();
      if (!file.Claim(chunk.get())) break;
      std::exception_ptr error;
      try {
        file.Fetch(chunk.get());
      } catch (...) {
        error = std::current_exception();  // the records before the damage are printed first
      }
      PrintRecords(name, *chunk, slot_names, &left);
      FlushOutput();
      if (error != nullptr && left > 0) std::rethrow_exception(error);
      CheckStop();
    }
  });
}

}  // namespace millhopper
