// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/position.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/util/json_util.h>
#include <google/protobuf/util/type_resolver_util.h>
#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "framework/base/limits.h"
#include "framework/base/random.h"
#include "framework/base/url.h"
#include "framework/io/saved_name.h"
#include "framework/reader/message_items.h"
#include "proto/position.pb.h"

namespace millhopper {
namespace {

using google::protobuf::io::CodedInputStream;

constexpr uint32_t kVersion = 1;
// Messages within messages: an element of one reader is made of those of the next.
constexpr int kMaxNesting = 2 * kMaxReaderDepth + 10;

[[noreturn]] void Wrong(const std::string& problem) {
  Throw(ErrorCode::kInvalidArgument, "this is no position of a chain of readers: ", problem);
}

// ---- Elements. ----

auto Key(const RecordId& id) { return std::make_tuple(id.pass, id.file, id.chunk, id.record); }

bool SameChunk(const RecordId& a, const RecordId& b) {
  return a.pass == b.pass && a.file == b.file && a.chunk == b.chunk;
}

// The difference of two numbers of 64 bits, which may wrap around; adding it undoes that.
int64_t Difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }

void Pack(const std::vector<RecordId>& records, position_proto::PackedRecords* packed) {
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const auto before = [&](size_t a, size_t b) { return Key(records[a]) < Key(records[b]); };
  if (!std::is_sorted(order.begin(), order.end(), before)) {
    std::stable_sort(order.begin(), order.end(), before);
    for (const size_t place : order) packed->add_places(place);
  }
  RecordId last;
  size_t run = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const RecordId& id = records[order[i]];
    if (i == 0 || !SameChunk(id, last)) {
      packed->add_passes(Difference(id.pass, last.pass));
      packed->add_files(static_cast<int64_t>(id.file) - static_cast<int64_t>(last.file));
      packed->add_chunks(Difference(id.chunk, last.chunk));
      if (run > 0) packed->add_counts(run);
      run = 0;
      last.record = 0;
    }
    packed->add_records(id.record - last.record);
    packed->add_samples(Difference(id.sample, last.sample));
    ++run;
    last = id;
  }
  if (run > 0) packed->add_counts(run);
}

std::vector<RecordId> Unpack(const position_proto::PackedRecords& packed) {
  const int runs = packed.counts_size();
  const int count = packed.records_size();
  if (packed.passes_size() != runs || packed.files_size() != runs || packed.chunks_size() != runs ||
      packed.samples_size() != count ||
      (packed.places_size() != 0 && packed.places_size() != count)) {
    Wrong("the columns of its records have different lengths");
  }
  std::vector<RecordId> sorted;
  sorted.reserve(static_cast<size_t>(count));
  RecordId id;
  int64_t file = 0;
  for (int run = 0; run < runs; ++run) {
    id.pass += static_cast<uint64_t>(packed.passes(run));
    id.chunk += static_cast<uint64_t>(packed.chunks(run));
    if (__builtin_add_overflow(file, packed.files(run), &file) || file < 0 || file > UINT32_MAX) {
      Wrong("a record is in no file");
    }
    id.file = static_cast<uint32_t>(file);
    if (packed.counts(run) > static_cast<size_t>(count) - sorted.size()) {
      Wrong("a chunk has more records than there are");
    }
    uint64_t record = 0;
    for (uint64_t i = 0; i < packed.counts(run); ++i) {
      const int at = static_cast<int>(sorted.size());
      if (__builtin_add_overflow(record, packed.records(at), &record) || record > UINT32_MAX) {
        Wrong("a record is in no chunk");
      }
      id.record = static_cast<uint32_t>(record);
      id.sample += static_cast<uint64_t>(packed.samples(at));
      sorted.push_back(id);
    }
  }
  if (sorted.size() != static_cast<size_t>(count)) Wrong("a record is in no chunk");
  if (packed.places_size() == 0) return sorted;
  std::vector<RecordId> records(sorted.size());
  std::vector<bool> taken(sorted.size());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const uint64_t place = packed.places(static_cast<int>(i));
    if (place >= records.size() || taken[place]) Wrong("two records have one place");
    taken[place] = true;
    records[place] = sorted[i];
  }
  return records;
}

// In which form records are written.
enum class Form { kPacked, kReadable };

