// SPDX-License-Identifier: Apache-2.0
// Reads files through a format. One file here; open_files reads many on top of this.
#ifndef MILLHOPPER_FRAMEWORK_READER_FILE_READER_H_
#define MILLHOPPER_FRAMEWORK_READER_FILE_READER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/io/files_in_use.h"
#include "framework/reader/chunk_queue.h"
#include "framework/reader/file_format.h"
#include "framework/reader/prefetcher.h"
#include "framework/reader/reader.h"

namespace millhopper {

// Yields the records of one file, each checked against the declared slots. Every error names the
// file, the byte, the record and this reader.
class FileReader : public ReaderBase {
 public:
  // Throws kIo unless the file (and its companion) exists and is a regular file, kInvalidArgument
  // if the process is writing it anew (files_in_use.h); reads nothing.
  FileReader(std::unique_ptr<FileFormat> format, FileEntry file);
  ~FileReader() override;

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override;
  const std::vector<SlotSpec>& row_slots() const override { return format_->row_slots(); }
  void TakeShare(const ChunkShare& share) override;
  std::optional<uint64_t> PassLength() const override {
    return is_share() ? std::nullopt : format_->CountRecords(files_);
  }

 protected:
  // For readers of several files, which override PlanNext and Rewind. All that are missing are
  // named in one error.
  FileReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> files,
             ReadAhead read_ahead);

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;

  FileFormat& format() const { return *format_; }
  const std::vector<FileEntry>& files() const { return files_; }
  // Begins to read a file ahead, for this pass.
  Ref<ChunkQueue> OpenFile(size_t index, uint64_t pass);
  Prefetcher& prefetcher() { return *prefetcher_; }
  // Whether only one share of the chunks is read (TakeShare).
  bool is_share() const { return share_.count > 1; }

 private:
  // Has the format load tickets that have bytes.
  void LoadBytes(const Ticket* tickets, size_t n, Rows* rows) const;
  // The same for tickets of mapped files, which get theirs here: nobody else sees bytes that may
  // change.
  void LoadMapped(const Ticket* tickets, size_t n, Rows* rows) const;
  // Has the format load some, and checks that it has.
  void LoadBlock(const Ticket* tickets, size_t n, Rows* rows) const;

  const std::unique_ptr<FileFormat> format_;
  const char* const library_;  // of the format
  const std::vector<FileEntry> files_;
  FilesRead read_{FileRole::kData};
  ChunkShare share_;
  const Ref<Prefetcher> prefetcher_;
  Ref<ChunkQueue> queue_;  // of the running pass, once it has begun
  uint64_t pass_ = 0;
  uint64_t sample_ = 0;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_READER_FILE_READER_H_
