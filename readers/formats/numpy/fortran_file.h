// SPDX-License-Identifier: Apache-2.0
// An array in Fortran order, seen as a file of its records one after another.
#ifndef MILLHOPPER_READERS_FORMATS_NUMPY_FORTRAN_FILE_H_
#define MILLHOPPER_READERS_FORMATS_NUMPY_FORTRAN_FILE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "framework/io/compression/byte_stream.h"
#include "framework/io/file.h"
#include "readers/formats/numpy/npy_header.h"

namespace millhopper {

// In Fortran order the first axis varies fastest, so the values of a record lie one axis length
// apart. Records are gathered when they are read, with memory for a block at most; an array that
// cannot be read so, because it is compressed or can be read once only, is held in memory. Reads
// begin at a record, at begin() or after it, and are of whole records. Any thread may read.
class FortranFile final : public File {
 public:
  // The stream is at the first value. Throws kDataLoss with file and byte if values are missing,
  // kResourceLimit for an array to be held of more than kMaxUnsizedBytes, and what reading throws,
  // also after its last value.
  FortranFile(std::unique_ptr<ByteStream> stream, const NpyHeader& header);

  uint64_t begin() const { return begin_; }

 protected:
  size_t ReadSome(uint64_t offset, char* out, size_t size) const override;

 private:
  void ReadContent(uint64_t bytes);
  void ReadStored(uint64_t offset, char* out, size_t size) const;
  void Gather(uint64_t first, size_t records, char* out) const;

  const std::unique_ptr<ByteStream> stream_;
  const NpyHeader header_;
  const uint64_t begin_;
  const size_t value_bytes_;
  size_t values_;              // of a record
  std::vector<size_t> axes_;   // lengths, without the first one
  std::vector<size_t> steps_;  // along each of these axes, in values of a record in C order
  std::vector<char> content_;  // of an array that is held
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_NUMPY_FORTRAN_FILE_H_
