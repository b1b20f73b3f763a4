// SPDX-License-Identifier: Apache-2.0
// What the formats npy and npz share: a slot is an array, a record is a row of each.
#ifndef MILLHOPPER_READERS_FORMATS_NUMPY_NPY_ARRAYS_H_
#define MILLHOPPER_READERS_FORMATS_NUMPY_NPY_ARRAYS_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/reader/file_format.h"
#include "readers/chunks/learned_files.h"
#include "readers/fields/fields.h"
#include "readers/formats/numpy/npy_header.h"

namespace millhopper {

// The slots are learned from the first file; all files of a reader must agree with it, but may lack
// arrays whose fields say what that means.
class NpyArrays : public FileFormat {
 public:
  // `files` are those that will be opened, `fields` those of the slots, or none.
  NpyArrays(std::vector<SlotSpec> slots, const std::vector<FileEntry>& files,
            std::vector<Field> fields)
      : FileFormat(std::move(slots)), fields_(std::move(fields)), stored_(files) {}

  const std::vector<SlotSpec>& row_slots() const override {
    return opened_slots_.empty() ? slots() : opened_slots_;
  }
  bool chunks_tell_records() const override { return true; }
  void Load(const Ticket* tickets, size_t n, Rows* rows) const override;

 protected:
  const std::vector<Field>& fields() const { return fields_; }
  // Reads the header at the beginning of each stream, and learns the slots. A null stream stands
  // for an array that the file lacks; at least one is not null. Throws what ReadNpyHeader throws,
  // and kDataLoss if the arrays have different lengths or differ from what is declared or from the
  // files before.
  std::unique_ptr<FileSource> OpenArrays(const std::string& path,
                                         std::vector<std::unique_ptr<ByteStream>> streams);

 private:
  // What Load needs of an array in a file.
  struct Stored {
    NpyType type;
    size_t offset = 0;  // of its numbers in a record
    bool missing = false;

    bool operator==(const Stored& other) const {
      return type == other.type && offset == other.offset && missing == other.missing;
    }
  };

  void LoadSlot(size_t slot, const Ticket* tickets, size_t n, char* out) const;
  void Learn(const std::string& path, const std::vector<NpyHeader>& headers,
             const std::vector<bool>& missing);

  const std::vector<Field> fields_;
  std::vector<SlotSpec> opened_slots_;         // set once, before there is a ticket to load,
  std::vector<size_t> numbers_;                // as are these, of a record of each slot
  std::vector<std::optional<NpyType>> types_;  // none of slots that no file has had
  LearnedFiles<std::vector<Stored>> stored_;   // by slot
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_NUMPY_NPY_ARRAYS_H_
