// SPDX-License-Identifier: Apache-2.0
// The format `tar`: archives in the form of WebDataset. The files of an archive that follow one
// another and have the same name up to its first dot are a record, and what is after the dot says
// which part of it each is: "7.jpg", "7.cls". Only headers tell where members lie (tar_member.h).
// Of a plain archive Claim reads the headers alone, so that its chunks are read in parallel; one
// that is compressed as a whole is read in order. The bytes of a record are its members as they lie
// in the archive, with their headers, which Load reads again.
#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/spelling.h"
#include "framework/base/stop.h"
#include "framework/io/compression/byte_stream.h"
#include "framework/io/one_pass.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"
#include "framework/reader/prefetched.h"
#include "readers/chunks/claimed_list.h"
#include "readers/chunks/stream_source.h"
#include "readers/fields/field_rows.h"
#include "readers/fields/fields.h"
#include "readers/fields/guessed_type.h"
#include "readers/fields/json_fields.h"
#include "readers/formats/tar/tar_member.h"
#include "readers/formats/tar/tar_samples.h"
#include "readers/index/indexable_format.h"

namespace millhopper {
namespace {

constexpr char kKey[] = "__key__";          // the name of a field that is the record's key
constexpr size_t kMostMembers = kMaxSlots;  // in a record

// --- Fields ---

bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsSpace(text.back())) text.remove_suffix(1);
  return text;
}

// Takes the next value of a text of several, between spaces, commas or line ends. False if there is
// none.
bool NextValue(std::string_view* text, std::string_view* value) {
  const auto separates = [](char c) { return IsSpace(c) || c == ','; };
  size_t begin = 0;
  while (begin < text->size() && separates((*text)[begin])) ++begin;
  size_t end = begin;
  while (end < text->size() && !separates((*text)[end])) ++end;
  *value = text->substr(begin, end - begin);
  text->remove_prefix(end);
  return !value->empty();
}

// Whether a field can have this name and means the extension by it.
bool IsExtensionOfField(const std::string& extension) {
  return CanBeNamed(extension) && extension.find_first_of(";:") == std::string::npos &&
         extension != kKey;
}

// Makes slots of records. Immutable; any thread.
class MemberParser {
 public:
  MemberParser(std::vector<Field> fields, Others others)
      : fields_(std::move(fields)), others_(others) {
    std::map<std::string, size_t> parts;  // by their names as written
    for (size_t slot = 0; slot < fields_.size(); ++slot) AddField(slot, &parts);
    for (Part& part : parts_) {
      if (!part.json_fields.empty()) {
        // What is inferred of a file of JSON is its bytes.
        part.json =
            std::make_unique<const JsonParser>(std::move(part.json_fields), Others::kIgnore, "");
      }
    }
    for (size_t i = 0; i < extensions_.size(); ++i) by_extension_.emplace(extensions_[i], i);
  }

  const std::vector<Field>& fields() const { return fields_; }

  // Appends the records. Throws kDataLoss "field 'cls' of '7': 'x' is no int64".
  void Load(const Ticket* tickets, size_t n, Rows* rows) const {
    FieldRows field_rows(fields_, n, rows);
    Record& record = RecordOfThread();
    for (const Ticket& ticket : Prefetched(tickets, n)) {
      const std::string_view bytes(ticket.bytes, ticket.size);
      Find(bytes, &record);
      for (const Part& part : parts_) LoadPart(part, bytes, record, &field_rows);
    }
  }

  // Whether a field with missing=skip has no value in the record. False if the record is damaged;
  // Load tells.
  bool IsLeftOut(std::string_view bytes) const {
    Record& record = RecordOfThread();
    try {
      Find(bytes, &record);
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      return false;
    }
    return std::any_of(parts_.begin(), parts_.end(), [&](const Part& part) {
      const std::string_view* const content = ContentOf(part, record);
      return std::any_of(part.slots.begin(), part.slots.end(),
                         [&](size_t slot) {
                           const Field& field = fields_[slot];
                           return field.missing == Field::Missing::kSkip &&
                                  (content == nullptr || field.IsMissing(Trimmed(*content)));
                         }) ||
             (part.json != nullptr && (content == nullptr ? AnySkips(part.json->fields())
                                                          : part.json->IsLeftOut(*content)));
    });
  }

