// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/file_reader.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/random.h"
#include "framework/base/spelling.h"
#include "framework/io/counted_reads.h"
#include "framework/io/file_system.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/record_place.h"

namespace millhopper {
namespace {

constexpr size_t kAskedAtOnce = 1024;  // files that are asked whether they exist
constexpr size_t kLoadedAtOnce = 128;

// "" or, for a path such as "cvs:x", that "cvs" is no format, and which there are.
std::string UnknownFormatHint(const std::string& path) {
  if (IsCommand(path)) return "";
  const std::string prefix = path.substr(0, path.find(':'));
  const bool is_word = prefix.size() < path.size() && prefix.size() > 1 &&
                       path.compare(prefix.size(), 3, "://") != 0 &&
                       std::all_of(prefix.begin(), prefix.end(), [](char c) {
                         return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
                       });
  if (!is_word) return "";
  std::string hint = StrCat("; if '", prefix, "' is to be its format: there is none of this name");
  const std::string meant = DidYouMean(prefix, FileFormatTags());
  hint += meant.empty() ? "; " : meant + " ";
  hint += "the formats are ";
  const std::vector<std::string> tags = FileFormatTags();
  for (size_t i = 0; i < tags.size(); ++i) hint += (i == 0 ? "" : ", ") + tags[i];
  return hint;
}

uint64_t HashOf(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

// The last `parts` parts of a path.
std::string_view EndOf(std::string_view path, size_t parts) {
  size_t begin = path.size();
  for (; parts > 0 && begin != std::string_view::npos; --parts) {
    begin = begin == 0 ? std::string_view::npos : path.rfind('/', begin - 1);
  }
  return begin == std::string_view::npos ? path : path.substr(begin + 1);
}

// For each file a number that tells it from the others: of its name, and of as many folders as it
// takes (FileReader::RecordKeys).
std::vector<uint64_t> KeysOf(const std::vector<FileEntry>& files) {
  std::vector<uint64_t> keys(files.size());
  std::vector<size_t> alike(files.size());
  std::iota(alike.begin(), alike.end(), size_t{0});
  for (size_t parts = 1; !alike.empty(); ++parts) {
    std::unordered_map<uint64_t, size_t> files_of_key;
    for (const size_t i : alike) {
      keys[i] = HashOf(EndOf(files[i].path, parts));
      ++files_of_key[keys[i]];
    }
    const auto is_told = [&](size_t i) {
      return files_of_key[keys[i]] == 1 || EndOf(files[i].path, parts) == files[i].path;
    };
    alike.erase(std::remove_if(alike.begin(), alike.end(), is_told), alike.end());
  }
  return keys;
}

// What a reader notes of the files that it will read.
struct Noted {
  FilesRead* read;
  OnePassFiles* once;  // null where no such file is expected any more
  std::vector<uint64_t>* sizes;
};

// "" or what is wrong with the path of a file or folder that will be read.
std::string Missing(const std::string& path, const FileStatus& status, bool folder,
                    const Noted* noted) {
  if (path.find('\0') != std::string::npos) return "a name with a zero byte";
  if (noted != nullptr) {
    // The size that the system says a folder has depends on the system.
    noted->sizes->push_back(status.kind == FileStatus::Kind::kFile ? status.size : 0);
  }
  if (!status.exists()) return status.problem + UnknownSchemeHint(path) + UnknownFormatHint(path);
  if (folder) return status.kind == FileStatus::Kind::kDirectory ? "" : "is not a directory";
  if (status.kind == FileStatus::Kind::kDirectory) return FolderProblem(path);
  const bool once = status.kind == FileStatus::Kind::kOnce;
  if (status.kind != FileStatus::Kind::kFile && !once) return "is not a regular file";
  if (noted == nullptr) return "";
  if (!once) {
    noted->read->Add(path, status.id);
  } else if (noted->once != nullptr) {
    noted->once->Add(path, status.id);
  }
  return "";
}

// Calls f(path, status, folder) for each file and companion, in order.
template <typename F>
void ForEachStatus(const std::vector<FileEntry>& files, bool folders, const F& f) {
  std::vector<std::string> paths;
  for (size_t i = 0; i < files.size(); i += kAskedAtOnce) {
    const size_t end = std::min(files.size(), i + kAskedAtOnce);
    paths.clear();
    for (size_t k = i; k < end; ++k) {
      paths.push_back(files[k].path);
      if (!files[k].companion.empty()) paths.push_back(files[k].companion);
    }
    const std::vector<FileStatus> statuses = StatAll(paths);
    const FileStatus* status = statuses.data();
    for (size_t k = i; k < end; ++k) {
      f(files[k].path, *status++, folders);
      if (!files[k].companion.empty()) f(files[k].companion, *status++, false);
    }
  }
}

// The error is about the first file that is missing, and lists the others. Notes those that there
// are, if `noted` is not null.
void CheckAllExist(const std::vector<FileEntry>& files, bool folders, const Noted* noted) {
  constexpr int kMostListed = 20;
  std::string first, text;
  int missing = 0;
  ForEachStatus(files, folders,
                [&](const std::string& path, const FileStatus& status, bool folder) {
                  const std::string problem = Missing(path, status, folder, noted);
                  if (problem.empty()) return;
                  ++missing;
                  if (missing == 1) {
                    first = path;
                    text = problem;
                  } else if (missing <= kMostListed) {
                    text += StrCat("\n  ", Escaped(path), ": ", problem);
                  }
                });
  if (missing > kMostListed) text += StrCat("\n  and ", missing - kMostListed, " more");
  if (missing > 0) throw Error(ErrorCode::kIo, text).InFile(first, -1);
}

// Returns the ticket with its bytes, if it is of a record in a mapped file, which has none (Take).
Ticket WithBytes(const Ticket& ticket) {
  Ticket with_bytes = ticket;
  if (ticket.bytes != nullptr) return with_bytes;  // of a chunk that was expanded
  const Chunk& chunk = *ticket.object<Chunk>();
  if (chunk.holder) return with_bytes;
  // The sum is one of 32 bits: a chunk may begin before its bytes do.
  with_bytes.bytes = chunk.bytes->data() + (*chunk.IndexInBytes() + ticket.index);
  return with_bytes;
}

// Throws unless the files are unchanged whose mapped bytes have been loaded. The tickets of a batch
// come from a few files in turn, and each file is asked once.
void CheckUnchanged(const Ticket* tickets, size_t n) {
  std::array<const Mapping*, 16> asked = {};
  size_t count = 0;
  for (size_t i = 0; i < n; ++i) {
    if (tickets[i].bytes != nullptr) continue;
    const Chunk& chunk = *tickets[i].object<Chunk>();
    if (std::find(asked.begin(), asked.end(), chunk.mapping()) != asked.end()) continue;
    chunk.CheckUnchanged();
    asked[count++ % asked.size()] = chunk.mapping();
  }
}

// The byte of the file at which an error of this record is, and what the error's text calls it.
std::pair<uint64_t, std::string> PlaceOf(const FileFormat& format, const FileEntry& file,
                                         const Ticket& ticket) {
  const bool held = ticket.bytes == nullptr && ticket.object<Chunk>()->holder;
  if (!held && ticket.index != ChunkQueue::kNotInFile) {
    const uint64_t offset = ticket.id.chunk + ticket.index;
    const std::string name = format.PlaceName(file, offset);
    if (!name.empty()) return {offset, StrCat("in ", name, ", which begins at byte ", offset)};
  }
  const std::string name = format.RecordName(file, ticket.id.chunk, ticket.id.record);
  if (!name.empty()) return {ticket.id.chunk, StrCat("in ", name)};
  return {ticket.id.chunk,
          StrCat("in record ", ticket.id.record, " of the chunk at byte ", ticket.id.chunk)};
}

// How many of the tickets, from the first on, are of the same chunk. A plugin's code gets tickets
// of one chunk at a time, so that a crash report can name the chunk.
size_t OfOneChunk(const Ticket* tickets, size_t n) {
  const auto other = [tickets](const Ticket& ticket) {
    return ticket.id.file != tickets->id.file || ticket.id.chunk != tickets->id.chunk;
  };
  return static_cast<size_t>(std::find_if(tickets, tickets + n, other) - tickets);
}

// Tells a crash report which files and chunks the tickets being loaded come from.
class ChunksOfTickets final : public ChunksAtWork {
 public:
  ChunksOfTickets(const Ticket* tickets, size_t n, const FileEntry* files)
      : tickets_(tickets), size_(n), files_(files) {}

  size_t size() const override { return size_; }
  Place operator[](size_t i) const override {
    return {files_[tickets_[i].id.file].path.c_str(), tickets_[i].id.chunk};
  }

 private:
  const Ticket* const tickets_;
  const size_t size_;
  const FileEntry* const files_;
};

}  // namespace

FileReader::FileReader(std::unique_ptr<FileFormat> format, FileEntry file)
    : FileReader(std::move(format), std::vector<FileEntry>{std::move(file)}, ReadAhead{}) {}

FileReader::FileReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> files,
                       ReadAhead read_ahead)
    : ReaderBase(format->slots()),
      format_(std::move(format)),
      library_(format_->library()),
      files_(std::move(files)),
      prefetcher_(new Prefetcher(read_ahead, account())) {
  const Noted noted = {&read_, &once_, &sizes_};
  CheckAllExist(files_, format_->reads_folders(), &noted);
}

void FileReader::CheckExist(const std::vector<FileEntry>& files, bool folders) {
  CheckAllExist(files, folders, nullptr);
}

FileReader::~FileReader() { prefetcher_->Stop(); }

void FileReader::TakeShare(const ChunkShare& share) {
  Require(!planned() && share_.count == 1, origin(),
          " has been read or shared out already; its chunks can be shared once, before that");
  Require(
      format_->chunks_tell_records(), origin(),
      " reads files whose chunks do not tell how many records they have before they are read, so "
      "that a shard cannot leave any out; use by: \"record\" or, unless they are compressed or a "
      "field has missing=skip, make indexes of them (recordio index)");
  share_ = share;
}

std::optional<uint64_t> FileReader::PassLength() const {
  // A caller such as a status line reads no elements: what the reader has read stays the same.
  const CountedReads nobody(nullptr);
  return is_share() || !once_.empty() ? std::nullopt : format_->CountRecords(files_);
}

bool FileReader::FillTimed(ChunkQueue* queue) {
  const WaitTimer timer(counters());
  return prefetcher_->Fill(queue);
}

void FileReader::CountNames() {
  if (names_) return;
  size_t bytes = files_.size() * (sizeof(FileEntry) + sizeof(uint64_t) + sizeof(FileId));
  for (const FileEntry& file : files_) bytes += file.path.size() + file.companion.size();
  const MemoryScope scope(account());
  names_.emplace(bytes);
}

// Of files elsewhere that would take a request for each, and they have another identity.
void FileReader::NoteAgain() {
  const auto is_local = [](const FileEntry& file) { return IsLocal(file.path); };
  if (!once_.empty() || !std::all_of(files_.begin(), files_.end(), is_local)) return;
  read_.Clear();
  const std::vector<uint64_t> before = std::exchange(sizes_, {});
  const Noted noted = {&read_, nullptr, &sizes_};
  ForEachStatus(files_, format_->reads_folders(),
                [&noted](const std::string& path, const FileStatus& status, bool folder) {
                  Missing(path, status, folder, &noted);  // to open the file will say what is wrong
                });
  if (sizes_ != before) list_.reset();
}

std::unique_ptr<FileSource> FileReader::OpenByFormat(size_t index) {
  CountNames();
  if (read_.Begin()) NoteAgain();
  const MemoryScope charged(account());
  const CountedReads reads(counters()->sum_of_bytes_read());
  const OnePassScope scope(&once_);
  const MappingCacheScope mappings(&mappings_);
  AtWork at_work;
  at_work->library = library_;
  at_work->file = files_[index].path.c_str();
  std::unique_ptr<FileSource> source = format_->Open(files_[index]);
  once_.Seal();
  if (source == nullptr) {
    throw Error(ErrorCode::kInternal, "its format has opened nothing")
        .InFile(files_[index].path, -1);
  }
  return source;
}

std::unique_ptr<FileSource> FileReader::OpenSource(size_t index) {
  if (opened_ != nullptr && index == first_opened_) return std::move(opened_);
  if (!has_learned_ && first_opened_ && index != first_opened_) OpenByFormat(*first_opened_);
  std::unique_ptr<FileSource> source = OpenByFormat(index);
  if (!first_opened_) first_opened_ = index;
  has_learned_ = true;
  return source;
}

void FileReader::LearnSlots() {
  const std::vector<SlotSpec>& slots = format_->slots();
  if (has_learned_ || files_.empty() ||
      std::all_of(slots.begin(), slots.end(), [](const SlotSpec& slot) { return slot.known; })) {
    return;
  }
  try {
    std::unique_ptr<FileSource> source = OpenSource(first_opened_.value_or(0));
    if (!once_.empty()) opened_ = std::move(source);
  } catch (const Error& error) {
    if (error.interrupts()) throw;
  }
}

template <typename Where>
Ref<ChunkQueue> FileReader::EnqueueAt(std::unique_ptr<FileSource> source, size_t index,
                                      uint64_t pass, const ChunkShare& share, Where where) {
  Ref<ChunkQueue> queue(new ChunkQueue(
      std::move(source),
      {static_cast<uint32_t>(index), pass, files_[index].path, library_, share, counters()},
      std::move(where)));
  return queue;
}

std::vector<DealtChunk> FileReader::DealAgain(const FilePlace& place, uint64_t pass) {
  Require(place.file < files_.size() && place.begun, "the position is in file ", place.file, " of ",
          files_.size(), " of ", origin());
  const Ref<ChunkQueue> queue = EnqueueAt(OpenSource(place.file), place.file, pass, share_,
                                          std::deque<uint64_t>{place.chunk});
  std::vector<DealtChunk> dealt;
  do {
    std::optional<DealtChunk> chunk = queue->Deal();
    if (!chunk) break;
    dealt.push_back(std::move(*chunk));
  } while (dealt.back().is_part());
  if (!dealt.empty()) dealt.back().Seek(place);
  return dealt;
}

Ref<ChunkQueue> FileReader::Enqueue(std::unique_ptr<FileSource> source, size_t index, uint64_t pass,
                                    const ChunkShare& share,
                                    const std::optional<FilePlace>& start) {
  Ref<ChunkQueue> queue = EnqueueAt(std::move(source), index, pass, share, start);
  if (!deals_) prefetcher_->Add(queue);
  return queue;
}

size_t FileReader::TakeFrom(ChunkQueue* queue, size_t n, uint64_t sample, TicketRun* run) {
  const size_t taken = std::min(n, queue->available());
  queue->Take(taken, sample, run);
  return taken;
}

void FileReader::PlanNext(size_t n, TicketRun* run) {
  try {
    if (!queue_) queue_ = OpenFile(0, pass_);
    // Plans no further than this chunk, so that the caller may release its records before the next
    // chunk is read.
    for (;;) {
      if (!Fill(queue_.get())) {
        prefetcher_->Remove(*queue_);
        queue_ = Ref<ChunkQueue>();
        return;
      }
      if (!queue_->passes_over()) break;
      sample_ += queue_->available();
      queue_->PassOver(queue_->available());
    }
    sample_ += TakeFrom(queue_.get(), n, sample_, run);
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(sample_));
  }
}

