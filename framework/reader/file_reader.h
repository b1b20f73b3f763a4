// SPDX-License-Identifier: Apache-2.0
// Reads files through a format. FileReader reads one file; open_files derives from it and reads
// many.
#ifndef MILLHOPPER_FRAMEWORK_READER_FILE_READER_H_
#define MILLHOPPER_FRAMEWORK_READER_FILE_READER_H_

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "framework/io/files_in_use.h"
#include "framework/io/mapping_cache.h"
#include "framework/io/one_pass.h"
#include "framework/memory/counted_memory.h"
#include "framework/reader/chunk_queue.h"
#include "framework/reader/file_format.h"
#include "framework/reader/prefetcher.h"
#include "framework/reader/reader.h"

namespace millhopper {

// Yields the records of one file, each checked against the declared slots. Every error names the
// file, the byte, the record and this reader.
class FileReader : public ReaderBase {
 public:
  // Throws what the constructor throws for files that are missing; `folders` says what they are.
  static void CheckExist(const std::vector<FileEntry>& files, bool folders);
  // Reads nothing. Throws kIo unless the file (and its companion) exists and is a regular file, one
  // that can be read once only (one_pass.h), or a folder if the format reads folders; and
  // kInvalidArgument if this process is rewriting it (files_in_use.h), or if it can be read once
  // only and another reader has it. A second pass of such a file is an error, as is saving a place
  // in it.
  FileReader(std::unique_ptr<FileFormat> format, FileEntry file);
  ~FileReader() override;

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  const std::vector<SlotSpec>& row_slots() const override { return format_->row_slots(); }
  void LearnSlots() override;
  void EndReading() override { read_.End(); }
  void TakeShare(const ChunkShare& share) override;
  void ExpectWindow() override { format_->ExpectWindow(); }
  bool HelpToPlan() override { return prefetcher_->Help(); }
  std::optional<uint64_t> PassLength() const override;
  // Of the name of the file, with as many of its folders as tell it from the others, and of the
  // place in it.
  void RecordKeys(const Ticket* tickets, size_t n, uint64_t* keys) const override;
  void NameElements(const Ticket* tickets, size_t n, ElementNames* names) const override;
  // Fetches each chunk once, in the order of the files, and some ahead.
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;
  // The error with the file, the byte and the record of a ticket of this reader, and its name.
  Error InRecord(const Error& error, const Ticket& ticket) const;

 protected:
  // For readers of several files, which override PlanNext and Rewind. One error names all files
  // that are missing.
  FileReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> files,
             ReadAhead read_ahead);

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // Writes what all readers of files depend on: the files, the format and the share; and which file
  // was opened first.
  void SaveFiles(ReaderState* state) const;
  // Lets the format learn from the same file. Opens none before one is needed.
  void RestoreFiles(const ReaderState& state);
  // Throws unless OpenFile can begin at the place, as far as numbers tell.
  void CheckPlace(const ReaderState& state, const FilePlace& place) const;