 private:
  // What the fields of one name take their values from.
  struct Part {
    std::string name;                // without the name of a value in JSON
    std::vector<size_t> extensions;  // indices; the first that a record has counts
    std::vector<size_t> slots;       // that are the content, or the text in it
    std::vector<size_t> json_slots;  // that are values in JSON, which it is
    std::vector<Field> json_fields;  // of these, until `json` is made of them
    std::unique_ptr<const JsonParser> json;
  };

  // The members of a record that fields name.
  struct Record {
    TarMember member;
    std::string key;
    std::vector<std::string_view> contents;  // by index of the extension
    std::vector<bool> found;
  };

  // A thread loads one record after another, so that it needs no new memory for each.
  static Record& RecordOfThread() {
    thread_local Record record;
    return record;
  }

  static Part PartNamed(const std::string& name, std::vector<std::string>* extensions) {
    Part part;
    part.name = name;
    for (size_t begin = 0; begin <= name.size();) {
      const size_t end = std::min(name.find(';', begin), name.size());
      std::string extension = name.substr(begin, end - begin);
      Require(!extension.empty(), "field '", Escaped(name), "' has an empty extension");
      for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      const auto known = std::find(extensions->begin(), extensions->end(), extension);
      part.extensions.push_back(static_cast<size_t>(known - extensions->begin()));
      if (known == extensions->end()) extensions->push_back(extension);
      begin = end + 1;
    }
    return part;
  }

  void AddField(size_t slot, std::map<std::string, size_t>* parts) {
    const Field& field = fields_[slot];
    const size_t colon = field.name.find(':');
    const std::string name = field.name.substr(0, colon);
    const auto [known, is_new] = parts->emplace(name, parts_.size());
    if (is_new) parts_.push_back(PartNamed(name, &extensions_));
    Part& part = parts_[known->second];
    if (colon != std::string::npos) {
      Field inner = field;
      inner.name = field.name.substr(colon + 1);
      Require(!inner.name.empty(), "field '", Escaped(field.name), "': a field without a name");
      if (inner.decode == Field::Decode::kJson && !inner.bytes) {
        inner.decode = Field::Decode::kNone;
      }
      part.json_fields.push_back(std::move(inner));
      part.json_slots.push_back(slot);
      return;
    }
    Require(field.decode != Field::Decode::kJson, "field '", Escaped(name),
            "': decode=json needs the name of a value in it, such as '", Escaped(name),
            ":label' or '", Escaped(name), ":/boxes/0'");
    Require(field.bytes || field.from_text(), "field '", Escaped(name),
            "': a file is bytes, so write ", Escaped(name),
            " bytes; or decode=text after a number that stands there as text; a value in a file of "
            "JSON is json:label or json:/boxes/0");
    RefuseCellOptions(field);
    part.slots.push_back(slot);
  }

  // Finds the members with the extensions of fields.
  void Find(std::string_view bytes, Record* record) const {
    record->contents.assign(extensions_.size(), std::string_view());
    record->found.assign(extensions_.size(), false);
    record->key.clear();
    TarMember& member = record->member;
    for (uint64_t at = 0; at < bytes.size(); at += member.end()) {
      const std::string_view rest = bytes.substr(at);
      // Of a mapped file that changes, headers are other than Claim has seen them.
      if (ReadTarHeaders(rest.data(), rest.size(), &member) != TarHeaders::kMember ||
          member.header_bytes > rest.size() || member.size > rest.size() - member.header_bytes) {
        Throw(ErrorCode::kDataLoss, "the header ", at,
              " bytes after its first one is not what it was");
      }
      if (!member.in_record) continue;
      if (record->key.empty()) record->key.assign(member.key());
      const auto wanted = by_extension_.find(member.extension);
      if (wanted == by_extension_.end()) {
        if (others_ == Others::kError) RefuseFile(member);
        continue;
      }
      record->contents[wanted->second] = rest.substr(member.header_bytes, member.size);
      record->found[wanted->second] = true;
    }
    const auto key = by_extension_.find(kKey);
    if (key == by_extension_.end()) return;
    record->contents[key->second] = record->key;
    record->found[key->second] = true;
  }

  [[noreturn]] static void RefuseFile(const TarMember& member) {
    RefuseOther(
        StrCat("the record '", Escaped(std::string(member.key())), "' has the file '",
               Escaped(member.name), "'"),
        IsExtensionOfField(member.extension) ? EntryFor(member.extension, OrMissing("bytes")) : "",
        kInferAll);
  }