void FileReader::Rewind(uint64_t pass) {
  pass_ = pass;
  queue_ = Ref<ChunkQueue>();
  CloseFiles();
  sample_ = 0;
}

void FileReader::CloseFiles() {
  prefetcher_->Stop();
  opened_.reset();
  read_.Rewind();
  once_.Close();
}

void FileReader::RefuseReadOnce(const std::string& why) const {
  once_.Refuse(StrCat(why, ", so copy it to a file and read that"));
}

uint64_t FileReader::FingerprintOf(const FileEntry& file) const {
  const CountedReads reads(counters()->sum_of_bytes_read());
  try {
    return format_->Fingerprint(file);
  } catch (const Error& error) {
    if (error.interrupts() || error.code() == ErrorCode::kIo) throw;
    return 0;  // the reading of the file throws this error
  }
}

void FileReader::SaveFiles(ReaderState* state) const {
  RefuseReadOnce("to continue from a place needs to read it again");
  if (!list_) {
    std::vector<FileList::File> listed;
    listed.reserve(sizes_.size());
    for (const FileEntry& file : files_) {
      listed.push_back({file.path, sizes_[listed.size()], FingerprintOf(file)});
      if (!file.companion.empty()) listed.push_back({file.companion, sizes_[listed.size()], 0});
    }
    list_ = FileList::Of(std::move(listed));
  }
  state->SetFiles(*list_);
  if (first_opened_ && files_.size() > 1) state->Set("first_opened", *first_opened_);
  for (const auto& [name, value] : format_->settings()) state->Setting(name, value);
  if (!is_share()) return;
  state->Setting("num_shards", share_.count);
  state->Setting("index", share_.index);
}

