// SPDX-License-Identifier: Apache-2.0
#include "readers/sources/plugin_reader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

#include "framework/base/at_work.h"
#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "readers/sources/file_list.h"

namespace millhopper {
namespace {

constexpr size_t kErrorBytes = 1024;  // that a parser may write
constexpr size_t kGuardBytes = 64;    // after that, and after the tensors; not to be written
constexpr char kGuard = '\x5a';
constexpr std::chrono::milliseconds kStopCheck{10};
constexpr char kGone = '\x7f';  // overwrites a record whose call has ended

template <typename... Parts>
[[noreturn]] void Misbehaves(const Parts&... parts) {
  Throw(ErrorCode::kPlugin, "the parser misbehaves: ", parts...);
}

// Calls a function of the plugin, whose exceptions end here.
template <typename F>
auto Called(const char* name, const F& function) {
  std::string text;
  try {
    return function();
  } catch (const std::exception& exception) {
    text = StrCat(": ", Escaped(exception.what()));
  } catch (...) {
    text = " that is no std::exception";
  }
  Misbehaves("its function `", name, "` has let out an exception", text,
             " (an error is a text and the result -1)");
}

// One state of a parser, and the memory of its calls. One thread at a time.
class ParserState {
 public:
  explicit ParserState(const ParserPlugin& plugin)
      : plugin_(plugin),
        parser_(*plugin.parser),
        tensors_(plugin.slots.size() * sizeof(MillhopperTensor) + kGuardBytes) {
    error_[0] = '\0';
    if (parser_.create == nullptr) return;
    state_ = Called("create", [&] { return parser_.create(error_.data(), kErrorBytes); });
    if (state_ == nullptr) {
      Throw(ErrorCode::kPlugin, "the parser cannot begin: ", ErrorText("it does not say why"));
    }
  }
  ~ParserState() {
    if (parser_.destroy == nullptr) return;
    AtWork at_work;
    at_work->library = plugin_.path.c_str();
    at_work->step = "while the state of a parser was destroyed";
    try {
      parser_.destroy(state_);
    } catch (...) {  // there is no caller left to tell
    }
  }
  ParserState(const ParserState&) = delete;
  ParserState& operator=(const ParserState&) = delete;

  // Loads records for Parse.
  void TakeRecords(const FileFormat& format, const Ticket* tickets, size_t n) {
    rows_.Reset(format.row_slots());
    format.Load(tickets, n, &rows_);
    rows_.MoveTo(&records_);
  }
  void DropRecords() {
    for (LoDTensor& tensor : records_) tensor.Clear();
    for (PooledVector<char>& bytes : given_) {
      std::fill(bytes.begin(), bytes.end(), kGone);
      Empty(&bytes);
    }
  }

  // Appends what the parser makes of a record that was loaded.
  void Parse(size_t index, Rows* rows) {
    const LodLevel& ends = records_[0].lod()[0];
    const std::string_view given =
        Give({static_cast<const char*>(records_[0].raw_data()) + ends[index],
              ends[index + 1] - ends[index]});
    std::memset(tensors_.data(), 0, tensors_.size() - kGuardBytes);
    std::memset(tensors_.data() + tensors_.size() - kGuardBytes, kGuard, kGuardBytes);
    std::memset(error_.data() + kErrorBytes, kGuard, kGuardBytes);
    error_[0] = '\0';
    auto* const tensors = reinterpret_cast<MillhopperTensor*>(tensors_.data());
    const int32_t count = Called("parse", [&] {
      return parser_.parse(state_, given.data(), given.size(), tensors, error_.data(), kErrorBytes);
    });
    if (!IsGuarded(tensors_.data() + tensors_.size() - kGuardBytes)) {
      Misbehaves("it has written past the ", plugin_.slots.size(), " tensors of its slots");
    }
    if (!IsGuarded(error_.data() + kErrorBytes)) {
      Misbehaves("it has written past the ", kErrorBytes, " bytes for the text of its error");
    }
    if (count < 0) {
      Throw(ErrorCode::kDataLoss,
            "the parser refuses the record: ", ErrorText("it does not say why"));
    }
    if (static_cast<size_t>(count) != plugin_.slots.size()) {
      Misbehaves("it has made ", count, " tensors, but it declares ", plugin_.slots.size(),
                 plugin_.slots.size() == 1 ? " slot" : " slots");
    }
    for (size_t slot = 0; slot < plugin_.slots.size(); ++slot) Append(slot, tensors[slot], rows);
  }