  // Null if the record has no such member.
  static const std::string_view* ContentOf(const Part& part, const Record& record) {
    for (const size_t extension : part.extensions) {
      if (record.found[extension]) return &record.contents[extension];
    }
    return nullptr;
  }

  // Throws that a record has no file for a field, saying which ones it has.
  [[noreturn]] void NoFile(size_t slot, const Part& part, std::string_view bytes) const {
    std::vector<std::string> there;
    TarMember member;
    for (uint64_t at = 0; at < bytes.size(); at += member.end()) {
      const std::string_view rest = bytes.substr(at);
      if (ReadTarHeaders(rest.data(), rest.size(), &member) != TarHeaders::kMember) break;
      if (member.in_record) there.push_back(std::string(member.extension));
    }
    fields_[slot].ThrowMissing(StrCat("the record has no such file; it has ", Listed(there),
                                      DidYouMean(part.name, there)));
  }

  // Appends what stands for the file of a part that the record, of these bytes, does not have.
  void AppendNoFile(size_t slot, const Part& part, std::string_view bytes, FieldRows* rows) const {
    if (fields_[slot].missing != Field::Missing::kDefault) NoFile(slot, part, bytes);
    rows->AppendDefault(slot);
  }

  void LoadPart(const Part& part, std::string_view bytes, const Record& record,
                FieldRows* rows) const {
    const std::string_view* const content = ContentOf(part, record);
    try {
      for (const size_t slot : part.slots) {
        if (content == nullptr) {
          AppendNoFile(slot, part, bytes, rows);
        } else {
          LoadContent(slot, *content, rows);
        }
      }
      if (part.json != nullptr && content != nullptr) {
        part.json->LoadPart(*content, part.json_slots.data(), rows);
      } else {
        for (const size_t slot : part.json_slots) AppendNoFile(slot, part, bytes, rows);
      }
    } catch (const Error& error) {
      if (error.interrupts()) throw;
      throw error.WithMessage(StrCat("field '", Escaped(part.name), "' of '", Escaped(record.key),
                                     "': ", error.message()));
    }
  }

  void LoadContent(size_t slot, std::string_view content, FieldRows* rows) const {
    const Field& field = fields_[slot];
    if (field.bytes) return rows->AppendBytes(slot, content);
    std::string_view text = Trimmed(content);
    if (text.empty() && field.IsMissing(text)) {
      return rows->AppendDefault(slot, "the file is empty");
    }
    if (!field.sequence && field.values == 1) {
      char value[8];
      field.ReadAll(text, value);
      std::memcpy(rows->Take(slot, 1), value, field.value_bytes());
      return;
    }
    std::string_view value;
    size_t count = 0;
    for (std::string_view rest = text; NextValue(&rest, &value);) ++count;
    char* place = rows->Take(slot, count);
    for (; NextValue(&text, &value); place += field.value_bytes()) field.ReadAll(value, place);
  }

  const std::vector<Field> fields_;
  const Others others_;
  std::vector<Part> parts_;
  std::vector<std::string> extensions_;                        // all that fields name
  std::unordered_map<std::string_view, size_t> by_extension_;  // their indices
};

// --- Records ---

// Where an archive's errors are.
class Archive {
 public:
  Archive(std::string path, bool compressed) : path_(std::move(path)), compressed_(compressed) {}