// What was opened first in the pass that was saved, or in one before it.
void FileReader::RestoreFiles(const ReaderState& state) {
  if (state.Has("first_opened")) first_opened_ = state.Get("first_opened", files_.size() - 1);
}

void FileReader::SaveState(ReaderState* state) const {
  SaveFiles(state);
  state->Set("pass", pass_);
  state->Set("sample", sample_);
  if (queue_) state->AddPlace(queue_->place());
}

void FileReader::RestoreState(const ReaderState& state) {
  pass_ = state.Get("pass");
  sample_ = state.Get("sample");
  if (state.end() || state.places().empty()) return;
  const FilePlace& place = state.places().front();
  CheckPlace(state, place);
  queue_ = OpenFile(place.file, pass_, place);
}

void FileReader::CheckPlace(const ReaderState& state, const FilePlace& place) const {
  if (place.file >= files_.size()) {
    state.Fail("it is in file ", place.file, " of ", files_.size());
  }
  if (place.begun && (place.file + place.number) % share_.count != share_.index) {
    state.Fail("it is in chunk ", place.number, " of file ", place.file,
               ", which belongs to another share");
  }
}

void FileReader::RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const {
  std::call_once(file_keys_made_, [this] { file_keys_ = KeysOf(files_); });
  for (size_t i = 0; i < n; ++i) {
    const RecordId& id = tickets[i].id;
    keys[i] = format_->RecordKey(files_[id.file], file_keys_[id.file], id.chunk, id.record);
  }
}