 private:
  static bool IsGuarded(const char* bytes) {
    return std::all_of(bytes, bytes + kGuardBytes, [](char byte) { return byte == kGuard; });
  }

  std::string ErrorText(const char* otherwise) const {
    const std::string text(error_.data(), strnlen(error_.data(), kErrorBytes));
    return text.empty() ? otherwise : Escaped(text);
  }

  // A copy of the record with a zero byte after it. It is in the memory that the last record was
  // not in, and that one is overwritten, so that a parser that still uses it does not see the old
  // record.
  std::string_view Give(std::string_view record) {
    std::swap(given_[0], given_[1]);
    std::fill(given_[1].begin(), given_[1].end(), kGone);
    given_[0].assign(record.begin(), record.end());
    given_[0].push_back('\0');
    return {given_[0].data(), record.size()};
  }

  // Throws if the values lie in the memory of records, but not in the last one.
  void CheckInRecord(size_t slot, const char* data, size_t size) const {
    const auto at = reinterpret_cast<uintptr_t>(data);
    for (const PooledVector<char>& bytes : given_) {
      const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
      if (at + size <= begin || at >= begin + bytes.capacity()) continue;
      const bool now = &bytes == &given_[0];
      if (now && at >= begin && at + size <= begin + bytes.size()) continue;
      Misbehaves("slot ", slot, ": its values lie in the memory of ",
                 now ? "the record, but not within it"
                     : "an earlier record, which was valid during its own call only");
    }
  }

  // Checks levels of detail and puts them into levels_.
  void CheckLevels(size_t slot, const MillhopperTensor& tensor) {
    levels_.clear();
    for (size_t i = 0; i < tensor.level_count; ++i) {
      const MillhopperLevel& level = tensor.levels[i];
      if (level.offsets == nullptr || level.count == 0) {
        Misbehaves("slot ", slot, ": level ", i, " of the levels of detail has no offsets");
      }
      if (level.count > kMaxExpandedChunkBytes / sizeof(uint64_t)) {
        Misbehaves("slot ", slot, ": level ", i, " of the levels of detail has ", level.count,
                   " offsets; the limit is ", kMaxExpandedChunkBytes / sizeof(uint64_t));
      }
      levels_.emplace_back(level.offsets, level.count);
    }
    for (size_t i = 0; i < levels_.size(); ++i) {
      const LodLevelView* const below = i + 1 == levels_.size() ? nullptr : &levels_[i + 1];
      const auto problem = FindLodProblem(levels_[i], below, static_cast<uint64_t>(tensor.dims[0]));
      if (!problem) continue;
      Misbehaves("slot ", slot, ": level ", i, " of the levels of detail ", problem->text);
    }
  }