void Write(const ElementNames& names, Form form, position_proto::Elements* out) {
  out->set_count(names.count);
  if (form == Form::kPacked) {
    if (!names.records.empty()) Pack(names.records, out->mutable_packed());
  } else {
    for (const RecordId& id : names.records) {
      position_proto::Record* const record = out->add_records();
      record->set_pass(id.pass);
      record->set_sample(id.sample);
      record->set_file(id.file);
      record->set_chunk(id.chunk);
      record->set_record(id.record);
    }
  }
  for (const uint64_t number : names.numbers) out->add_numbers(number);
  for (const ElementNames& below : names.below) Write(below, form, out->add_below());
}

// Something is written for each element: so the invented count of a wrong position takes no memory.
void CheckCount(const ElementNames& names) {
  size_t most = std::max(names.records.size(), names.numbers.size());
  for (const ElementNames& below : names.below) most = std::max(most, below.count);
  if (names.count > most) Wrong(StrCat("it names ", most, " of ", names.count, " elements"));
}

ElementNames Read(const position_proto::Elements& in) {
  ElementNames names;
  names.count = in.count();
  if (in.records_size() > 0) Wrong("records are not packed");
  names.records = Unpack(in.packed());
  names.numbers.assign(in.numbers().begin(), in.numbers().end());
  names.below.reserve(static_cast<size_t>(in.below_size()));
  for (const position_proto::Elements& below : in.below()) names.below.push_back(Read(below));
  CheckCount(names);
  return names;
}

// ---- Files. ----

void Write(const FileList& files, position_proto::FileList* out) {
  out->set_count(files.count);
  out->set_bytes(files.bytes);
  out->set_fingerprint(files.fingerprint);
  out->set_tells_queries(files.tells_queries);
  for (const FileList::File& file : files.files) {
    position_proto::FileList::File* const one = out->add_files();
    one->set_path(file.path);
    one->set_bytes(file.bytes);
    one->set_fingerprint(file.fingerprint);
  }
}

FileList Read(const position_proto::FileList& in) {
  FileList files;
  files.count = in.count();
  files.bytes = in.bytes();
  files.fingerprint = in.fingerprint();
  files.tells_queries = in.tells_queries();
  files.files.reserve(static_cast<size_t>(in.files_size()));
  for (const position_proto::FileList::File& file : in.files()) {
    files.files.push_back({file.path(), file.bytes(), file.fingerprint()});
  }
  return files;
}

void Write(const FilePlace& place, position_proto::FilePlace* out) {
  out->set_file(place.file);
  out->set_begun(place.begun);
  out->set_chunk(place.chunk);
  out->set_number(place.number);
  out->set_records(place.records);
  out->set_done(place.done);
  out->set_passed_over(place.passed_over);
}

FilePlace Read(const position_proto::FilePlace& in) {
  return {in.file(),    in.begun(), in.chunk(),      in.number(),
          in.records(), in.done(),  in.passed_over()};
}

// ---- Settings, which may be long texts. ----

constexpr size_t kMostShown = 200;

// Where to begin to show two values that differ.
size_t ShownFrom(const std::string& a, const std::string& b) {
  constexpr size_t kBefore = 40;  // what is shown of what they have in common
  if (std::max(a.size(), b.size()) <= kMostShown) return 0;
  const auto shorter = static_cast<std::ptrdiff_t>(std::min(a.size(), b.size()));
  const auto same = static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + shorter, b.begin()).first - a.begin());
  return same > kBefore ? same - kBefore : 0;
}

std::string Shown(const std::string& value, size_t from) {
  const bool cut = value.size() > from + kMostShown;
  return StrCat(from > 0 ? "..." : "", Escaped(value.substr(from, kMostShown)), cut ? "..." : "");
}

// "3 files", "1 file".
std::string Files(uint64_t count) { return StrCat(count, count == 1 ? " file" : " files"); }

// A path without what its query says, as older positions have it.
std::string PlainPath(const std::string& path) {
  const std::string_view name = WithoutQuery(path);
  return name.size() == path.size() ? path : StrCat(name, path[name.size()], "...");
}

