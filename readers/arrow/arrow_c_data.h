// SPDX-License-Identifier: Apache-2.0
// The Arrow C data interface and C stream interface: how columns in memory pass from one library to
// another without a copy, and without either knowing the other. The structs, their names and the
// names of the guards are what the two standards demand; a library of Arrow that is included beside
// this header brings the same. A struct that was released has a null `release`.
// Source: https://arrow.apache.org/docs/format/CDataInterface.html and CStreamInterface.html.
#ifndef MILLHOPPER_READERS_ARROW_ARROW_C_DATA_H_
#define MILLHOPPER_READERS_ARROW_ARROW_C_DATA_H_

#include <cstdint>
#include <cstring>

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4

// The type of a column, and its name.
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};

// The values of a column.
struct ArrowArray {
  int64_t length;
  int64_t null_count;  // -1: not counted
  int64_t offset;      // of the first value in the buffers
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};

#endif  // ARROW_C_DATA_INTERFACE

#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE

// A source of batches of one schema. Each function returns 0 or an error of errno.h.
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream*, struct ArrowSchema* out);
  int (*get_next)(struct ArrowArrayStream*, struct ArrowArray* out);  // released: the end
  const char* (*get_last_error)(struct ArrowArrayStream*);
  void (*release)(struct ArrowArrayStream*);
  void* private_data;
};

#endif  // ARROW_C_STREAM_INTERFACE

namespace millhopper {

// Owns one of the structs, and releases it when it is destroyed.
template <typename Struct>
class ArrowOwned {
 public:
  ArrowOwned() { std::memset(&value_, 0, sizeof(value_)); }
  ~ArrowOwned() {
    if (value_.release != nullptr) value_.release(&value_);
  }
  ArrowOwned(const ArrowOwned&) = delete;
  ArrowOwned& operator=(const ArrowOwned&) = delete;

  // For a function that fills it; it must be empty.
  Struct* out() { return &value_; }
  const Struct& operator*() const { return value_; }
  const Struct* operator->() const { return &value_; }

 private:
  Struct value_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_ARROW_ARROW_C_DATA_H_