  void Append(size_t slot, const MillhopperTensor& tensor, Rows* rows) {
    if (tensor.dims == nullptr) {
      Misbehaves("slot ", slot, ": its tensor has no dims; was it filled?");
    }
    if (tensor.rank == 0 || tensor.rank > kMaxRank) {
      Misbehaves("slot ", slot, ": its tensor has ", tensor.rank, " axes; 1 to ", kMaxRank,
                 " are possible");
    }
    if (!IsDataType(tensor.dtype)) {
      Misbehaves("slot ", slot, ": its tensor has values of type ", tensor.dtype,
                 ", which is no number of a type");
    }
    if (tensor.level_count > kMaxLodLevels) {
      Misbehaves("slot ", slot, ": its tensor has ", tensor.level_count,
                 " levels of detail; the limit is ", kMaxLodLevels);
    }
    if (tensor.level_count > 0 && tensor.levels == nullptr) {
      Misbehaves("slot ", slot, ": the levels of detail of its tensor are null");
    }
    Dims dims;
    for (uint32_t i = 0; i < tensor.rank; ++i) dims.push_back(tensor.dims[i]);
    const auto dtype = static_cast<DataType>(tensor.dtype);
    if (!Fits(plugin_.slots[slot], dtype, dims, tensor.level_count)) {
      const SlotSpec found{dtype, dims, static_cast<int>(tensor.level_count)};
      Misbehaves("slot ", slot, ": it declares ", ToString(plugin_.slots[slot]), " and has made ",
                 ToString(found));
    }
    const auto size = SizeOf(dtype);
    const uint64_t most = kMaxExpandedChunkBytes / size;
    uint64_t values = 1;
    bool too_many = false;
    for (const int64_t dim : dims) {
      too_many |= __builtin_mul_overflow(values, static_cast<uint64_t>(dim), &values);
    }
    if (too_many || values > most) {
      Misbehaves("slot ", slot, ": a tensor of dims ", ToString(dims), " has more than ", most,
                 " values, which is the limit");
    }
    const uint64_t bytes = values * size;
    if (tensor.data_size != bytes) {
      Misbehaves("slot ", slot, ": its values have ", tensor.data_size, " bytes, but ",
                 ToString(dtype), " ", ToString(dims), " has ", bytes);
    }
    const char* const data = static_cast<const char*>(tensor.data);
    if (bytes > 0) {
      if (data == nullptr) Misbehaves("slot ", slot, ": its values are null");
      CheckInRecord(slot, data, bytes);
    }
    CheckLevels(slot, tensor);
    char* const place = rows->Append(slot, dtype, dims, levels_.data(), levels_.size());
    if (bytes == 0) return;
    std::memcpy(place, data, bytes);
    if (dtype == DataType::kBool && !AreBools(place, bytes)) {
      const size_t at = FirstOtherThanBool(place);
      Misbehaves("slot ", slot, ": value ", at, " is ",
                 static_cast<int>(static_cast<unsigned char>(place[at])), ", which is no bool");
    }
  }

  const ParserPlugin& plugin_;
  const MillhopperParser& parser_;
  void* state_ = nullptr;
  std::vector<char> tensors_;  // a MillhopperTensor for each slot, and a guard
  std::array<char, kErrorBytes + kGuardBytes> error_;
  PooledVector<char> given_[2];  // the record that is being parsed, and what was the one before
  std::vector<LodLevelView> levels_;
  Rows rows_;
  std::vector<LoDTensor> records_;  // loaded, one slot of bytes
};

// The states of a parser: one for each thread that parses at once. Any thread.
class ParserStates {
 public:
  // `most` is 0 for any number.
  explicit ParserStates(size_t most) : most_(most) {}

  // A state that is not in use, or null if the caller shall make one. Waits while as many as there
  // may be are in use.
  std::unique_ptr<ParserState> Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    while (most_ > 0 && in_use_ >= most_) {
      CheckWait();
      free_.wait_for(lock, kStopCheck);
    }
    idle_.reserve(idle_.size() + in_use_ + 1);  // so that Give cannot fail
    ++in_use_;
    if (idle_.empty()) return nullptr;
    std::unique_ptr<ParserState> state = std::move(idle_.back());
    idle_.pop_back();
    return state;
  }
  // Null where none could be made.
  void Give(std::unique_ptr<ParserState> state) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      --in_use_;
      if (state != nullptr) idle_.push_back(std::move(state));
    }
    free_.notify_one();
  }

 private:
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable free_;
  size_t in_use_ = 0;
  std::vector<std::unique_ptr<ParserState>> idle_;
};

// A state for as long as one of these lives.
class ParserLease {
 public:
  ParserLease(ParserStates* states, const ParserPlugin& plugin)
      : states_(states), state_(states->Take()) {
    if (state_ != nullptr) return;
    AtWork at_work;
    at_work->library = plugin.path.c_str();
    try {
      state_ = std::make_unique<ParserState>(plugin);
    } catch (...) {
      states_->Give(nullptr);
      throw CurrentError().WithContext("while parsing begins with " + Escaped(plugin.path));
    }
  }
  ~ParserLease() {
    state_->DropRecords();
    states_->Give(std::move(state_));
  }
  ParserLease(const ParserLease&) = delete;
  ParserLease& operator=(const ParserLease&) = delete;