void AddToFingerprint(const std::string& path, const FileList::File& file, uint64_t* fingerprint) {
  uint64_t hash = MixBits(*fingerprint + path.size());
  for (const char c : path) hash = MixBits(hash + static_cast<unsigned char>(c));
  *fingerprint = MixBits(MixBits(hash + file.bytes) + file.fingerprint);
}

// Whether two paths are those of one file. Of the paths in older positions some have secrets, and
// none tells a version.
bool SamePath(const FileList& saved, const std::string& before, const std::string& after) {
  if (before == after) return true;
  return !saved.tells_queries && PlainPath(Escaped(SavedName(before))) == PlainPath(after);
}

// What differs between the files of a position and those of the chain; "" if nothing does.
std::string Differs(const FileList& saved, const FileList& now) {
  if (saved.count != now.count) {
    return StrCat("it was saved over ", Files(saved.count), ", this chain has ", now.count);
  }
  for (size_t i = 0; i < std::min(saved.files.size(), now.files.size()); ++i) {
    const FileList::File& before = saved.files[i];
    const FileList::File& after = now.files[i];
    if (!SamePath(saved, before.path, after.path)) {
      return StrCat("file ", i, " was '", Escaped(before.path), "', now it is '",
                    Escaped(after.path), "'");
    }
    if (before.bytes != after.bytes) {
      return StrCat("'", Escaped(after.path), "' had ", before.bytes, " bytes, now it has ",
                    after.bytes);
    }
    if (before.fingerprint != after.fingerprint) {
      return StrCat("the files that '", Escaped(after.path),
                    "' names, or their labels, are not what they were");
    }
  }
  if (saved.bytes != now.bytes) {
    return StrCat("its ", Files(now.count), " had ", saved.bytes, " bytes together, now they have ",
                  now.bytes);
  }
  const bool all_compared = !saved.tells_queries && saved.files.size() == saved.count;
  if (!all_compared &&
      saved.fingerprint != (saved.tells_queries ? now.fingerprint : now.plain_fingerprint)) {
    return StrCat("the names, the order, the sizes or the lists of its ", Files(now.count),
                  " are not what they were");
  }
  return "";
}

// ---- The whole. ----

uint32_t Checksum(std::string_view bytes) {
  return static_cast<uint32_t>(
      ::crc32_z(0, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()));
}

template <typename Message>
std::string Bytes(const Message& message) {
  if (message.ByteSizeLong() > kMaxPositionBytes) {
    Throw(ErrorCode::kResourceLimit, "the position of a chain of readers takes ",
          message.ByteSizeLong(), " bytes; the limit is ", kMaxPositionBytes);
  }
  std::string bytes;
  {
    google::protobuf::io::StringOutputStream stream(&bytes);
    google::protobuf::io::CodedOutputStream out(&stream);
    out.SetSerializationDeterministic(true);  // maps in the order of their keys
    message.SerializeWithCachedSizes(&out);
  }
  return bytes;
}

}  // namespace

void ElementNames::Append(const ElementNames& more) {
  count += more.count;
  records.insert(records.end(), more.records.begin(), more.records.end());
  numbers.insert(numbers.end(), more.numbers.begin(), more.numbers.end());
  if (below.size() < more.below.size()) below.resize(more.below.size());
  for (size_t i = 0; i < more.below.size(); ++i) below[i].Append(more.below[i]);
}

void ElementNames::Clear() {
  count = 0;
  records.clear();
  numbers.clear();
  below.clear();
}

void ElementNames::AddRecords(const Ticket* tickets, size_t n) {
  count += n;
  records.resize(records.size() + n);  // at once: a batch may have thousands
  std::transform(tickets, tickets + n, records.end() - static_cast<ptrdiff_t>(n),
                 [](const Ticket& ticket) { return ticket.id; });
}

void ElementNames::CheckRecords(const std::string& origin) const {
  Require(records.size() == count && below.empty() && numbers.empty(), "the position names ", count,
          " elements of ", origin, ", but ", records.size(), " records");
}

FileList FileList::Of(std::vector<File> files) {
  FileList list;
  list.count = files.size();
  size_t names = 0;
  for (File& file : files) {
    file.path = Escaped(SavedName(file.path));  // what is stored is UTF-8, and no secret
    list.bytes += file.bytes;
    AddToFingerprint(file.path, file, &list.fingerprint);
    AddToFingerprint(PlainPath(file.path), file, &list.plain_fingerprint);
    names += file.path.size();
  }
  if (names > kMaxListedFileBytes) return list;
  list.files = std::move(files);
  return list;
}

