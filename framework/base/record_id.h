// SPDX-License-Identifier: Apache-2.0
// The name of an element.
#ifndef MILLHOPPER_FRAMEWORK_BASE_RECORD_ID_H_
#define MILLHOPPER_FRAMEWORK_BASE_RECORD_ID_H_

#include <cstdint>

namespace millhopper {

// Which record an element is, whoever asks: no thread, no shuffle, no other part of the data and no
// resume changes it. What is random about an element is drawn by it, and errors name it. An element
// that several records went into has the name of the first of them.
struct RecordId {
  uint64_t pass = 0;    // of its source, from 0; with `sample` and `part`, all that is drawn by
  uint64_t sample = 0;  // position in the pass of its source
  // Which of the elements that a stage has made of it, from 0. What is made of a part is counted
  // from a place of its own, so that no two of all parts of a record are alike.
  uint64_t part = 0;
  uint64_t chunk = 0;   // where its chunk begins: a byte of the file, or a place in a list of files
  uint32_t file = 0;    // index in the list of files of its source
  uint32_t record = 0;  // index in its chunk
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_RECORD_ID_H_
