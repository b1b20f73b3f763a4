// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/file_format.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/base/registration.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/compression/compression.h"
#include "framework/io/counted_reads.h"
#include "framework/io/file_system.h"
#include "framework/io/one_pass.h"
#include "framework/io/saved_name.h"

namespace millhopper {
namespace {

std::map<std::string, FormatSchema>& Registry() {
  static auto* registry = new std::map<std::string, FormatSchema>;
  return *registry;
}

bool EndsWith(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

// File names of other systems, such as DATA.CSV, may have capital letters.
std::string WithSmallLetters(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

// Finds the format when the first file is opened, and from then on forwards to it.
class FoundFormat final : public FileFormat {
 public:
  explicit FoundFormat(const FormatArguments& arguments)
      : FileFormat(arguments.declared), arguments_(arguments) {
    DescribeAs("that of the first file's content", arguments.attributes);
  }

  const std::vector<SlotSpec>& row_slots() const override {
    return format_ == nullptr ? slots() : format_->row_slots();
  }

  std::unique_ptr<FileSource> Open(const FileEntry& file) override {
    if (format_ == nullptr) {
      format_ = Decide(file.path);
      if (window_) format_->ExpectWindow();
    }
    return format_->Open(file);
  }

  // The format is not known yet. If its chunks do not tell, the first chunk that a shard leaves out
  // throws an error (ChunkQueue::ClaimShare).
  bool chunks_tell_records() const override { return true; }
  bool tells_all_processes() const override {
    return format_ == nullptr || format_->tells_all_processes();
  }

  // Makes a second format object, because only the planning thread may use `format_`.
  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    return Decide(files.at(0).path)->CountRecords(files);
  }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    format_->Load(tickets, n, rows);
  }

  void ExpectWindow() override { window_ = true; }

 private:
  std::unique_ptr<FileFormat> Decide(const std::string& path) const {
    const FormatSchema& found = FormatByContent(path);
    if (arguments_.has_companions && found.companion_name.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  StrCat("it is of the format ", found.tag, ", which takes no second file"))
          .InFile(path, 0);
    }
    return found.Make(arguments_);
  }

  const FormatArguments arguments_;
  std::unique_ptr<FileFormat> format_;
  bool window_ = false;
};

// The formats of the plugin that reads columns, by the extensions and the first bytes of files.
struct ColumnarFormat {
  const char* extension;
  std::string_view magic;
};
constexpr ColumnarFormat kColumnarFormats[] = {{".parquet", "PAR1"},
                                               {".parq", "PAR1"},
                                               {".pq", "PAR1"},
                                               {".arrow", "ARROW1"},
                                               {".feather", "ARROW1"}};
constexpr char kColumnarHint[] =
    "Parquet, Arrow and Feather files are read by a plugin, which pip install "
    "'millhopper[parquet]' adds; for other programs than the package's "
    "tools/build_parquet_plugin builds it, --plugin=/absolute/FILE loads it";

// Whether a name in small letters ends as those of such files do.
bool HasColumnarName(const std::string& name) {
  return std::any_of(
      std::begin(kColumnarFormats), std::end(kColumnarFormats),
      [&](const ColumnarFormat& format) { return EndsWith(name, format.extension); });
}

}  // namespace

bool FileSource::Seek(uint64_t, std::optional<uint64_t>) { return false; }

void FileSource::ReadRecords(uint64_t first, size_t, char*) const {
  Throw(ErrorCode::kInternal, "record ", first, " cannot be read by itself");
}

std::optional<uint64_t> FileFormat::CountRecords(const std::vector<FileEntry>&) const {
  return std::nullopt;
}

uint64_t FileFormat::RecordKey(const FileEntry&, uint64_t file_key, uint64_t chunk,
                               uint64_t number) const {
  return MixBits(file_key + MixBits(MixBits(chunk) + number));
}

uint64_t FileFormat::Fingerprint(const FileEntry&) const { return 0; }

void FileFormat::DescribeAs(const std::string& format, const AttributeMap& attributes) {
  settings_ = {{"format", format}};
  for (const auto& [name, value] : attributes.values()) {
    Attribute saved = value;
    if (auto* const text = std::get_if<std::string>(&saved)) *text = SavedText(*text);
    if (auto* const texts = std::get_if<std::vector<std::string>>(&saved)) {
      for (std::string& text : *texts) text = SavedText(text);
    }
    settings_["format." + name] = WholeText(saved);
  }
}

