// SPDX-License-Identifier: Apache-2.0
// Files whose names say what is in them, so that the text of a program is enough to repeat a case.
// Record i of a file is about the number n = first + i:
//
//  numbers_FIRST_RECORDS_CHUNK_DIALECT_COMPRESSOR.recordio  float32 [1, 2] (n, -n), int64 [1, 1] n
//  ragged_FIRST_RECORDS_CHUNK_DIALECT_COMPRESSOR.recordio   int64 [n % 4, 1], each n
//  lines_FIRST_RECORDS_END.txt                              n in digits, or an empty line
//  images_FIRST_RECORDS.idx                                 int16 [1, 2] (n, -n)
//  labels_FIRST_RECORDS.idx                                 int64 [1, 1] n % 256
//  fields_FIRST_RECORDS.fixed                               int64 [1, 1] n, uint8 [2] n % 256
//  named_FIRST_RECORDS_CHUNK.FORMAT                         the fields of field_files.h;
//                                                           of mds, /index.json follows
//
// CHUNK is the number of records in a chunk. END is "lf", "crlf" or "open"; with "open" the last
// line has no end. A RecordIO file whose stem ends with _bad_K has a wrong byte in chunk K; with
// _odd_I, record I has other dims. All files but RecordIO files, and those of some formats with
// fields, may be compressed: ".gz" follows.
#ifndef MILLHOPPER_TESTS_CHAINS_NAMED_FILES_H_
#define MILLHOPPER_TESTS_CHAINS_NAMED_FILES_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tests/chains/expected_stream.h"

namespace millhopper {

// What reading the file yields, with these fields if its format has some. Only the last part of the
// path matters.
ExpectedStream ContentOf(const std::string& path, const std::vector<std::string>& fields);
// The same, chunk by chunk.
struct ExpectedChunk {
  ExpectedStream content;         // one with a wrong byte is an error without elements
  std::optional<size_t> records;  // if the file tells how many before they are read
};
std::vector<ExpectedChunk> ChunksOf(const std::string& path,
                                    const std::vector<std::string>& fields);
// Writes the file unless it is there.
void MakeNamedFile(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_NAMED_FILES_H_
