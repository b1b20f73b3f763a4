// SPDX-License-Identifier: Apache-2.0
// Keeps the elements of a pass in a file for later passes, also of other processes.
#ifndef MILLHOPPER_READERS_CACHE_DISK_CACHE_READER_H_
#define MILLHOPPER_READERS_CACHE_DISK_CACHE_READER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/io/file.h"
#include "framework/reader/file_reader.h"
#include "readers/cache/element_cache_file.h"
#include "readers/gather/gather_reader.h"

namespace millhopper {

struct DiskCacheOptions {
  std::string directory;  // on a local disk; made if it is not there
  // What all cache files in it may take together. The others are looked at when a file is begun,
  // every 64 MiB, and before it gets its name.
  int64_t directory_bytes;
  // Everything that the elements depend on, as text: files with the same text are used. Called
  // before the first pass, and again before a file gets its name, which it only gets if the text is
  // still the same. If it throws, nothing is kept.
  std::function<std::string()> describe;
};

// Yields pass 0 of the reader below in every pass, so a shuffle must stand above it. If the
// directory has a file for the same description, all elements come from that file, and the reader
// below is not read. If not, the elements are also written to a new file, which gets its name when
// the pass has ended without an error; a file without its name is never used. No other reader may
// read the reader below.
//
// A cache file is never an error. If a block is damaged or cannot be read, which is noticed before
// its first element is given out, the reader continues with the reader below, where it passes over
// what it has yielded. It removes a damaged file, unless another file has got its name since; a
// file that cannot be read, such as for lack of descriptors, stays. If no file can be written,
// because the disk is full or `directory_bytes` would be exceeded, it says so once on standard
// error and continues without.
//
// A position says whether the pass comes from the file or from the reader below. Elements from the
// file are named by their numbers in the pass; if the file is gone when the position is restored,
// they come from the reader below, which is read up to them. A pass that was being written resumes
// from the reader below and is not written; the next pass is.
//
// Any number of processes may use the directory. One of them writes a file and holds a lock on it
// (flock on <file>.lock); the others read the reader below meanwhile. The next process that writes
// the same file removes what a killed one has left. A process that is forked meanwhile neither
// writes nor releases the lock.
class DiskCacheReader final : public GatherReader {
 public:
  // Throws kInvalidArgument for a directory that is on no local disk, for negative bytes, and as
  // StageReader does. Looks at no file.
  DiskCacheReader(std::unique_ptr<ReaderBase> reader, DiskCacheOptions options);
  ~DiskCacheReader() override;

  std::optional<uint64_t> PassLength() const override { return reader().PassLength(); }
  const std::vector<SlotSpec>& row_slots() const override;
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

 private:
  class Entry;

  void PlanNext(size_t n, TicketRun* run) override;
  void Gather(const Ref<GatheredPart>& part) override;
  void GatherRest() override;
  void LoadGathered(const Gathered& gathered, Rows* rows) const override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // Decides where the elements of this pass come from.
  void Begin();
  // Finds out which file the elements may be in, unless that is done or cannot be done.
  void Describe();
  // Lets the elements from number `first` on come from the file, if there is a readable one.
  // Removes a damaged one if this reader holds the lock.
  bool Find(uint64_t first);
  // Opens the file. Sets its id, and for the first pass the slots.
  std::unique_ptr<ElementCacheFormat> OpenFile(FileId* id);
  // Plans elements again that came from the file, by their numbers in the pass, as far as the file
  // is there and whole; `taken` says which. PlanBelowAgain plans the others from the reader below.
  void PlanStoredAgain(const std::vector<uint64_t>& numbers, const TakeElement& take,
                       std::vector<bool>* taken);
  void PlanBelowAgain(const std::vector<uint64_t>& numbers, const TakeElement& take,
                      const std::vector<bool>& taken);
  // Plans from the file; false if it is damaged or cannot be read, and is no longer used.
  bool PlanStored(size_t n, TicketRun* run);
  // Removes the file that elements have come from.
  void RemoveDamaged();
  // Calls what writes; where that fails, nothing more is ever written.
  template <typename Step>
  void Write(const Step& step);
  // Drops a file that has no name yet.
  void StopWriting();
  // Throws kResourceLimit unless the file may have this many bytes.
  void CheckRoom(uint64_t bytes);
  // Makes the file when it is first written to, because the slots are known then.
  ElementCacheWriter& Writer();

  const DiskCacheOptions options_;
  std::string description_;
  std::unique_ptr<Entry> entry_;        // of the description; null before the first pass
  bool gave_up_ = false;                // writing
  std::vector<SlotSpec> stored_slots_;  // of the file, if the first pass came from it
  bool first_pass_ = true;
  // Of this pass:
  bool begun_ = false;
  std::unique_ptr<FileReader> stored_;          // what elements come from, or null
  FileId stored_id_;                            // of its file
  bool writes_ = false;                         // whether this reader holds the lock, and writes
  std::unique_ptr<ElementCacheWriter> writer_;  // null before the first element
  uint64_t others_ = 0;       // bytes of the other files in the folder, when it was last listed
  uint64_t list_from_ = 0;    // the size of the file at which the folder is listed again
  size_t yielded_ = 0;        // elements
  size_t left_in_file_ = 0;   // elements that the file has still to pass over
  size_t left_ = 0;           // elements that the reader below has still to pass over
  bool below_begun_ = false;  // whether the reader below has been read
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_CACHE_DISK_CACHE_READER_H_
