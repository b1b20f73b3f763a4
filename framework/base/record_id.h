// SPDX-License-Identifier: Apache-2.0
// The name of an element.
#ifndef MILLHOPPER_FRAMEWORK_BASE_RECORD_ID_H_
#define MILLHOPPER_FRAMEWORK_BASE_RECORD_ID_H_

#include <cstdint>

namespace millhopper {

// Which record an element is. No thread, shuffle, other part of the data or resume changes it.
// Random values of an element are drawn by it, and errors name it. An element that is made of
// several records has the name of the first of them.
struct RecordId {
  uint64_t pass = 0;    // of its source, from 0; with `sample` and `part`, all that is drawn by
  uint64_t sample = 0;  // position in the pass of its source
  // Which of the elements that a stage has made of it, from 0. The parts of a part have their own
  // range of numbers (FirstPart), so that no two parts of a record are alike.
  uint64_t part = 0;
  uint64_t chunk = 0;   // where its chunk begins: a byte of the file, or a place in a list of files
  uint32_t file = 0;    // index in the list of files of its source
  uint32_t record = 0;  // index in its chunk
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_RECORD_ID_H_
