// SPDX-License-Identifier: Apache-2.0
// Many files of numbers as one reader: elements are int64 [1, 1].
#ifndef MILLHOPPER_TESTS_FILES_NUMBER_FILES_H_
#define MILLHOPPER_TESTS_FILES_NUMBER_FILES_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/file_format.h"
#include "framework/reader/reader.h"
#include "framework/tensor/tensor_stream.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/sources/open_files.h"
#include "tests/testing.h"

namespace millhopper {

using Numbers = std::vector<int64_t>;

// A RecordIO file of the numbers from `first` on, in chunks of three records. Returns its path.
inline std::string ChunkedFile(int64_t first, int64_t count) {
  const std::string path = TempName(StrCat("chunked-", first, "-", count, ".recordio"));
  RecordIOOptions options;
  options.chunk_records = 3;
  RecordIOWriter writer(path, options);
  for (int64_t i = first; i < first + count; ++i) {
    std::string record(4, '\0');
    record[0] = 1;
    AppendTensor(MakeTensor<int64_t>({1, 1}, {i}), &record);
    writer.Write(record);
  }
  writer.Close();
  return path;
}

// As ChunkedFile, but in one chunk, of which it is known how many records it has.
inline std::string CountedFile(int64_t first, int64_t count) {
  Numbers numbers;
  for (int64_t i = first; i < first + count; ++i) numbers.push_back(i);
  const std::string path = TempName(StrCat("counted-", first, "-", count, ".fixed"));
  WriteFile(path,
            {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(int64_t)});
  return "fixed:" + path;
}

// Files by their names, with the prefix of their format.
inline std::unique_ptr<ReaderBase> OpenNumbers(const std::vector<std::string>& names,
                                               const MultiFileOptions& options,
                                               BufferType buffer_type = BufferType::kMemory) {
  FormatArguments arguments;
  SlotSpec slot;
  slot.dtype = DataType::kInt64;
  slot.dims = {1, 1};
  arguments.declared = {slot};
  arguments.buffer_type = buffer_type;
  std::unique_ptr<ReaderBase> reader = OpenFiles(names, {}, std::move(arguments), options);
  reader->set_origin("reader 'files'");
  return reader;
}

inline Numbers NumbersOf(const std::vector<ElementValue>& elements) {
  Numbers numbers;
  for (const ElementValue& element : elements) {
    int64_t number = 0;
    std::memcpy(&number, element[0].bytes.data(), sizeof(number));
    numbers.push_back(number);
  }
  return numbers;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FILES_NUMBER_FILES_H_