void FileReader::NameElements(const Ticket* tickets, size_t n, ElementNames* names) const {
  names->AddRecords(tickets, n);
}

void FileReader::PlanAgain(const ElementNames& names, const TakeElement& take) {
  const std::vector<RecordId>& records = names.records;
  names.CheckRecords(origin());
  std::vector<size_t> order(records.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(records[a].file, records[a].chunk, records[a].record) <
           std::tie(records[b].file, records[b].chunk, records[b].record);
  });
  const auto file_of = [&](size_t i) { return records[order[i]].file; };
  for (size_t i = 0; i < order.size();) {
    size_t end = i;  // of the records of this file
    std::deque<uint64_t> chunks;
    for (; end < order.size() && file_of(end) == file_of(i); ++end) {
      const uint64_t chunk = records[order[end]].chunk;
      if (chunks.empty() || chunks.back() != chunk) chunks.push_back(chunk);
    }
    Require(file_of(i) < files_.size(), "the position names a record of file ", file_of(i), " of ",
            files_.size());
    PlanFileAgain(records, order.data() + i, end - i, std::move(chunks), take);
    i = end;
  }
}

void FileReader::PlanFileAgain(const std::vector<RecordId>& records, const size_t* places, size_t n,
                               std::deque<uint64_t> chunks, const TakeElement& take) {
  const RecordId* last = &records[places[0]];
  try {
    const Ref<ChunkQueue> queue =
        EnqueueAt(OpenSource(last->file), last->file, last->pass, share_, std::move(chunks));
    prefetcher_->Add(queue);
    Fill(queue.get());
    for (size_t i = 0; i < n; ++i) {
      const RecordId& id = records[places[i]];
      if (id.chunk != last->chunk) {
        queue->LeaveChunk();
        Fill(queue.get());
      }
      last = &id;
      take(places[i], queue->TakeAgain(id));
    }
    prefetcher_->Remove(*queue);
  } catch (...) {
    throw CurrentError().WithContext(ReadingRecord(last->sample));
  }
}

