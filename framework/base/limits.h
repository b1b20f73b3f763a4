// SPDX-License-Identifier: Apache-2.0
// Limits on what a file or a program may declare. A declared size is checked against these and
// against the bytes that are left before any memory is taken.
#ifndef MILLHOPPER_FRAMEWORK_BASE_LIMITS_H_
#define MILLHOPPER_FRAMEWORK_BASE_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace millhopper {

constexpr int64_t kMaxElements = int64_t{1} << 40;       // values in a tensor
constexpr size_t kMaxLodLevels = 16;                     // levels of detail of a tensor
constexpr size_t kMaxTensorDescBytes = 256;              // serialised dtype and dims of a tensor
constexpr uint64_t kMaxRecordBytes = uint64_t{1} << 31;  // one record, before decoding
constexpr uint64_t kMaxChunkBytes = uint64_t{1} << 31;   // a chunk of a file as stored
constexpr uint64_t kMaxExpandedChunkBytes = uint64_t{1} << 31;  // the same, decompressed
constexpr uint32_t kMaxChunkRecords = uint32_t{1} << 26;        // records in a chunk
constexpr uint64_t kMaxLineBytes = uint64_t{16} << 20;          // a line of a text file
constexpr size_t kReadBlockBytes = size_t{1} << 20;        // how much of a file is read at once
constexpr size_t kMaxReadAheadBytes = size_t{256} << 20;   // that wait in one reader of files
constexpr uint64_t kMaxUnsizedBytes = uint64_t{64} << 20;  // a file that does not know its size
constexpr int kMaxZstdWindowLog = 27;  // of the bytes that a zstd stream looks back
constexpr uint64_t kMaxXzMemory = uint64_t{136} << 20;  // of a decoder: 128 MiB, and tables
constexpr size_t kMaxSlots = 4096;                      // tensors in an element
// Readers that stand on one another. Each calls the one below, so all of them need room on the
// stack of the thread that reads: half a KB each, a few KB with sanitizers. Useful chains have
// about ten.
constexpr int kMaxReaderDepth = 100;
// Readers in one chain, where a reader that several others stand on counts for each of them: what
// is asked of a chain is asked of each of them.
constexpr int kMaxReadersInChain = 10000;
constexpr size_t kMaxLanes = 1024;  // of one source; each takes a window and a chunk

// Lists and folders of files.
constexpr uint64_t kMaxFileTableBytes = uint64_t{1} << 30;  // names and labels
constexpr int kMaxFolderDepth = 100;                        // folders within folders

constexpr size_t kMaxPluginBytes = size_t{1} << 30;

// Programs, as text or binary.
constexpr size_t kMaxProgramBytes = size_t{64} << 20;
constexpr size_t kMaxProgramItems = 4000000;  // messages and strings
constexpr size_t kMaxProgramBytesInMemory = size_t{512} << 20;
constexpr int kMaxProgramNesting = 64;               // messages within messages
constexpr int kMaxBlockDepth = 32;                   // blocks within blocks
constexpr int kMaxBlocks = 1000;                     // in a program
constexpr int kMaxOperators = 100000;                // in a program
constexpr int kMaxVariables = 100000;                // in a program
constexpr size_t kMaxProblems = 1000;                // that are told of one program
constexpr size_t kMaxProblemBytes = 1000;            // of the text of one
constexpr int kMaxListLength = 1000000;              // values of an attribute, files of a list
constexpr size_t kMaxListBytes = size_t{128} << 20;  // of the names of the files of a list

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_LIMITS_H_