void ReaderState::Setting(const std::string& name, const std::string& value) {
  settings_[name] = SavedText(value);
}

uint64_t ReaderState::Get(const std::string& name, uint64_t most) const {
  const auto found = numbers_.find(name);
  if (found == numbers_.end()) Fail("it does not say '", name, "'");
  if (found->second > most)
    Fail("'", name, "' is ", found->second, "; it can be ", most, " at most");
  return found->second;
}

uint64_t ReaderState::GetSetting(const std::string& name, uint64_t most) const {
  const auto found = settings_.find(name);
  if (found == settings_.end()) Fail("it does not say '", name, "'");
  const std::string& text = found->second;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_number = error == std::errc() && end == text.data() + text.size();
  if (!is_number || value == 0 || value > most) {
    Fail("'", name, "' is ", Shown(text, 0), "; it can be 1 to ", most);
  }
  return value;
}

const std::vector<uint64_t>& ReaderState::List(const std::string& name) const {
  static const auto* const kNone = new std::vector<uint64_t>;
  const auto found = lists_.find(name);
  return found == lists_.end() ? *kNone : found->second;
}

const ElementNames& ReaderState::Elements(const std::string& name) const {
  static const auto* const kNone = new ElementNames;
  const auto found = elements_.find(name);
  return found == elements_.end() ? *kNone : found->second;
}

std::string ReaderState::Called() const {
  if (kind_.empty() && name_.empty()) return "a reader";
  return StrCat(kind_.empty() ? "reader" : Escaped(kind_), name_.empty() ? "" : " '",
                Escaped(name_), name_.empty() ? "" : "'");
}

void ReaderState::ThrowWrong(const std::string& problem) const {
  Throw(ErrorCode::kInvalidArgument, "the position of ", Called(), " is wrong: ", problem);
}

bool SharedReaders::Meet(const void* reader, size_t count, const std::string& origin) {
  Met& known = readers_[reader];
  known.count = count;
  known.origin = origin;
  return ++known.met == 1;
}

void SharedReaders::CheckAllMet() const {
  for (const auto& entry : readers_) {
    const Met& one = entry.second;
    Require(one.met == one.count, one.origin.empty() ? "a reader" : one.origin, " is read by ",
            one.count, " readers, and only ", one.met,
            " of them would be saved or restored. Where one stands says nothing of what the others "
            "have taken, so that all must be saved together, and restored together");
  }
}

const ReaderState& PositionCursor::Next() {
  Require(next_ < position_.readers_.size(), "the position was saved by a chain of ", next_,
          " readers; this one has more");
  return position_.readers_[next_++];
}

const ReaderState& Position::OfRank() const {
  static const auto* const kNone = new ReaderState;
  const auto of_rank = std::find_if(readers_.begin(), readers_.end(),
                                    [](const ReaderState& reader) { return reader.ranks_ > 1; });
  if (of_rank != readers_.end()) return *of_rank;
  return readers_.empty() ? *kNone : readers_.front();
}

