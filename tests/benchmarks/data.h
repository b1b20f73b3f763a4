// SPDX-License-Identifier: Apache-2.0
// The data that benchmarks read: synthetic, from a fixed seed, the same bytes on every machine. Our
// own writer writes each file once per folder; from then on it is in the page cache.
#ifndef MILLHOPPER_TESTS_BENCHMARKS_DATA_H_
#define MILLHOPPER_TESTS_BENCHMARKS_DATA_H_

#include <cstdint>
#include <string>
#include <vector>

#include "framework/tensor/rows.h"
#include "readers/formats/recordio/recordio_chunk.h"

namespace millhopper {

// Files with their records, and what a reader of them declares.
struct DataSet {
  std::string format;  // the tag
  std::vector<std::string> files;
  std::vector<std::string> companions;  // empty, or one per file
  std::vector<SlotSpec> slots;          // empty for formats with fields
  std::vector<std::string> fields;      // of formats that take them
  uint64_t records = 0;                 // in all files together
  BufferType buffer_type = BufferType::kMemory;
};

// The sizes of data that workloads of several files of source read, each made once.
struct SharedData {
  static constexpr uint64_t kImages = 200000;
  static constexpr uint64_t kTinyRecords = 4000000;
  static constexpr uint64_t kSequences = 1000000;
  static constexpr uint64_t kRows = 300000;
  static constexpr uint64_t kImagesInFiles = 160000;
  static constexpr int kFiles = 64;
};

// The folder where data sets are written. Set once, before any of them is asked for.
void SetDataFolder(const std::string& folder);
const std::string& DataFolder();

// Images like those of MNIST: float32 [1, 784], a fifth of it not 0, and an int64 [1, 1] as label.
// They are spread over `files` files in RecordIO chunks of 1 MiB.
DataSet MnistRecords(RecordIOCompressor compressor, uint64_t records, int files = 1);
// The same images as bytes in an idx file, labels in another.
DataSet MnistIdx(uint64_t records);
// The same images as an array of numpy's, and in a tar, each beside a file with its label.
DataSet MnistNpy(uint64_t records);
DataSet MnistTar(uint64_t records);
// Records of 64 random bytes, uint8 [1, 64]: bare, and in RecordIO.
DataSet Tiny64Fixed(uint64_t records);
DataSet Tiny64Records(uint64_t records);
// Records of zeros: `width` values each, in a file of which the disk holds nothing. What is read of
// it takes as much memory of the page cache as that of any other file.
DataSet SparseFixed(uint64_t records, DataType dtype, int64_t width);
// Sequences of 5 to 64 tokens, int64 [n, 1] with a level of detail, in RecordIO.
DataSet TokenSequences(uint64_t records);
// Lines of 20 to 200 made-up words, of which a few are frequent and most are rare, as text; and the
// path of a file of tokens for it in tiktoken's form: bytes, and the beginnings of frequent words.
DataSet WordLines(uint64_t records);
std::string WordTokens();
// Rows like those of Criteo's advertisements, some cells empty: a label of 0 or 1, 13 integers and
// 26 categories of 32 bits: in tab-separated text (hexadecimal), in lines of JSON, and in Examples
// in TFRecords, in which each is a feature. The text is spread over `files` files.
DataSet CriteoTsv(uint64_t records, int files = 1);
DataSet CriteoJsonl(uint64_t records);
DataSet CriteoExamples(uint64_t records);
// Photographs (photos.h) and their labels: in Examples in TFRecords, in a tar, and as files in the
// folders of 10 classes.
DataSet PhotoExamples(uint64_t records);
DataSet PhotoTar(uint64_t records);
DataSet PhotoFolder(uint64_t records);
// `files` RecordIO files of two images each.
DataSet ManySmallFiles(int files);

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_BENCHMARKS_DATA_H_