  std::string Describe(uint64_t offset) const {
    return StrCat("byte ", offset, compressed_ ? " of the decompressed content" : "");
  }
  [[noreturn]] void Damaged(uint64_t offset, const std::string& problem,
                            ErrorCode code = ErrorCode::kDataLoss) const {
    throw Error(code, StrCat("the member at ", Describe(offset), ": ", problem))
        .InFile(path_, static_cast<int64_t>(offset));
  }
  // Reads the headers of the member that begins with this byte of the archive.
  TarHeaders ReadHeaders(uint64_t offset, const char* bytes, size_t size, TarMember* member) const {
    try {
      return ReadTarHeaders(bytes, size, member);
    } catch (const Error& error) {
      Damaged(offset + member->looked_at, error.message(), error.code());
    }
  }
  // Says that the archive ends so many bytes before the member does.
  [[noreturn]] void Cut(uint64_t offset, const TarMember& member, uint64_t missing) const {
    Damaged(offset, StrCat("'", Escaped(member.name), "' has ", member.size,
                           " bytes, but the file ends ", missing, " bytes too early"));
  }
  [[noreturn]] void HeadersCut(uint64_t offset, const TarMember& member, uint64_t left) const {
    Damaged(offset, StrCat("the file ends ", left, " bytes into its headers, which have ",
                           member.needed, " or more"));
  }
  // Says that files of one sample lie before this byte and after it, with others between them.
  [[noreturn]] void Torn(uint64_t offset, std::string_view key, uint64_t first) const {
    Damaged(offset,
            StrCat("other files of '", Escaped(std::string(key)), "' are at ", Describe(first),
                   ", with files of other records between them; the files of a record must "
                   "follow one another, as they do in the order of their names (tar "
                   "--sort=name)"));
  }
  // Throws if a block beyond the end of the archive is a header. Other bytes may be there: the
  // last blocks of a tape have any content.
  void CheckFollowsEnd(uint64_t offset, const char* bytes, size_t size) const {
    for (; size >= kTarBlockBytes; size -= kTarBlockBytes) {
      if (IsTarHeader(bytes)) {
        Damaged(offset,
                "it lies after the end of the archive, a block of zeros; `tar -A` joins archives, "
                "cat does not");
      }
      bytes += kTarBlockBytes;
      offset += kTarBlockBytes;
    }
  }

 private:
  const std::string path_;
  const bool compressed_;
};

// The members of one record, one after another.
class Group {
 public:
  bool empty() const { return extensions_.empty(); }
  bool Has(const TarMember& member) const { return !empty() && member.key() == key_; }
  // Where the first header and the last content lie in the archive.
  uint64_t begin() const { return sample_.begin; }
  uint64_t end() const { return end_; }
  const std::string& key() const { return key_; }
  const TarSample& sample() const { return sample_; }

  void Clear() { extensions_.clear(); }
  // Adds the member that begins with this byte.
  void Add(const Archive& archive, uint64_t offset, const TarMember& member) {
    if (empty()) {
      sample_ = TarSample(member.key(), offset);
      key_.assign(member.key());
      text_.clear();
    }
    sample_.Add(member.extension);
    const size_t hash = std::hash<std::string>()(member.extension);
    for (const Extension& other : extensions_) {
      if (other.hash != hash || text_.compare(other.at, other.size, member.extension) != 0)
        continue;
      archive.Damaged(
          offset, StrCat("'", Escaped(member.name), "' is the second file of '", Escaped(key_),
                         "' with the extension '", Escaped(member.extension), "'; the first is at ",
                         archive.Describe(other.offset)));
    }
    if (extensions_.size() == kMostMembers) {
      archive.Damaged(offset,
                      StrCat("the record '", Escaped(key_), "' has more than ", kMostMembers,
                             " files; a record is the files whose names are the same up to the "
                             "first dot"),
                      ErrorCode::kResourceLimit);
    }
    extensions_.push_back({hash, offset, text_.size(), member.extension.size()});
    text_ += member.extension;
    end_ = offset + member.content_end();
    if (end_ - begin() > kMaxRecordBytes) {
      archive.Damaged(begin(),
                      StrCat("the record '", Escaped(key_), "' has ", end_ - begin(),
                             " bytes with its headers; the limit is ", kMaxRecordBytes),
                      ErrorCode::kResourceLimit);
    }
  }

 private:
  struct Extension {
    size_t hash;
    uint64_t offset;  // of the member
    size_t at, size;  // in text_
  };

  TarSample sample_;
  uint64_t end_ = 0;
  std::string key_, text_;
  std::vector<Extension> extensions_;
};

// --- Plain archives ---

class PlainArchive final : public FileSource {
 public:
  // `skips` is null if no record is left out.
  PlainArchive(std::unique_ptr<const File> file, const MemberParser* skips)
      : file_(std::move(file)), skips_(skips), archive_(file_->path(), false) {}