Position Position::OfAllRanks(std::vector<Position> ranks) {
  Require(!ranks.empty(), "there is no position of any rank");
  // Ranks that share nothing, or that have just gone to a position of all of them, have the same.
  const uint64_t count = ranks[0].OfRank().ranks_;
  const bool alike = std::all_of(ranks.begin(), ranks.end(), [&](const Position& position) {
    return position.OfRank().ranks_ == 1 && position.pass_ == ranks[0].pass_ &&
           position.read_ == ranks[0].read_ && position.end_ == ranks[0].end_ &&
           position.ranks_.size() == ranks[0].ranks_.size();
  });
  if (alike && ranks.size() > 1) {
    for (Position& position : ranks) {
      try {
        if (position.ranks_.empty()) position.CheckSameChain(ranks[0]);
      } catch (const Error& error) {
        throw error.WithContext(
            "while comparing the ranks, which must share lanes (open_files with lanes: 16), or all "
            "read the same");
      }
      Require(position.ranks_.empty() || position.Serialize() == ranks[0].Serialize(),
              "the ranks have gone to different positions of all ranks");
    }
    return std::move(ranks[0]);
  }
  std::vector<Position> ordered(ranks.size());
  std::vector<bool> known(ranks.size());
  const Position* unended = nullptr;
  for (Position& position : ranks) {
    const uint64_t rank = position.OfRank().rank_;
    const uint64_t all = position.OfRank().ranks_;
    Require(position.ranks_.empty(), "one of the positions is of all ranks already");
    Require(all == count && count == ranks.size() && rank < all && !known[rank], "these are ",
            ranks.size(), " positions, one of rank ", rank, " of ", all,
            "; there must be one of each rank");
    Require(position.pass_ == ranks[0].pass_, "one rank is in pass ", ranks[0].pass_,
            ", another one in pass ", position.pass_);
    if (!position.end_) {
      if (unended == nullptr) unended = &position;
      Require(position.read_ == unended->read_, "one rank has read ", unended->read_,
              " elements of the pass, another one ", position.read_,
              "; the positions must be those after one step");
    }
    known[rank] = true;
  }
  for (Position& position : ranks) {
    const uint64_t rank = position.OfRank().rank_;
    ordered[rank] = std::move(position);
  }
  if (ordered.size() == 1) return std::move(ordered[0]);
  Position all;
  all.order_version_ = ordered[0].order_version_;
  all.ranks_ = std::move(ordered);
  return all;
}

void Position::CheckSameChain(const Position& now) const {
  const auto differ = [](const std::string& who, const std::string& problem) {
    Throw(ErrorCode::kInvalidArgument, "the position is not one of this chain of readers: ", who,
          problem);
  };
  if (order_version_ != now.order_version_) {
    differ("", StrCat("it was saved with order version ", order_version_,
                      ", this program reads in the order of version ", now.order_version_));
  }
  const auto list = [](const std::vector<ReaderState>& readers) {
    std::string text;
    for (size_t i = 0; i < std::min<size_t>(readers.size(), 20); ++i) {
      text += (i == 0 ? "" : ", ") + readers[i].Called();
    }
    return text + (readers.size() > 20 ? ", ..." : "");
  };
  const auto shared = [](const std::vector<ReaderState>& readers) {
    return std::find_if(readers.begin(), readers.end(),
                        [](const ReaderState& reader) { return reader.kind_ == kSharedReader; });
  };
  const auto with_others = shared(readers_);
  if (with_others != readers_.end() && shared(now.readers_) == now.readers_.end()) {
    differ("", StrCat("it was saved together with those of others that read '",
                      Escaped(with_others->name_), "', too, and can only be restored with them"));
  }
  const auto lanes = [](const std::vector<ReaderState>& readers) {
    for (const ReaderState& reader : readers) {
      const auto found = reader.settings_.find("lanes");
      if (found != reader.settings_.end()) return found->second;
    }
    return std::string("1");
  };
  const std::string saved_lanes = lanes(readers_);
  const std::string own_lanes = lanes(now.readers_);
  if (saved_lanes != own_lanes) {
    differ("",
           StrCat("it was saved ", saved_lanes == "1" ? "without" : "with " + Escaped(saved_lanes),
                  " lanes, here ", own_lanes == "1" ? "are none" : StrCat("are ", own_lanes),
                  "; lanes: ", Escaped(saved_lanes), " restores it, an attribute of open_files (",
                  "in Python open_files(..., lanes=", Escaped(saved_lanes), "))"));
  }
  const ReaderState& saved_rank = OfRank();
  const ReaderState& own_rank = now.OfRank();
  if (saved_rank.rank_ != own_rank.rank_ || saved_rank.ranks_ != own_rank.ranks_) {
    differ("", StrCat("it was saved by rank ", saved_rank.rank_, " of ", saved_rank.ranks_,
                      ", this is rank ", own_rank.rank_, " of ", own_rank.ranks_,
                      ". The positions of all ", saved_rank.ranks_,
                      " ranks together are that of any number of ranks (in Python "
                      "millhopper.merge_states)"));
  }
  if (readers_.size() != now.readers_.size()) {
    differ("", StrCat("it was saved by ", readers_.size(), " readers (", list(readers_),
                      "), here are ", now.readers_.size(), " (", list(now.readers_), ")"));
  }
  for (size_t i = 0; i < readers_.size(); ++i) {
    const ReaderState& saved = readers_[i];
    const ReaderState& own = now.readers_[i];
    if (saved.kind_ != own.kind_ || saved.name_ != own.name_) {
      differ("", StrCat(saved.Called(), " was where ", own.Called(), " is now"));
    }
    const std::string who = own.Called() + ": ";
    for (const auto& [name, value] : own.settings_) {
      const auto found = saved.settings_.find(name);
      if (found == saved.settings_.end()) differ(who, StrCat("it was saved without ", name));
      if (name == own.cut_ || name == own.gone_on_with_) continue;
      if (found->second != value && SavedText(found->second) != value) {
        const size_t from = ShownFrom(found->second, value);
        differ(who, StrCat(name, " was ", Shown(found->second, from), ", now it is ",
                           Shown(value, from), own.advice_.empty() ? "" : ". ", own.advice_));
      }
    }
    for (const auto& [name, value] : saved.settings_) {
      if (own.settings_.count(name) == 0) {
        differ(who, StrCat("it was saved with ", Escaped(name), " ", Shown(value, 0)));
      }
    }
    if (saved.files_.has_value() != own.files_.has_value()) {
      differ(who, own.files_ ? "it was saved by a reader without files"
                             : "it was saved by a reader of files");
    }
    if (!own.files_) continue;
    const std::string files = Differs(*saved.files_, *own.files_);
    if (!files.empty()) differ(who, files);
  }
}