void FileReader::LoadBlock(const Ticket* tickets, size_t n, Rows* rows) const {
  const ChunksOfTickets chunks(tickets, n, files_.data());
  AtWork at_work;
  at_work->library = library_;
  at_work->file = nullptr;
  at_work->chunks = &chunks;
  int64_t before[kMaxSlots];
  for (size_t slot = 0; slot < rows->size(); ++slot) before[slot] = rows->steps(slot);
  format_->Load(tickets, n, rows);
  for (size_t slot = 0; slot < rows->size(); ++slot) {
    if (!slots()[slot].one_step()) continue;
    const int64_t loaded = rows->steps(slot) - before[slot];
    if (loaded == static_cast<int64_t>(n)) continue;
    Throw(ErrorCode::kInternal, "its format has loaded ", loaded, " elements of slot ", slot,
          " instead of ", n);
  }
}

void FileReader::LoadBytes(const Ticket* tickets, size_t n, Rows* rows) const {
  while (n > 0) {
    const bool has_bytes = tickets->bytes != nullptr;
    size_t size = has_bytes ? std::min(n, kLoadedAtOnce) : n;
    if (!has_bytes || library_ != nullptr) size = OfOneChunk(tickets, size);
    LoadBlock(tickets, size, rows);
    tickets += size;
    n -= size;
  }
}

