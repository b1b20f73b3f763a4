// SPDX-License-Identifier: Apache-2.0
// Lanes that read files: each of them reads every so many chunks.
#ifndef MILLHOPPER_READERS_SOURCES_FILE_LANES_H_
#define MILLHOPPER_READERS_SOURCES_FILE_LANES_H_

#include <cstddef>
#include <memory>

#include "readers/sources/multi_file_reader.h"

namespace millhopper {

// Makes lanes of a reader of files, which gives them its chunks: chunk c, counted over all files in
// the order of MultiFileReader::Deal, goes to lane c modulo their number. Record k of lane v of V
// is sample k * V + v. Of few chunks (fewer than lanes; or up to eight a lane of local files that
// tell how many records they have) each lane has every V-th record, so that each has some of all
// parts of the data, and lanes are equal to within one record: those that do not tell how many
// records they have, in every process, are fetched for that before any is dealt. So a process may
// hold nearly as many chunks as there are lanes, those of other ranks as well, for as long as it
// counts them; and what it alone may have met there, an error of the system or a lack of memory, is
// an error before the first record. Files that are not fewer than lanes count as so many chunks.
//
// Chunks are found once, for all lanes, under a lock that a lane takes once a chunk; the lane
// itself, or the first of those that share the chunk, fetches it and lists its records, and each
// loads its own. So a file is opened once a pass, however many lanes there are. An error of a file,
// also if it cannot be opened, comes where the lane whose turn it is would have the next chunk; no
// lane has chunks beyond it.
LaneSet MakeFileLanes(std::unique_ptr<MultiFileReader> files, size_t lanes);

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_SOURCES_FILE_LANES_H_
