// SPDX-License-Identifier: Apache-2.0
// Where a chain of readers stands, as ReaderBase::Save returns it and Restore takes it.
#ifndef MILLHOPPER_FRAMEWORK_READER_POSITION_H_
#define MILLHOPPER_FRAMEWORK_READER_POSITION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/exact_text.h"
#include "framework/base/record_id.h"
#include "framework/reader/ticket.h"

namespace millhopper {

// Ten million elements in windows take about 80 MB.
constexpr size_t kMaxPositionBytes = size_t{128} << 20;
constexpr size_t kMaxPositionItems = 4000000;            // messages and strings in one
constexpr size_t kMaxListedFileBytes = size_t{4} << 10;  // of the names of files that are listed
// The kind of the entry that comes in a position before a reader that several others read.
constexpr char kSharedReader[] = "shared";

// The names of elements that one reader has planned, in order: what the reader needs to plan them
// again when their chunks are no longer in memory. Two such lists can be joined, vector by vector.
// So a reader that writes numbers may refer to an element by its distance, as in "the one three
// before this", but not by its index in the list.
struct ElementNames {
  size_t count = 0;
  std::vector<RecordId> records;    // of a source whose elements are records: one each
  std::vector<uint64_t> numbers;    // what else the reader needs
  std::vector<ElementNames> below;  // the elements below of which these are made, reader by reader

  void Append(const ElementNames& more);
  // Forgets the names, and keeps the memory for those of records.
  void Clear();
  // The names of elements that are records: RecordId tells each of them.
  void AddRecords(const Ticket* tickets, size_t n);
  // Throws kInvalidArgument unless AddRecords can have written these; `origin` is the reader's.
  void CheckRecords(const std::string& origin) const;
};

// Called once for each element that is planned again, in any order, with the element's index in the
// names. The ticket is valid during the call, and as long as a run keeps its owner.
using TakeElement = std::function<void(size_t place, const Ticket& ticket)>;

// Where the reading of one file stands.
struct FilePlace {
  uint32_t file = 0;   // index in the list of files
  bool begun = false;  // whether a record has been taken; if not, the rest is 0
  // The chunk that the last record was taken from: Chunk::offset, and its number in the file.
  uint64_t chunk = 0;
  uint64_t number = 0;
  uint64_t records = 0;      // that were taken of it
  bool done = false;         // whether these were all
  uint64_t passed_over = 0;  // records of other shares since
};

// The files of a reader. Of many files only their number, size and fingerprint are kept. Paths are
// as SavedName gives them (framework/io/saved_name.h).
struct FileList {
  struct File {
    std::string path;
    uint64_t bytes = 0;        // 0 for a folder
    uint64_t fingerprint = 0;  // FileFormat::Fingerprint
  };

  uint64_t count = 0;
  uint64_t bytes = 0;        // of all together
  uint64_t fingerprint = 0;  // of all paths, sizes and fingerprints
  std::vector<File> files;
  bool tells_queries = true;       // false: from an older position, in which all are "?..."
  uint64_t plain_fingerprint = 0;  // what `fingerprint` would be there; not saved

  static FileList Of(std::vector<File> files);
};

// What one reader writes of where it stands.
class ReaderState {
 public:
  // ---- Writing. Names are short words in lower case. ----

  // What the reader's elements depend on: a reader refuses the position of one with other settings.
  // Errors say the name and both values. Names of files in a value are saved without secrets
  // (framework/io/saved_name.h).
  void Setting(const std::string& name, const std::string& value);
  void Setting(const std::string& name, uint64_t value) { settings_[name] = StrCat(value); }
  void Setting(const std::string& name, double value) { settings_[name] = ExactText(value); }
  template <typename T>
  void Setting(const std::string& name, const std::vector<T>& values) {
    std::string& text = settings_[name];
    text.clear();
    for (const T& value : values) {
      if (!text.empty()) text += ", ";
      if constexpr (std::is_floating_point_v<T>) {
        text += ExactText(value);
      } else {
        text += StrCat(value);
      }
    }
  }
  // A setting that may be another one where the chain goes on: how many elements below make one.
  // Then what readers above hold is given back to this one (ReaderBase::GiveBack).
  void CutsBy(const std::string& name, uint64_t value) {
    Setting(name, value);
    cut_ = name;
  }
  // A setting of which the position says what it is: the reader goes on with that (GetSetting).
  void GoesOnWith(const std::string& name, uint64_t value) {
    Setting(name, value);
    gone_on_with_ = name;
  }
  // What the error says beside a setting that differs: how the reader could go on. Not saved.
  void Advise(std::string advice) { advice_ = std::move(advice); }
  void SetFiles(FileList files) { files_ = std::move(files); }
  void Set(const std::string& name, uint64_t value) { numbers_[name] = value; }
  void SetList(const std::string& name, std::vector<uint64_t> values) {
    lists_[name] = std::move(values);
  }
  void SetElements(const std::string& name, ElementNames names) {
    elements_[name] = std::move(names);
  }
  void AddPlace(const FilePlace& place) { places_.push_back(place); }

  // ---- Reading. A position from a file is not trusted, so every number must be checked before it
  // is used. ----

  // The process whose state this is, of those that share the lanes of a chain.
  void SetRank(size_t rank, size_t ranks) {
    rank_ = rank;
    ranks_ = ranks;
  }
  void SetEnd(bool end) { end_ = end; }

