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
// Permutation(records, key, p), where place i counts through the files in the order of the list,
// and p is the pass (reading k of `pass_num` in pass q is p = q * pass_num + k). No memory is taken
// for records that wait: each is read by itself, by the thread that loads it. So the files are
// plain files of records of one size (FileSource::Records), and all of them are open at once.
class RandomOrderReader final : public FileReader {
 public:
  // Throws as MultiFileReader. Files that cannot be read so are an error (kInvalidArgument) when
  // the first element is planned.
  RandomOrderReader(std::unique_ptr<FileFormat> format, std::vector<FileEntry> entries,
                    uint64_t pass_num, const RandomKey& key);
  ~RandomOrderReader() override;

  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;
  void TakeShare(const ChunkShare& share) override;
  std::optional<uint64_t> PassLength() const override;

 private:
  class OpenedFiles;

  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  Ref<OpenedFiles> OpenAll();

  const uint64_t pass_num_;
  const RandomKey key_;
  uint64_t pass_ = 0;
  uint64_t round_ = 0;                // which of the pass_num readings goes on
  uint64_t next_ = 0;                 // place in its order
  uint64_t sample_ = 0;               // number of the next record in the pass
  Ref<OpenedFiles> opened_;           // in this pass
  std::optional<Permutation> order_;  // of this round
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_RANDOM_ORDER_READER_H_