std::string FileFormat::PlaceName(const FileEntry&, uint64_t) const { return ""; }

std::string FileFormat::RecordName(const FileEntry&, uint64_t, uint64_t) const { return ""; }

void Chunk::SetNeeded() {
  if (bytes) bytes->set_needed();
  if (holder) holder->SetNeeded();
  if (pieces.capacity() > 0) SetTableNeeded(pieces.data());
}

const char* Chunk::Read(const File& file, uint64_t from, size_t size, size_t have) {
  if (!file.mapping()) return Copy(file, from, size, have);
  CountedReads::Add(size - have);
  mapping_ = file.mapping();
  const size_t before = from % kBufferAlignment;
  bytes = mapping_->View(from - before, before + size);
  SetAsInFile(from - before);
  return bytes->data() + before;
}

const char* Chunk::Copy(const File& file, uint64_t from, size_t size, size_t have) {
  const size_t before = from % kBufferAlignment;
  Ref<Buffer> larger = BufferPool::At(Place()).Take(before + size);
  char* const begin = larger->data() + before;
  if (have > 0) std::memcpy(begin, bytes->data() + before, have);
  file.Read(from + have, begin + have, size - have);
  bytes = std::move(larger);
  SetAsInFile(from - before);
  return begin;
}

void Chunk::Dispose() {
  bytes = Ref<Buffer>();
  mapping_ = Ref<Mapping>();
  Empty(&pieces);
  holder = Ref<RecordHolder>();
  claimed.reset();
  records.reset();
  is_part = false;
  left_out_ = 0;
  error_ = nullptr;
  as_in_file_ = nullptr;
  first_byte_ = 0;
  claimed_pieces_ = 0;
  number_ = 0;
  ready_ = false;
  deferred_ = false;
  Pool<Chunk>::Give(this);
}

FormatSchema& FormatSchema::Attr(AttributeSchema attribute) {
  attributes.push_back(std::move(attribute));
  return *this;
}

FormatSchema& FormatSchema::Extension(std::string extension) {
  extensions.push_back(std::move(extension));
  return *this;
}

FormatSchema& FormatSchema::Magic(bool (*function)(const char* head, size_t size)) {
  matches = function;
  return *this;
}

FormatSchema& FormatSchema::Folders() {
  reads_folders = true;
  return *this;
}

FormatSchema& FormatSchema::SlotNames(std::vector<std::string> names) {
  for (const std::string& name : names) doc += StrCat(&name == &names[0] ? "; slots " : ", ", name);
  slot_names = std::move(names);
  return *this;
}

FormatSchema& FormatSchema::Companion(std::string name, std::string list_name, std::string text) {
  companion_name = std::move(name);
  companion_list_name = std::move(list_name);
  companion_doc = std::move(text);
  return *this;
}

FormatSchema& FormatSchema::Beside(std::string suffix) {
  beside.push_back(std::move(suffix));
  return *this;
}

FormatSchema& FormatSchema::NamesFilesBeside(std::string name) {
  names_files_beside = true;
  name_part = std::move(name);
  return *this;
}

FormatSchema& FormatSchema::NamesFilesAnywhere() {
  names_files_anywhere = true;
  return *this;
}

FormatSchema& FormatSchema::InferFields(FittingFields (*infer)(const std::string& path,
                                                               const AttributeMap& attributes)) {
  Attr(AttributeSchema("exclude", std::vector<std::string>{},
                       "names, and ranges of names, that a reader without fields, or with \"*\" "
                       "among them, leaves out"));
  guess_fields = infer;
  return *this;
}

FormatSchema& FormatSchema::InferFieldsOfAll(
    FittingFields (*infer)(const std::vector<std::string>& paths, const AttributeMap& attributes)) {
  infer_fields_of_all = infer;
  return *this;
}