  bool Claim(Chunk* chunk) override {
    while (error_ == nullptr && !ended_ && !IsFull()) {
      try {
        TakeMember();
      } catch (const Error& error) {
        if (error.interrupts()) throw;
        error_ = std::current_exception();
      }
    }
    if (found_.empty()) {
      if (error_ != nullptr) std::rethrow_exception(error_);
      return false;
    }
    const bool goes_beyond = found_.size() > 1 && Extent() > kReadBlockBytes;
    const auto end = found_.end() - (goes_beyond ? 1 : 0);
    chunk->offset = found_.front().begin;
    chunk->length = (end - 1)->end - chunk->offset;
    if (skips_ == nullptr) chunk->records = end - found_.begin();
    Ref<ClaimedList<Piece>> pieces = ClaimedList<Piece>::Take();
    pieces->values.reserve(end - found_.begin());
    for (auto record = found_.begin(); record < end; ++record) {
      pieces->values.push_back(
          {static_cast<uint32_t>(chunk->lead() + (record->begin - chunk->offset)),
           static_cast<uint32_t>(record->end - record->begin)});
    }
    chunk->claimed = std::move(pieces);
    found_.erase(found_.begin(), end);
    return true;
  }

  bool Seek(uint64_t offset, std::optional<uint64_t>) override {
    if (offset % kTarBlockBytes != 0 || offset >= file_->size()) return false;
    next_ = offset;
    group_.Clear();
    found_.clear();
    samples_.Clear();
    ended_ = false;
    error_ = nullptr;
    return true;
  }

  void Fetch(Chunk* chunk) const override {
    chunk->Read(*file_, chunk->offset, chunk->length);
    for (const Piece& piece : ClaimedList<Piece>::Of(*chunk)) {
      const std::string_view record(chunk->bytes->data() + piece.offset, piece.size);
      if (skips_ == nullptr || !skips_->IsLeftOut(record)) chunk->pieces.push_back(piece);
    }
  }

 private:
  // What is read at once to find headers. Small members lie in it several at once, and are read
  // with fewer calls; of large ones little is read.
  static constexpr size_t kWindowBytes = 4096;
  static constexpr size_t kMostWindowBytes = 16 * kWindowBytes;

  struct Record {
    uint64_t begin, end;
  };

  // The bytes from the first record found to the last, and whether they are enough for a chunk.
  uint64_t Extent() const { return found_.back().end - found_.front().begin; }
  bool IsFull() const { return !found_.empty() && Extent() >= kReadBlockBytes; }

  // Adds the next member to the group, or finds the end.
  void TakeMember() {
    CheckStop();
    const uint64_t left = file_->size() - next_;
    TarHeaders headers = TarHeaders::kCut;
    member_.needed = kTarBlockBytes;
    while (headers == TarHeaders::kCut && member_.needed <= left) {
      const std::string_view bytes = BytesAt(next_, member_.needed);
      headers = archive_.ReadHeaders(next_, bytes.data(), bytes.size(), &member_);
    }
    if (headers == TarHeaders::kMember) {
      if (member_.in_record && !group_.Has(member_)) EndGroup();
      if (member_.content_end() > left) archive_.Cut(next_, member_, member_.content_end() - left);
      if (member_.in_record) group_.Add(archive_, next_, member_);
      next_ += std::min(member_.end(), left);  // the last may lack its padding
      return;
    }
    if (headers == TarHeaders::kCut) {
      const std::string_view bytes = BytesAt(next_, std::min<uint64_t>(left, kTarBlockBytes));
      if (!AreZeros(bytes.data(), bytes.size())) archive_.HeadersCut(next_, member_, left);
    }
    EndGroup();
    for (uint64_t at = next_; at < file_->size();) {
      CheckStop();
      const std::string_view bytes =
          BytesAt(at, std::min<uint64_t>(file_->size() - at, kReadBlockBytes));
      archive_.CheckFollowsEnd(at, bytes.data(), bytes.size());
      at += bytes.size();
    }
    ended_ = true;
  }

  void EndGroup() {
    if (group_.empty()) return;
    const std::optional<uint64_t> first = samples_.Add(group_.sample());
    if (first) {
      // The part that was found before is no record, either, if it is not given out yet.
      const auto is_part = [&](const Record& record) { return record.begin == *first; };
      found_.erase(std::find_if(found_.begin(), found_.end(), is_part), found_.end());
      archive_.Torn(group_.begin(), group_.key(), *first);
    }
    found_.push_back({group_.begin(), group_.end()});
    group_.Clear();
  }

