// SPDX-License-Identifier: Apache-2.0
// What the formats npy and npz share: a slot is an array, a record is a row of each.
#ifndef MILLHOPPER_READERS_NPY_ARRAYS_H_
#define MILLHOPPER_READERS_NPY_ARRAYS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "framework/io/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/npy_header.h"

namespace millhopper {

// The slots are learned from the first file; all files of a reader must agree with it.
class NpyArrays : public FileFormat {
 public:
  using FileFormat::FileFormat;

  const std::vector<SlotSpec>& row_slots() const override {
    return opened_slots_.empty() ? slots() : opened_slots_;
  }
  bool chunks_tell_records() const override { return true; }
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override;

 protected:
  // Reads the header of each array, which its stream begins with, and learns the slots. Throws what
  // ReadNpyHeader throws, and kDataLoss if the arrays are not as long as each other, not as
  // declared or not as in the files before.
  std::unique_ptr<FileSource> OpenArrays(std::vector<std::unique_ptr<ByteStream>> streams);

 private:
  // What Load needs of an array.
  struct Stored {
    NpyType type;
    size_t numbers = 0;
    size_t record_bytes = 0;
  };

  void Learn(const std::string& path, const std::vector<NpyHeader>& headers);

  std::vector<SlotSpec> opened_slots_;  // set once, before there is a ticket to load,
  std::vector<Stored> stored_;          // as are these, one for each slot
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_NPY_ARRAYS_H_