FormatSchema& FormatSchema::InferFieldsOfRecords(std::unique_ptr<FieldsOfRecords> (*make_fields)(
    const FittingFields& sampled, const AttributeMap& attributes)) {
  Attr(
      AttributeSchema("infer", std::string("sample"),
                      "what a reader without fields, or with names alone, tells types from: sample "
                      "is parts of the first file; all is a first pass over all files, after which "
                      "no value is of another type. Formats with a schema have it tell the types")
          .OneOf({"sample", "all"}));
  fields_of_records = make_fields;
  return *this;
}

AttributeMap FormatSchema::WithDefaults(AttributeMap given) const {
  for (const AttributeSchema& attribute : attributes) {
    if (!given.Has(attribute.name)) given.Set(attribute.name, attribute.default_value);
  }
  return given;
}

std::unique_ptr<FileFormat> FormatSchema::Make(const FormatArguments& arguments) const {
  FormatArguments complete = arguments;
  complete.attributes = WithDefaults(arguments.attributes);
  std::unique_ptr<FileFormat> format = make(complete);
  format->DescribeAs(tag, complete.attributes);
  format->library_ = library;
  format->reads_folders_ = reads_folders;
  return format;
}

bool RegisterFileFormat(const std::string& tag, FormatSchema schema, MakeFormat make) {
  schema.tag = tag;
  schema.make = make;
  schema.library = LibraryOf(reinterpret_cast<const void*>(make));
  const bool added = Registry().emplace(tag, std::move(schema)).second;
  if (added) {
    NoteRegistration([tag] { Registry().erase(tag); });
  } else {
    RefuseRegistration("file format '" + tag + "'");
  }
  return added;
}

const FormatSchema* FindFileFormat(const std::string& tag) {
  const auto found = Registry().find(tag);
  return found == Registry().end() ? nullptr : &found->second;
}

std::vector<std::string> FileFormatTags() {
  std::vector<std::string> tags;
  for (const auto& entry : Registry()) tags.push_back(entry.first);
  return tags;
}

FormatChoice SplitFormatPrefix(const std::string& file_name) {
  const size_t colon = file_name.find(':');
  if (colon != std::string::npos && file_name.find('/') > colon) {
    const FormatSchema* schema = FindFileFormat(file_name.substr(0, colon));
    if (schema != nullptr) return {file_name.substr(colon + 1), schema};
  }
  return {file_name, nullptr};
}

FormatChoice ChooseFormat(const std::string& file_name) {
  FormatChoice choice = SplitFormatPrefix(file_name);
  if (choice.schema != nullptr || IsCommand(file_name)) return choice;
  const std::string name = WithSmallLetters(WithoutCompression(file_name));
  // Such as index.json: what is in it tells whether it names other files.
  const bool may_name_others =
      std::any_of(Registry().begin(), Registry().end(), [&](const auto& entry) {
        return !entry.second.name_part.empty() && EndsWith(name, entry.second.name_part);
      });
  if (may_name_others) return choice;
  for (const auto& [tag, schema] : Registry()) {
    const bool fits = std::any_of(schema.extensions.begin(), schema.extensions.end(),
                                  [&](const std::string& end) { return EndsWith(name, end); });
    if (!fits) continue;
    if (choice.schema != nullptr) {
      Throw(ErrorCode::kInvalidArgument, "'", Escaped(file_name), "' may be of the formats ",
            choice.schema->tag, " and ", tag, "; put one of them and a colon before the name");
    }
    choice.schema = &schema;
  }
  if (choice.schema == nullptr && HasColumnarName(name)) {
    Throw(ErrorCode::kInvalidArgument, "'", Escaped(file_name), "': ", kColumnarHint);
  }
  return choice;
}

bool NamesColumns(const std::string& file_name) {
  return HasColumnarName(WithSmallLetters(file_name));
}

bool HoldsColumns(const std::string& path) {
  const FileSystem& system = FileSystemOf(path);
  if (!IsLocal(path) || system.Stat(path).kind != FileStatus::Kind::kFile) return false;
  char head[8];
  const std::unique_ptr<const File> file = system.Open(path);
  const auto size = static_cast<size_t>(std::min<uint64_t>(sizeof(head), file->size()));
  file->Read(0, head, size);
  return std::any_of(
      std::begin(kColumnarFormats), std::end(kColumnarFormats), [&](const ColumnarFormat& format) {
        return std::string_view(head, size).substr(0, format.magic.size()) == format.magic;
      });
}