  // At least `size` bytes of the file, from `offset` on.
  std::string_view BytesAt(uint64_t offset, size_t size) {
    const uint64_t skipped = offset - window_offset_;
    if (offset < window_offset_ || skipped > window_.size() || window_.size() - skipped < size) {
      const bool continues = offset >= window_offset_ && skipped <= window_.size();
      window_bytes_ = continues ? std::min(2 * window_bytes_, kMostWindowBytes) : kWindowBytes;
      std::string window;
      window.swap(window_);  // it holds nothing if the read is left
      window.resize(std::min<uint64_t>(std::max(2 * size, window_bytes_), file_->size() - offset));
      file_->Read(offset, window.data(), window.size());
      window_.swap(window);
      window_offset_ = offset;
      return window_;
    }
    return std::string_view(window_).substr(skipped);
  }

  const std::unique_ptr<const File> file_;
  const MemberParser* const skips_;
  const Archive archive_;
  uint64_t next_ = 0;  // where the next member begins
  std::string window_;
  size_t window_bytes_ = kWindowBytes;
  uint64_t window_offset_ = 0;
  TarMember member_;
  Group group_;
  TarSamples samples_;         // since the last Seek
  std::vector<Record> found_;  // whole records that no chunk has yet
  bool ended_ = false;
  std::exception_ptr error_;  // comes after them
};

// --- Archives that are compressed or can be read once only ---

class StreamedArchive final : public StreamSource {
 public:
  StreamedArchive(std::unique_ptr<ByteStream> stream, const MemberParser* skips)
      : StreamSource(std::move(stream)),
        skips_(skips),
        archive_(this->stream().path(), this->stream().compressed()) {}

  void Fetch(Chunk* chunk) const override {
    const char* const bytes = chunk->bytes->data() + chunk->lead();
    const size_t size = chunk->length;
    TarMember member;
    Group group;
    for (size_t at = 0; at < size; at += std::min<uint64_t>(member.end(), size - at)) {
      const uint64_t offset = chunk->offset + at;
      if (archive_.ReadHeaders(offset, bytes + at, size - at, &member) != TarHeaders::kMember) {
        archive_.CheckFollowsEnd(offset, bytes + at, size - at);
        break;
      }
      if (!member.in_record) continue;
      if (!group.Has(member)) AddRecord(&group, chunk);
      group.Add(archive_, offset, member);
    }
    AddRecord(&group, chunk);
  }

 private:
  size_t WholeRecords(const Block& block) const override {
    std::vector<TarSample> samples;
    const size_t whole = FindWholeRecords(block, &samples);
    for (const TarSample& sample : samples) {
      if (sample.begin >= block.offset + whole) break;
      const std::optional<uint64_t> first = samples_.Add(sample);
      if (!first) continue;
      // What was found before is no record, either, if it is not given out yet.
      const uint64_t end = (*first < block.offset ? sample.begin : *first) - block.offset;
      if (end > 0) return end;
      const uint64_t at = sample.begin - block.offset;
      TarMember member;
      archive_.ReadHeaders(sample.begin, block.bytes + at, block.size - at, &member);
      archive_.Torn(sample.begin, member.key(), *first);
    }
    return whole;
  }

  // Cuts the block where a record begins whose end is not in it, or the end of the archive: a chunk
  // has either members or what follows them, which begins with a block of zeros. Sets the samples
  // that begin in it.
  size_t FindWholeRecords(const Block& block, std::vector<TarSample>* samples) const {
    TarMember member;
    Group group;
    size_t at = 0;
    const auto whole = [&] { return group.empty() ? at : group.begin() - block.offset; };
    while (at < block.size) {
      const char* const bytes = block.bytes + at;
      const size_t left = block.size - at;
      const uint64_t offset = block.offset + at;
      TarHeaders headers;
      try {
        headers = archive_.ReadHeaders(offset, bytes, left, &member);
        if (headers == TarHeaders::kMember && member.in_record && !group.Has(member)) group.Clear();
        if (headers == TarHeaders::kMember) CheckSize(offset, member, group);
      } catch (const Error&) {
        if (whole() > 0) return whole();
        throw;
      }
      if (headers == TarHeaders::kEnd) return at > 0 ? at : BeforeLastZeros(block);
      const bool cut = headers == TarHeaders::kCut;
      const uint64_t needed = cut ? member.needed : member.content_end();
      // Padding that is yet to come must not begin the next block.
      if (cut || (block.ended ? needed : member.end()) > left) {
        if (cut && block.ended && AreZeros(bytes, left)) return at > 0 ? at : block.size;
        if (whole() > 0) return whole();
        if (!block.ended && needed <= left + stream().most_left()) return 0;
        if (cut) archive_.HeadersCut(offset, member, left);
        archive_.Cut(offset, member, needed - left);
      }
      if (member.in_record && group.empty()) {
        group.Add(archive_, offset, member);
        samples->emplace_back(member.key(), offset);
      }
      if (member.in_record) samples->back().Add(member.extension);
      at += std::min<uint64_t>(member.end(), left);
    }
    return block.ended ? block.size : whole();
  }