std::optional<NewCut> Position::LastNewCut(const Position& now) const {
  for (size_t i = now.readers_.size(); i-- > 0;) {
    const ReaderState& own = now.readers_[i];
    if (own.cut_.empty()) continue;
    const std::string& before = readers_[i].settings_.at(own.cut_);
    const std::string& after = own.settings_.at(own.cut_);
    if (before == after) continue;
    return NewCut{i, StrCat(own.Called(), ": ", own.cut_, " was ", Shown(before, 0), ", now it is ",
                            Shown(after, 0))};
  }
  return std::nullopt;
}

// Converts between the values that readers use and the messages that are stored.
class PositionCodec {
 public:
  static void Write(const Position& position, Form form, position_proto::ChainPosition* out) {
    out->set_order_version(static_cast<uint32_t>(position.order_version_));
    for (const Position& rank : position.ranks_) Write(rank, form, out->add_ranks());
    out->set_pass(position.pass_);
    out->set_read(position.read_);
    out->set_begun(position.begun_);
    out->set_end(position.end_);
    if (position.ahead_.count > 0) millhopper::Write(position.ahead_, form, out->mutable_ahead());
    for (const ReaderState& reader : position.readers_) Write(reader, form, out->add_readers());
  }

  static Position Read(const position_proto::ChainPosition& in) {
    Position position;
    if (in.order_version() > static_cast<uint32_t>(INT32_MAX)) Wrong("it is of no order version");
    position.order_version_ = static_cast<int>(in.order_version());
    position.pass_ = in.pass();
    position.read_ = in.read();
    position.ranks_.reserve(static_cast<size_t>(in.ranks_size()));
    for (const position_proto::ChainPosition& rank : in.ranks()) {
      if (rank.ranks_size() > 0) Wrong("a rank consists of ranks");
      position.ranks_.push_back(Read(rank));
    }
    position.begun_ = in.begun();
    position.end_ = in.end();
    position.ahead_ = millhopper::Read(in.ahead());
    position.readers_.reserve(static_cast<size_t>(in.readers_size()));
    for (const position_proto::ReaderPosition& reader : in.readers()) {
      position.readers_.push_back(Read(reader));
    }
    return position;
  }

 private:
  static void Write(const ReaderState& state, Form form, position_proto::ReaderPosition* out) {
    out->set_kind(state.kind_);
    out->set_name(state.name_);
    for (const auto& [name, value] : state.settings_) (*out->mutable_settings())[name] = value;
    if (state.files_) millhopper::Write(*state.files_, out->mutable_files());
    out->set_end(state.end_);
    if (state.ranks_ > 1) {
      out->set_rank(state.rank_);
      out->set_ranks(state.ranks_);
    }
    for (const auto& [name, number] : state.numbers_) (*out->mutable_numbers())[name] = number;
    for (const auto& [name, numbers] : state.lists_) {
      position_proto::NumberList& list = (*out->mutable_lists())[name];
      list.mutable_numbers()->Add(numbers.begin(), numbers.end());
    }
    for (const auto& [name, elements] : state.elements_) {
      millhopper::Write(elements, form, &(*out->mutable_elements())[name]);
    }
    for (const FilePlace& place : state.places_) millhopper::Write(place, out->add_places());
  }