  ParserState* operator->() const { return state_.get(); }

 private:
  ParserStates* const states_;
  std::unique_ptr<ParserState> state_;
};

// A format whose records another format finds and a parser parses.
class ParsedFormat final : public FileFormat {
 public:
  ParsedFormat(std::unique_ptr<FileFormat> records, const std::string& tag,
               const ParserPlugin& plugin, size_t most_at_once)
      : FileFormat(plugin.slots),
        records_(std::move(records)),
        plugin_(plugin),
        states_(most_at_once) {
    const std::vector<SlotSpec>& slots = records_->slots();
    const bool bytes = slots.size() == 1 && slots[0].known && slots[0].dtype == DataType::kUint8 &&
                       slots[0].lod_level == 1 && slots[0].dims.size() == 1;
    Require(bytes,
            "a parser takes records that are bytes (uint8 [-1] with 1 level of detail), but ",
            "the format ", tag, " gives ", ToString(slots[0]),
            slots.size() == 1 ? "" : " and more slots", " here");
  }

  std::unique_ptr<FileSource> Open(const FileEntry& file) override { return records_->Open(file); }
  std::optional<uint64_t> CountRecords(const std::vector<FileEntry>& files) const override {
    return records_->CountRecords(files);
  }
  std::string PlaceName(const FileEntry& file, uint64_t offset) const override {
    return records_->PlaceName(file, offset);
  }
  bool chunks_tell_records() const override { return records_->chunks_tell_records(); }
  bool tells_all_processes() const override { return records_->tells_all_processes(); }

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override {
    ParserLease state(&states_, plugin_);
    state->TakeRecords(*records_, tickets, n);
    // The note is what a crash report says. The reader below has noted the chunks of all tickets,
    // but each call of the parser is about one of them.
    const ChunksAtWork* const chunks = AtWork::Now().chunks;
    AtWork at_work;
    at_work->library = plugin_.path.c_str();
    for (size_t i = 0; i < n; ++i) {
      if (chunks != nullptr) {
        const ChunksAtWork::Place place = (*chunks)[i];
        at_work->file = place.file;
        at_work->offset = place.offset;
      }
      try {
        CheckStop();  // the parser may take long
        state->Parse(i, rows);
      } catch (...) {
        const Error error = CurrentError();
        const std::string step = "while parsing it with " + Escaped(plugin_.path);
        // The reader below parses the records once more, one by one, and adds the place of the one
        // that fails. A parser may not fail again; then this is the error.
        if (n == 1 || error.interrupts()) throw error.WithContext(step);
        throw error.WithContext(step)
            .WithContext(StrCat("in record ", tickets[i].id.record, " of the chunk"))
            .InFile(at_work->file == nullptr ? "" : at_work->file,
                    static_cast<int64_t>(tickets[i].id.chunk));
      }
    }
  }

 private:
  const std::unique_ptr<FileFormat> records_;
  const ParserPlugin& plugin_;
  mutable ParserStates states_;
};

}  // namespace

std::unique_ptr<ReaderBase> OpenPluginReader(const std::vector<std::string>& names,
                                             const FormatSchema& records, FormatArguments arguments,
                                             const ParserPlugin& plugin,
                                             const MultiFileOptions& options) {
  std::vector<FileEntry> entries;
  for (const std::string& file : ExpandFileNames(names)) {
    entries.push_back({SplitFormatPrefix(file).path, "", arguments.buffer_type});
  }
  arguments.patterns = WildcardsOf(names);
  arguments.files = entries;
  return std::make_unique<MultiFileReader>(
      std::make_unique<ParsedFormat>(records.Make(arguments), records.tag, plugin,
                                     options.thread_num),
      std::move(entries), options);
}

}  // namespace millhopper