  // Of a block that begins with the end of the archive.
  size_t BeforeLastZeros(const Block& block) const {
    if (block.ended) return block.size;
    if (block.size > kMaxRecordBytes) {
      archive_.Damaged(block.offset, "no archive has so much after its end",
                       ErrorCode::kResourceLimit);
    }
    size_t at = (block.size / kTarBlockBytes - 1) * kTarBlockBytes;
    while (at > 0 && !AreZeros(block.bytes + at, kTarBlockBytes)) at -= kTarBlockBytes;
    return at;
  }

  // Memory for the whole member will be needed, and for what precedes it in its record.
  void CheckSize(uint64_t offset, const TarMember& member, const Group& group) const {
    const uint64_t begin = group.empty() ? offset : group.begin();
    if (offset + member.content_end() - begin <= kMaxRecordBytes) return;
    archive_.Damaged(
        offset,
        StrCat("'", Escaped(member.name), "' has ", member.size, " bytes; the limit is ",
               kMaxRecordBytes, " for a record, and for any file of a compressed archive"),
        ErrorCode::kResourceLimit);
  }

  void AddRecord(Group* group, Chunk* chunk) const {
    if (group->empty()) return;
    const size_t at = chunk->lead() + (group->begin() - chunk->offset);
    const std::string_view record(chunk->bytes->data() + at, group->end() - group->begin());
    group->Clear();
    if (skips_ != nullptr && skips_->IsLeftOut(record)) return;
    chunk->pieces.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(record.size())});
  }

  const MemberParser* const skips_;
  const Archive archive_;
  mutable TarSamples samples_;  // for Claim, which is what asks where records end
};

std::unique_ptr<FileSource> OpenArchive(const FileEntry& entry, const MemberParser* skips) {
  if (CanBeReadOnceOnly(entry.path)) {
    return std::make_unique<StreamedArchive>(
        std::make_unique<ByteStream>(entry.path, entry.buffer_type), skips);
  }
  std::unique_ptr<const File> file = File::Open(entry.path, entry.buffer_type);
  char head[kTarBlockBytes];
  bool plain = file->size() >= sizeof(head);
  if (plain) {
    file->Read(0, head, sizeof(head));
    plain = IsTarHeader(head);  // whatever the name says
  }
  if (!plain) {
    auto stream = std::make_unique<ByteStream>(entry.path, entry.buffer_type);
    if (!stream->plain()) return std::make_unique<StreamedArchive>(std::move(stream), skips);
  }
  return std::make_unique<PlainArchive>(std::move(file), skips);
}

class TarFormat final : public CountedFormat {
 public:
  TarFormat(const FormatArguments& arguments, std::vector<Field> fields)
      : CountedFormat(AgreeOnSlots(arguments.declared, SlotsOf(fields))),
        parser_(std::move(fields), OthersOf(arguments.attributes)),
        skips_(AnySkips(parser_.fields())) {}

  std::string PlaceName(const FileEntry&, uint64_t) const override { return "the group of files"; }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    parser_.Load(tickets, n, rows);
  }

 private:
  std::unique_ptr<FileSource> OpenUncounted(const FileEntry& file, bool* counted) override {
    *counted = skips_;
    return OpenArchive(file, skips_ ? &parser_ : nullptr);
  }
  std::string Rules() const override { return "tar"; }
  bool leaves_out_records() const override { return skips_; }

  const MemberParser parser_;
  const bool skips_;
};

// --- Guessing ---

// The extensions of files that hold an integer as text, as WebDataset decodes them without being
// told to (Source: webdataset 1.0, webdataset/autodecode.py), and the slot of classes that readers
// of images have, of which Reader.write makes such a file.
constexpr std::string_view kIntegerExtensions[] = {"cls", "cls2",  "count", "id",
                                                   "inx", "index", "label"};

