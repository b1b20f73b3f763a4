// SPDX-License-Identifier: Apache-2.0
// The header of numpy's .npy arrays, versions 1.0 to 3.0, and what their values become. See
// numpy.lib.format: the magic, a version, the length of a Python dictionary, and that dictionary:
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }
#ifndef MILLHOPPER_READERS_FORMATS_NUMPY_NPY_HEADER_H_
#define MILLHOPPER_READERS_FORMATS_NUMPY_NPY_HEADER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "framework/io/compression/byte_stream.h"
#include "framework/tensor/rows.h"

namespace millhopper {

// How numbers are stored, and the type of the tensor that they become.
struct NpyType {
  enum class Change { kNone, kCheckBool, kWidenUint16, kWidenUint32, kCheckUint64 };

  DataType dtype = DataType::kUint8;
  size_t bytes = 1;  // of a stored number
  // Some values are several numbers, which become a last axis: a complex value is a real and an
  // imaginary one, text is its bytes or code points, with zeros after them. 0: no axis.
  uint64_t last_axis = 0;
  bool other_endian = false;  // stored in the byte order that is not ours
  Change change = Change::kNone;

  bool operator==(const NpyType& other) const {
    return dtype == other.dtype && bytes == other.bytes && last_axis == other.last_axis &&
           other_endian == other.other_endian && change == other.change;
  }
};

// An array as rows along its first axis. An array without axes is one record.
struct NpyHeader {
  NpyType type;
  bool fortran_order = false;
  uint64_t records = 0;
  SlotSpec spec;            // of a record: the first axis is 1
  size_t record_bytes = 0;  // as stored
  size_t numbers = 0;       // of a record
};

// Reads the header and leaves the stream at the first value. Throws kDataLoss or kResourceLimit
// with file and byte for what is no array, and for arrays that are not read: of objects, of dates,
// structured ones. records * record_bytes is far from overflowing.
NpyHeader ReadNpyHeader(ByteStream* stream);

// Makes an unsigned array one of the signed type that a slot declares: uint16 of int32, uint32 and
// uint64 of int64. Leaves others alone.
void DeclareNpy(DataType declared, NpyHeader* header);

// Whether a file begins as an array does.
bool IsNpy(const char* head, size_t size);

// Writes `numbers` stored numbers as values of the tensor. Throws kDataLoss for one that it cannot
// hold.
void CopyNpyNumbers(const NpyType& type, const char* from, size_t numbers, char* to);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_NUMPY_NPY_HEADER_H_