  // Throws if there is no such number, or if it is more than `most`.
  uint64_t Get(const std::string& name, uint64_t most = UINT64_MAX) const;
  bool Has(const std::string& name) const { return numbers_.count(name) > 0; }
  // A setting that is a number. Throws if it is none from 1 to `most`.
  uint64_t GetSetting(const std::string& name, uint64_t most) const;
  // Empty if there is none.
  const std::vector<uint64_t>& List(const std::string& name) const;
  const ElementNames& Elements(const std::string& name) const;
  const std::vector<FilePlace>& places() const { return places_; }
  // The elements, which the state then names no more.
  ElementNames TakeElements(const std::string& name) {
    const auto found = elements_.find(name);
    if (found == elements_.end()) return {};
    ElementNames names = std::move(found->second);
    elements_.erase(found);
    return names;
  }
  uint64_t rank() const { return rank_; }
  uint64_t ranks() const { return ranks_; }
  // Whether the reader was at the end of its pass.
  bool end() const { return end_; }
  // Throws kInvalidArgument, naming the reader: the position cannot be restored.
  template <typename... Parts>
  [[noreturn]] void Fail(const Parts&... parts) const {
    ThrowWrong(StrCat(parts...));
  }

  // How errors call the reader: "create_batch_reader 'batches'".
  std::string Called() const;

 private:
  friend class Position;
  friend class PositionCodec;
  friend class ReaderBase;
  [[noreturn]] void ThrowWrong(const std::string& problem) const;

  std::string kind_, name_;
  std::map<std::string, std::string> settings_;
  std::string cut_, gone_on_with_;  // settings, or "". Not saved
  std::string advice_;
  std::optional<FileList> files_;
  uint64_t rank_ = 0, ranks_ = 1;
  bool end_ = false;  // Plan has added nothing
  std::map<std::string, uint64_t> numbers_;
  std::map<std::string, std::vector<uint64_t>> lists_;
  std::map<std::string, ElementNames> elements_;
  std::vector<FilePlace> places_;
};

// A reader that makes each of its elements of another number of elements below than the one that
// was saved.
struct NewCut {
  size_t place;      // among the readers of the position
  std::string what;  // "create_batch_reader 'batches': batch_size was 32, now it is 64"
};

// Where a chain of readers stands. A value: it holds nothing of the chain.
class Position {
 public:
  // Throws kInvalidArgument unless the bytes are what Serialize has returned, here or in another
  // process: other bytes, a part of them, one bit that has changed, a version that this program
  // does not know. Numbers that only a reader can judge are checked by Restore. Takes memory for
  // what the bytes hold, and no more than kMaxPositionBytes of them.
  static Position Parse(std::string_view bytes);
  // The same position always gives the same bytes. Throws kResourceLimit if they are too many.
  std::string Serialize() const;
  // The same as JSON, for people: always the same text. It shows single records.
  std::string ToJson() const;

  // One position made of those that all ranks (LanesReader) have saved after the same number of
  // elements, in any order. A chain like theirs goes on from there on any number of ranks. Ranks
  // may also each have a whole chain to themselves, all at the same element. Throws
  // kInvalidArgument, saying what is wrong, if they are not of all ranks, or if those that have not
  // come to the end of their pass stand at different elements.
  static Position OfAllRanks(std::vector<Position> ranks);

  void Add(ReaderState state) { readers_.push_back(std::move(state)); }

 private:
  friend class PositionCodec;
  friend class PositionCursor;
  friend class ReaderBase;

  // Throws kInvalidArgument, with what differs, unless this was saved by a chain like that which
  // has saved `now`.
  void CheckSameChain(const Position& now) const;
  // The last reader that cuts otherwise (CutsBy) than that of `now`, a chain like this one.
  std::optional<NewCut> LastNewCut(const Position& now) const;
  // The state with the rank, or that of the first reader if the chain has no lanes.
  const ReaderState& OfRank() const;

  uint64_t pass_ = 0;
  uint64_t read_ = 0;                 // elements of the pass, by the consumer
  bool begun_ = false, end_ = false;  // of the consumer
  ElementNames ahead_;
  std::vector<ReaderState> readers_;  // each before the readers below it
  int order_version_ = 0;
  std::vector<Position> ranks_;  // of all ranks, in order; then the rest is empty
};

// The readers that several others read, while chains are saved or restored together. Such a reader
// is in the position of the chain that comes to it first, and in no other.
class SharedReaders {
 public:
  // Notes that one of the `count` readers that share `reader` takes part; `origin` names `reader`.
  // Returns whether it is the first one.
  bool Meet(const void* reader, size_t count, const std::string& origin);
  // Throws kInvalidArgument, naming the shared reader, unless all that read it take part: the
  // places of some of them do not tell what the others have taken.
  void CheckAllMet() const;

 private:
  struct Met {
    size_t met = 0;
    size_t count = 0;
    std::string origin;
  };
  std::map<const void*, Met> readers_;
};

// Deals out the states of the readers of a chain, in the order in which they were saved.
class PositionCursor {
 public:
  // Position and shared readers outlive the cursor.
  PositionCursor(const Position& position, SharedReaders* shared)
      : position_(position), shared_(shared) {}
  const ReaderState& Next();
  // The place of the state that Next has returned last.
  size_t place() const { return next_ - 1; }
  bool IsAtEnd() const { return next_ == position_.readers_.size(); }
  SharedReaders* shared() const { return shared_; }

 private:
  const Position& position_;
  SharedReaders* shared_;
  size_t next_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_POSITION_H_