bool IsInteger(std::string_view content) {
  const std::string_view text = Trimmed(content);
  int64_t number;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return read.ec == std::errc() && read.ptr == text.data() + text.size();
}

// The extensions that records have. Only what names an integer becomes one: other texts that look
// so may be texts.
class TarFieldsOfRecords final : public FieldsOfRecords {
 public:
  void Add(const std::vector<std::string_view>& values) override {
    ++records_;
    const std::string_view record = values[0];
    TarMember member;
    for (uint64_t at = 0; at < record.size(); at += member.end()) {
      const std::string_view rest = record.substr(at);
      if (ReadTarHeaders(rest.data(), rest.size(), &member) != TarHeaders::kMember) break;
      if (!member.in_record) continue;
      const bool may_be = std::find(std::begin(kIntegerExtensions), std::end(kIntegerExtensions),
                                    member.extension) != std::end(kIntegerExtensions);
      Seen& seen = extensions_.emplace(member.extension, Seen{0, may_be}).first->second;
      ++seen.times;
      seen.integers = seen.integers && IsInteger(rest.substr(member.header_bytes, member.size));
    }
  }

  FittingFields Fields() const override {
    FittingFields fields;
    if (records_ == 0) return fields;
    fields.entries.push_back(StrCat(kKey, " bytes"));
    for (const auto& [extension, seen] : extensions_) {
      if (!IsExtensionOfField(extension)) {
        fields.left_out.push_back(
            StrCat("'", Escaped(extension), "': the extension cannot be the name of a field"));
        continue;
      }
      const std::string type = seen.integers ? "int64[] decode=text" : "bytes";
      fields.entries.push_back(EntryFor(extension, seen.times < records_ ? OrMissing(type) : type));
    }
    return fields;
  }

  size_t records() const { return records_; }

 private:
  struct Seen {
    size_t times = 0;
    bool integers;
  };

  std::map<std::string, Seen> extensions_;
  size_t records_ = 0;
};

// By the first records of the first chunk that has some.
FittingFields Guess(const std::string& path, const AttributeMap&) {
  constexpr size_t kLookedAt = 1000;
  TarFieldsOfRecords fields;
  const std::unique_ptr<FileSource> source = OpenArchive({path, ""}, nullptr);
  while (fields.records() == 0) {
    const Ref<Chunk> chunk = Pool<Chunk>::Take();
    if (!source->Claim(chunk.get())) break;
    source->Fetch(chunk.get());
    for (const Piece& piece : chunk->pieces) {
      if (fields.records() == kLookedAt) break;
      fields.Add({std::string_view(chunk->bytes->data() + piece.offset, piece.size)});
    }
  }
  return fields.Fields();
}

std::unique_ptr<FieldsOfRecords> FieldsOfAll(const FittingFields&, const AttributeMap&) {
  return std::make_unique<TarFieldsOfRecords>();
}

FormatSchema Schema() {
  FormatSchema schema(
      "tar archives as WebDataset has them: the files with one key are a record; plain, gzip, "
      "zstd, lz4, bzip2, xz");
  return std::move(
      schema.Extension(".tar")
          .Extension(".tgz")
          .Attr(FieldsAttribute("extensions of the files of a record, such as jpg;jpeg;png (the "
                                "first that is there), json:key or json:/pointer for a value in a "
                                "JSON file, and __key__ for what their names have in common"))
          .Attr(OthersAttribute())
          .InferFields(&Guess)
          .InferFieldsOfRecords(&FieldsOfAll));
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  std::vector<Field> fields =
      ParseFields(arguments.attributes.Get<std::vector<std::string>>("fields"));
  if (fields.empty()) {
    throw MissingSlots::ErrorOf(
        "tar needs the attribute fields, the extensions of a record's files, such as fields: "
        "\"jpg;jpeg;png bytes\", \"cls int64[] decode=text\"; `millhopper-peek FILE` prints some "
        "that fit a file",
        {"jpg;jpeg;png bytes", "cls int64[] decode=text"});
  }
  return std::make_unique<TarFormat>(arguments, std::move(fields));
}

REGISTER_FILE_FORMAT(tar, Schema, Make);

}  // namespace
}  // namespace millhopper