  static ReaderState Read(const position_proto::ReaderPosition& in) {
    ReaderState state;
    state.kind_ = in.kind();
    state.name_ = in.name();
    state.settings_.insert(in.settings().begin(), in.settings().end());
    if (in.has_files()) state.files_ = millhopper::Read(in.files());
    state.end_ = in.end();
    if (in.ranks() > 0) state.SetRank(in.rank(), in.ranks());
    state.numbers_.insert(in.numbers().begin(), in.numbers().end());
    for (const auto& [name, list] : in.lists()) {
      state.lists_[name].assign(list.numbers().begin(), list.numbers().end());
    }
    for (const auto& [name, elements] : in.elements()) {
      state.elements_[name] = millhopper::Read(elements);
    }
    state.places_.reserve(static_cast<size_t>(in.places_size()));
    for (const position_proto::FilePlace& place : in.places()) {
      state.places_.push_back(millhopper::Read(place));
    }
    return state;
  }
};

std::string Position::Serialize() const {
  position_proto::ChainPosition chain;
  PositionCodec::Write(*this, Form::kPacked, &chain);
  position_proto::StoredPosition stored;
  stored.set_version(kVersion);
  stored.set_chain(Bytes(chain));
  stored.set_checksum(Checksum(stored.chain()));
  return Bytes(stored);
}

std::string Position::ToJson() const {
  position_proto::ChainPosition chain;
  PositionCodec::Write(*this, Form::kReadable, &chain);
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  // Printed from its bytes, in which maps are sorted; those of a message are in any order.
  const std::string prefix = "type.googleapis.com";
  const std::unique_ptr<google::protobuf::util::TypeResolver> types(
      google::protobuf::util::NewTypeResolverForDescriptorPool(
          prefix, position_proto::ChainPosition::descriptor()->file()->pool()));
  std::string json;
  const auto status = google::protobuf::util::BinaryToJsonString(
      types.get(), prefix + "/" + position_proto::ChainPosition::descriptor()->full_name(),
      Bytes(chain), &json, options);
  if (!status.ok()) {
    Throw(ErrorCode::kInternal, "a position cannot be printed: ", status.ToString());
  }
  return json;
}

Position Position::Parse(std::string_view bytes) {
  if (bytes.size() > kMaxPositionBytes) {
    Throw(ErrorCode::kResourceLimit, "a position of ", bytes.size(), " bytes; the limit is ",
          kMaxPositionBytes);
  }
  position_proto::StoredPosition stored;
  // Every bit counts: what is written again must be what was read.
  if (!stored.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) ||
      Bytes(stored) != bytes || stored.chain().empty()) {
    Wrong("its form is not that of a position, or a part of it is missing");
  }
  if (stored.version() != kVersion) {
    Wrong(StrCat("its version is ", stored.version(), "; this program knows version ", kVersion));
  }
  const uint32_t checksum = Checksum(stored.chain());
  if (stored.checksum() != checksum) {
    Wrong(StrCat("its bytes have the checksum ", checksum, ", but it was saved with ",
                 stored.checksum(), "; it was damaged since"));
  }
  const auto* const chain_bytes = reinterpret_cast<const uint8_t*>(stored.chain().data());
  const int size = static_cast<int>(stored.chain().size());
  CodedInputStream counted(chain_bytes, size);
  counted.SetRecursionLimit(kMaxNesting);
  if (!HasFewItems(position_proto::ChainPosition::descriptor(), kMaxPositionItems, &counted)) {
    Wrong(StrCat("its form is not that of a position, or it has more than ", kMaxPositionItems,
                 " parts"));
  }
  position_proto::ChainPosition chain;
  CodedInputStream in(chain_bytes, size);
  in.SetRecursionLimit(kMaxNesting);
  if (!chain.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
    Wrong("its form is not that of a position");
  }
  return PositionCodec::Read(chain);
}

}  // namespace millhopper