void FileReader::LoadMapped(const Ticket* tickets, size_t n, Rows* rows) const {
  Ticket with_bytes[kLoadedAtOnce];
  try {
    for (size_t i = 0; i < n; i += kLoadedAtOnce) {
      const size_t size = std::min(n - i, kLoadedAtOnce);
      for (size_t k = 0; k < size; ++k) with_bytes[k] = WithBytes(tickets[i + k]);
      LoadBytes(with_bytes, size, rows);
    }
  } catch (...) {
    CheckUnchanged(tickets, n);  // a file that has changed is the cause, and the error
    throw;
  }
  CheckUnchanged(tickets, n);
}

Error FileReader::InRecord(const Error& error, const Ticket& ticket) const {
  const CountedReads reads(counters()->sum_of_bytes_read());  // to find the name of the place
  const FileEntry& file = files_[ticket.id.file];
  const auto [offset, place] = PlaceOf(*format_, file, ticket);
  return error.WithContext(place)
      .InFile(file.path, static_cast<int64_t>(offset))
      .WithContext(ReadingRecord(ticket.id.sample));
}

void FileReader::LoadRows(const Ticket* tickets, size_t n, Rows* rows) const {
  RecordPlace::Note(this, *tickets);
  try {
    if (files_.front().buffer_type == BufferType::kMmap) {
      LoadMapped(tickets, n, rows);
    } else {
      LoadBytes(tickets, n, rows);
    }
  } catch (...) {
    const Error error = CurrentError();
    if (error.interrupts()) throw error.WithContext(ReadingRecord(tickets->id.sample));
    // The error of a changed file names it and the place already.
    if (n == 1 && !error.file().empty()) throw error.WithContext(ReadingRecord(tickets->id.sample));
    if (n == 1) throw InRecord(error, *tickets);
    // Loads the records one by one to find the one that failed: that call throws its error.
    Rows scratch;
    scratch.ResetLike(*rows);
    for (size_t i = 0; i < n; ++i) LoadRows(tickets + i, 1, &scratch);
    throw;
  }
}

}  // namespace millhopper
