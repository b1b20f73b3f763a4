// SPDX-License-Identifier: Apache-2.0
// Reads the records of files in a random order: open_files with shuffle_records.
#ifndef MILLHOPPER_READERS_SOURCES_RANDOM_ORDER_READER_H_
#define MILLHOPPER_READERS_SOURCES_RANDOM_ORDER_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/base/random.h"
#include "framework/base/ref_counted.h"
#include "framework/reader/file_reader.h"
#include "readers/sources/numbered_records.h"

namespace millhopper {

// Yields the records of all files in a random order, each once. The order is
// Permutation(records, key, pass), whose numbers count through the files in the order of the list.
// The files are plain files of records of one size (FileSource::Records). Threads gather the
// records of the next places ahead of the consumer (RandomOrderSource), about 10 MB for each thread
// at most, however many records there are. All files are open in a pass; where descriptors are few,
// files are closed and opened again (File).
class RandomOrderReader final : public FileReader {
 public:
  // Throws kInvalidArgument for an empty list, and kIo with the names of all files that are
  // missing; reads nothing. When the first element is planned, files that cannot be read so are an
  // error (kInvalidArgument), and so is a file that is too short or too long.
  RandomOrderReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> entries,
                    const RandomKey& key);
  ~RandomOrderReader() override;

  void TakeShare(const ChunkShare& share) override;
  // A sample of a pass tells its record.
  void PlanAgain(const ElementNames& names, const TakeElement& take) override;

 private:
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState* state) const override;
  void RestoreState(const ReaderState& state) override;
  // Opens the files of the pass, if that is not done yet.
  void Open();
  // Opens them and begins to read ahead, from place next_ on.
  void Begin();

  const RandomKey key_;
  uint64_t pass_ = 0;
  uint64_t next_ = 0;                   // place in the order
  Ref<const NumberedRecords> records_;  // null before the first element of the pass is planned
  Ref<ChunkQueue> queue_;               // set with records_
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_RANDOM_ORDER_READER_H_