std::string FolderProblem(const std::string& path) {
  for (const auto& [tag, schema] : Registry()) {
    if (!schema.names_files_beside || schema.name_part.empty()) continue;
    const std::string index = StrCat(path, EndsWith(path, "/") ? "" : "/", schema.name_part);
    if (FileSystemOf(index).Stat(index).kind != FileStatus::Kind::kFile) continue;
    return StrCat("is a directory; ", tag, ":", Escaped(index), " reads it: ", schema.doc);
  }
  std::string problem = StrCat("is a directory; '", Escaped(path), "/*' names the files in it");
  for (const auto& [tag, schema] : Registry()) {
    if (!schema.reads_folders) continue;
    problem += StrCat(", and ", tag, ":", Escaped(path), " reads it: ", schema.doc);
  }
  return problem;
}

void RefuseFolder(const std::string& path) {
  if (FileSystemOf(path).Stat(path).kind != FileStatus::Kind::kDirectory) return;
  throw Error(ErrorCode::kIo, FolderProblem(path)).InFile(path, -1);
}

const FormatSchema& FormatByContent(const std::string& path) {
  char head[64];
  ByteStream stream(path);
  const size_t size = stream.Read(head, sizeof(head));
  std::vector<const FormatSchema*> found;
  for (const auto& [tag, schema] : Registry()) {
    if (schema.matches != nullptr && schema.matches(head, size)) found.push_back(&schema);
  }
  if (found.size() == 1) return *found[0];
  char next;
  if (size < sizeof(head)) stream.Read(&next, 1);  // throws if the file ends where an error is
  for (const ColumnarFormat& format : kColumnarFormats) {
    if (!found.empty() ||
        std::string_view(head, size).substr(0, format.magic.size()) != format.magic)
      continue;
    throw Error(ErrorCode::kDataLoss, kColumnarHint).InFile(path, 0);
  }
  std::string candidates;
  for (const FormatSchema* schema : found) candidates += " " + schema->tag;
  if (found.empty()) {
    for (const std::string& tag : FileFormatTags()) candidates += " " + tag;
  }
  throw Error(ErrorCode::kDataLoss,
              StrCat(found.empty() ? "neither the name nor the first bytes tell the format; put "
                                     "one of these and a colon before the name:"
                                   : "the first bytes fit several formats; put one of these and "
                                     "a colon before the name:",
                     candidates))
      .InFile(path, 0);
}

std::unique_ptr<FileFormat> MakeFormatByContent(const FormatArguments& arguments) {
  Require(!arguments.declared.empty(),
          "the file's name does not tell its format, so the slots must be declared (or put the "
          "format and a colon before the name)");
  return std::make_unique<FoundFormat>(arguments);
}

Error MissingSlots::ErrorOf(const std::string& problem, const std::vector<std::string>& fields) {
  auto cause = std::make_shared<MissingSlots>();
  cause->problem = problem;
  cause->fields = fields;
  return Error(ErrorCode::kInvalidArgument, problem).WithCause(std::move(cause));
}

std::vector<SlotSpec> AgreeOnSlots(const std::vector<SlotSpec>& declared,
                                   const std::vector<SlotSpec>& known, const std::string& who) {
  if (declared.empty() && known.empty()) {
    throw MissingSlots::ErrorOf(
        "the slots of this reader must be declared: in the output variable's type { type: READER "
        "reader { lod_tensor { ... } } }, or by shape_concat, ranks and lod_levels",
        {});
  }
  if (declared.empty()) return known;
  if (known.empty()) return declared;
  Require(declared.size() == known.size(), declared.size(), " slots are declared, but ", who, " ",
          known.size());
  std::vector<SlotSpec> agreed = declared;
  for (size_t i = 0; i < declared.size(); ++i) {
    if (!known[i].known) continue;
    Require(declared[i].dtype == known[i].dtype && declared[i].lod_level == known[i].lod_level &&
                MayBeSame(declared[i].dims, known[i].dims),
            "slot ", i, ": ", ToString(declared[i]), " is declared, but ", who, " ",
            ToString(known[i]));
    agreed[i].dims = Merged(declared[i].dims, known[i].dims);
    agreed[i].text = known[i].text;
  }
  return agreed;
}

}  // namespace millhopper
