// SPDX-License-Identifier: Apache-2.0
// Reads many files as one stream: open_files.
#ifndef MILLHOPPER_READERS_SOURCES_MULTI_FILE_READER_H_
#define MILLHOPPER_READERS_SOURCES_MULTI_FILE_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/file_reader.h"

namespace millhopper {

// The attributes of open_files.
struct MultiFileOptions {
  size_t thread_num = 0;         // workers that read its files at once; 0: all of the pool
  size_t buffer_size = 256;      // records to have in store; each file has one chunk at least
  size_t cycle_length = 16;      // files whose records are interleaved
  uint64_t pass_num = 1;         // how often the files are read in one pass
  bool deterministic = true;     // false: a file that is ready may overtake one that is not
  bool shuffle_files = false;    // permute the list of files anew for each time it is read
  bool shuffle_chunks = false;   // of all files at once (RandomChunksReader)
  bool shuffle_records = false;  // the same (RandomOrderReader)
  RandomKey key{0, 0, ""};       // of these permutations
};

// How far these options let a reader read ahead.
ReadAhead ReadAheadOf(const MultiFileOptions& options);

// The order in which `files` files are read in this pass.
std::vector<uint32_t> ShuffledFiles(size_t files, const RandomKey& key, uint64_t pass);

// Yields one record at a time from each of the first `cycle_length` unfinished files, in the order
// of the list; the place of a finished file goes to the next file of the list. The order depends on
// nothing else. Files are opened when their turn comes near, and closed at their end, so that
// neither memory nor open descriptors grow with their number. An error of a file, also if it cannot
// be opened, comes in the place of its next record.
class MultiFileReader final : public FileReader {
 public:
  // Throws kInvalidArgument for an empty list or options below 1, and kIo with the names of all
  // files that are missing; reads nothing.
  MultiFileReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> entries,
                  const MultiFileOptions& options);

  std::optional<uint64_t> PassLength() const override;

  // In place of Plan, for lanes: the next chunk, one of each file in turn; nothing at the end of
  // the pass. Throws the error of a file in the place of its next chunk, and what ChunkQueue::Deal
  // throws.
  std::optional<DealtChunk> Deal();
  // Whether chunks of this file are among those that Deal returns in turn now.
  bool Deals(uint32_t file) const;
  // How many files are read in a pass, each as often as it is read.
  uint64_t files_in_pass() const { return files().size() * options_.pass_num; }
  // Whether so many can be open at once that are read in turn.
  bool has_place_for_all() const { return files_in_pass() <= options_.cycle_length; }
  // How many files have come to their end so far, in all passes.
  uint64_t files_ended() const { return ended_; }
  using FileReader::chunks_tell_records;
  using FileReader::DealAgain;
  using FileReader::DealChunks;
  using FileReader::files;
  using FileReader::tells_all_processes;

 protected:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;

 private:
  // A file that was opened before a place is free for it.
  struct WaitingFile {
    Ref<ChunkQueue> queue;
    uint64_t round;  // which of the pass_num readings it belongs to
    size_t place;    // in the order of that reading
  };

  using Places = std::list<Ref<ChunkQueue>>;  // null where no file has been put yet

  // Begins the pass, unless that is done.
  void Begin();
  // Begins the next of the pass_num readings of the files; false if there is none.
  bool NextRound();
  void Interleave(size_t n, TicketRun* run);
  // The place after one, or the first after the last.
  Places::iterator Next(Places::iterator place) {
    return ++place == places_.end() ? places_.begin() : place;
  }
  // Takes up to n records, or passes over some, as far as that can be done without waiting: in
  // whole rounds over all places, or in a part of a round. Returns how many it took.
  size_t Take(size_t n, TicketRun* run);
  // Takes or passes over `rounds` records at each of `places` places from the cursor on; returns
  // how many it took.
  size_t TakeRounds(size_t places, size_t rounds, TicketRun* run);
  // Empties the places for the files of a round.
  void BeginRound(uint64_t round);
  // Makes sure that the place at the cursor has a record; moves the cursor on if no file is left
  // for its place. False at the end of the round.
  bool FillPlace();
  // Moves the cursor to a place that has a record without waiting.
  void FindReadyPlace();
  // Takes the file at the cursor, which has ended, from its place.
  void Vacate();
  // Gives the empty place at the cursor the next file of this round, or removes the place if there
  // is none.
  void RefillPlace();
  // The same; false if there is none.
  bool PlaceNextFile();
  // Opens the next files of the list until this many wait for a place. If one cannot be opened it
  // stops, or throws if the file is `needed` now; a needed file is of the current round.
  void OpenAhead(size_t files_wanted, bool needed);
  // Finds the order in which the files of opening_round_ are read.
  void OrderFiles();

  const MultiFileOptions options_;
  uint64_t pass_ = 0;
  uint64_t sample_ = 0;       // number of the next record in the pass
  uint64_t round_ = 0;        // which of the pass_num readings is the present one
  bool round_taken_ = false;  // whether the round has yielded a record
  bool begun_ = false;        // the pass
  Places places_;
  size_t empty_ = 0;         // of the places
  uint64_t ended_ = 0;       // files
  Places::iterator cursor_;  // the place whose turn it is, if there are places
  std::deque<WaitingFile> waiting_;
  std::vector<uint32_t> order_;  // of the files of opening_round_
  size_t next_to_open_ = 0;      // index in order_
  uint64_t opening_round_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_MULTI_FILE_READER_H_
