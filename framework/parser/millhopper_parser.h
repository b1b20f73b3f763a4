// SPDX-License-Identifier: Apache-2.0
// The C interface of parser plugins. A parser turns the bytes of one record into tensors, and is a
// shared library that exports one function, millhopper_parser. It includes this header, links
// nothing of Millhopper, and may be written in any language and built by any compiler.
//
// `executor --plugin=/absolute/path.so` allows the library to be used, and the attribute `parser`
// of the operator create_plugin_reader names it.
#ifndef MILLHOPPER_FRAMEWORK_PARSER_MILLHOPPER_PARSER_H_
#define MILLHOPPER_FRAMEWORK_PARSER_MILLHOPPER_PARSER_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// The version of this interface. It goes up with every change of what is below.
#define MILLHOPPER_PARSER_ABI 1u

// Types of values; the numbers are those of framework.proto.
enum {
  MILLHOPPER_BOOL = 0,  // a byte each, 0 or 1
  MILLHOPPER_INT16 = 1,
  MILLHOPPER_INT32 = 2,
  MILLHOPPER_INT64 = 3,
  MILLHOPPER_FP16 = 4,
  MILLHOPPER_FP32 = 5,
  MILLHOPPER_FP64 = 6,
  MILLHOPPER_UINT64 = 19,
  MILLHOPPER_UINT8 = 20,
  MILLHOPPER_INT8 = 21,
  MILLHOPPER_BF16 = 22,
  MILLHOPPER_UINT16 = 120,
  MILLHOPPER_UINT32 = 121
};

// The tensor at one position of what every record becomes.
struct MillhopperSlot {
  int32_t dtype;
  uint32_t lod_levels;  // levels of detail; 1 for a sequence, 0 for a plain tensor
  uint32_t rank;        // 1 to 9
  const int64_t* dims;  // lengths of the axes, outermost first, of one instance: {1, 784} is a row
                        // of a batch; -1 is any length
};

// One level of detail: offsets[k] is where sequence k begins, in sequences of the next level, or in
// rows in the last level. They begin with 0 and end with the number of sequences or rows below.
struct MillhopperLevel {
  const uint64_t* offsets;
  size_t count;  // the number of sequences plus 1
};

// A tensor that a parser has made. It stays the parser's: what it points to must be valid until the
// next call of `parse` or `destroy` with the same state. `data` may point into the record itself.
struct MillhopperTensor {
  int32_t dtype;
  uint32_t rank;
  const int64_t* dims;
  const void* data;  // the values, row by row, little-endian, at any address
  size_t data_size;  // bytes
  const struct MillhopperLevel* levels;
  size_t level_count;
};

struct MillhopperParser {
  uint32_t abi_version;  // MILLHOPPER_PARSER_ABI
  uint32_t slot_count;
  const struct MillhopperSlot* slots;

  // Makes what a thread needs for its calls of `parse`, or returns null after writing the reason
  // into `error`. Each state is used by one thread at a time; there are as many as threads that
  // parse at once. `create` and `destroy` may both be null; then every state is null.
  void* (*create)(char* error, size_t error_size);
  void (*destroy)(void* state);

  // Parses one record, which is valid during the call and has a zero byte after it. Fills
  // `tensors`, one for each slot, all zero before the call, and returns their number. Or refuses
  // the record: writes the reason as text into `error` (of error_size bytes, the zero byte
  // included) and returns -1. A record may be parsed more than once.
  int32_t (*parse)(void* state, const char* record, size_t size, struct MillhopperTensor* tensors,
                   char* error, size_t error_size);
};

// The function that the library exports. Returns its parser, which is valid until the process ends,
// or null if it knows no such version. No function of a parser lets an exception out.
#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
const struct MillhopperParser*
millhopper_parser(uint32_t abi_version);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // MILLHOPPER_FRAMEWORK_PARSER_MILLHOPPER_PARSER_H_
