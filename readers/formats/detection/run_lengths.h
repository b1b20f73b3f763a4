// SPDX-License-Identifier: Apache-2.0
// The lengths of the runs of a mask as COCO's tools write them in texts: the mask column after
// column, beginning with a run of pixels that are off.
#ifndef MILLHOPPER_READERS_FORMATS_DETECTION_RUN_LENGTHS_H_
#define MILLHOPPER_READERS_FORMATS_DETECTION_RUN_LENGTHS_H_

#include <cstdint>
#include <string_view>
#include <vector>

namespace millhopper {

// Reads such a text. A number has six bits a character, from '0' on: five of its own, the lowest
// first, and one that says that more follow. From the third on it is the difference to the one two
// before it. Returns null, or what is wrong. (Source: rleToString in pycocotools' maskApi.c.)
const char* ReadRunLengths(std::string_view text, std::vector<int64_t>* lengths);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_DETECTION_RUN_LENGTHS_H_
