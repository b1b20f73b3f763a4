// SPDX-License-Identifier: Apache-2.0
// Reads the records of files in a random order: open_files with shuffle_records.
#ifndef MILLHOPPER_READERS_RANDOM_ORDER_READER_H_
#define MILLHOPPER_READERS_RANDOM_ORDER_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "framework/base/kept.h"
#include "framework/base/permutation.h"
#include "framework/base/random.h"
#include "framework/reader/file_reader.h"

namespace millhopper {

// Yields the records of all files in a random order, each once. The order is
// Permutation(records, key, pass), whose numbers count through the files in the order of the list.
// No memory is taken for records that wait: each is read by itself, by the thread that loads it. So
// the files are plain files of records of one size (FileSource::Records). All of them are open in a
// pass; where descriptors are few, files are closed and opened again (File).
class RandomOrderReader final : public FileReader {
 public:
  // Throws kInvalidArgument for an empty list, and kIo with the names of all files that are
  // missing; reads nothing. When the first element is planned, files that cannot be read so are an
  // error (kInvalidArgument), and so is a file that is too short or too long.
  RandomOrderReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> entries,
                    const RandomKey& key);
  ~RandomOrderReader() override;

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  void TakeShare(const ChunkShare& share) override;
  // A sample of a pass tells its record.
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

 private:
  class OpenedFiles;

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  Ref<OpenedFiles> OpenAll();
  // Opens the files of the pass, if that is not done yet, and orders its records.
  void Begin();

  const RandomKey key_;
  uint64_t pass_ = 0;
  uint64_t next_ = 0;                 // place in the order
  Ref<OpenedFiles> opened_;           // null before the first element of the pass is planned
  std::optional<Permutation> order_;  // set with opened_
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_RANDOM_ORDER_READER_H_