  // For readers that need files which can be read at any place, any number of times: throws
  // kInvalidArgument if there is another; `why` is what they do.
  void RefuseReadOnce(const std::string& why) const;
  FileFormat& format() const { return *format_; }
  const std::vector<FileEntry>& files() const { return files_; }
  // Opens a file. Formats learn from the first one that they open what all others must agree with.
  std::unique_ptr<FileSource> OpenSource(size_t index);
  // Ends the reading of all files. The caller must hold no queue any more.
  void CloseFiles();
  // Begins to read a source of this file ahead, for this pass, from `start` on if it is given.
  Ref<ChunkQueue> Enqueue(std::unique_ptr<FileSource> source, size_t index, uint64_t pass,
                          const ChunkShare& share,
                          const std::optional<FilePlace>& start = std::nullopt);
  // Both for the share of this reader.
  Ref<ChunkQueue> OpenFile(size_t index, uint64_t pass,
                           const std::optional<FilePlace>& start = std::nullopt) {
    return Enqueue(OpenSource(index), index, pass, share_, start);
  }
  // Says that the chunks of files are dealt to lanes (ChunkQueue::Deal), which fetch them. Called
  // before a file is opened.
  void DealChunks() { deals_ = true; }
  // Whether chunks tell how many records they have before they are read.
  bool chunks_tell_records() const { return format_->chunks_tell_records(); }
  bool tells_all_processes() const { return format_->tells_all_processes(); }
  // Deals a chunk again, whose place was saved, and the parts before it that belong to it.
  std::vector<DealtChunk> DealAgain(const FilePlace& place, uint64_t pass);
  // Plans up to n of the available records of a file, numbered from `sample` on; returns how many.
  static size_t TakeFrom(ChunkQueue* queue, size_t n, uint64_t sample, TicketRun* run);
  Prefetcher& prefetcher() { return *prefetcher_; }
  const ReadAhead& read_ahead() const { return prefetcher_->limits(); }
  // As Prefetcher::Fill; how long it takes counts as waited for.
  bool Fill(ChunkQueue* queue) { return queue->available() > 0 || FillTimed(queue); }
  uint64_t InStore() const override { return prefetcher_->RecordsInStore(); }
  // Which chunks are read (TakeShare), and whether these are not all.
  const ChunkShare& share() const { return share_; }
  bool is_share() const { return share_.count > 1; }

 private:
  bool FillTimed(ChunkQueue* queue);
  // Counts the memory of the names.
  void CountNames();
  // Notes what the names mean by now.
  void NoteAgain();
  std::unique_ptr<FileSource> OpenByFormat(size_t index);
  // Plans records of one file again, which lie at these places; in the order of its chunks.
  void PlanFileAgain(const std::vector<RecordId>& records, const size_t* places, size_t n,
                     std::deque<uint64_t> chunks, const TakeElement& take);
  // FileFormat::Fingerprint; 0 for a file that is not of this format.
  uint64_t FingerprintOf(const FileEntry& file) const;
  // A queue that is not read ahead yet; `where` is what the constructor of ChunkQueue takes last.
  template <typename Where>
  Ref<ChunkQueue> EnqueueAt(std::unique_ptr<FileSource> source, size_t index, uint64_t pass,
                            const ChunkShare& share, Where where);
  // Has the format load tickets that have bytes, or a holder of their records.
  void LoadBytes(const Ticket* tickets, size_t n, Rows* rows) const;
  // The same for tickets of mapped files. They get their bytes here, so that no other code sees
  // bytes that may change.
  void LoadMapped(const Ticket* tickets, size_t n, Rows* rows) const;
  // Lets the format load n tickets, and checks that it has added n rows to each one-step slot.
  void LoadBlock(const Ticket* tickets, size_t n, Rows* rows) const;

  const std::unique_ptr<FileFormat> format_;
  const char* const library_;  // of the format
  const std::vector<FileEntry> files_;
  std::optional<CountedMemory> names_;  // once a file is opened: the account has its name then
  FilesRead read_{FileRole::kData};
  OnePassFiles once_;
  MappingCache mappings_;
  // Of the files and their companions, when the reader was made; 0 for folders.
  std::vector<uint64_t> sizes_;
  mutable std::optional<FileList> list_;  // once it was asked for
  mutable std::once_flag file_keys_made_;
  mutable std::vector<uint64_t> file_keys_;  // by file, once RecordKeys was called
  ChunkShare share_;
  bool deals_ = false;
  std::optional<size_t> first_opened_;  // the file that the format learns from
  bool has_learned_ = false;
  // Of file first_opened_, if that was opened before its turn and can be read once only.
  std::unique_ptr<FileSource> opened_;
  const Ref<Prefetcher> prefetcher_;
  Ref<ChunkQueue> queue_;  // of the running pass, once it has begun
  uint64_t pass_ = 0;
  uint64_t sample_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_FILE_READER_H_
