// SPDX-License-Identifier: Apache-2.0
// The chain of readers whose positions are damaged and fuzzed.
#ifndef MILLHOPPER_TESTS_READERS_POSITION_CHAIN_H_
#define MILLHOPPER_TESTS_READERS_POSITION_CHAIN_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/reader/file_format.h"
#include "readers/combine/concat_reader.h"
#include "readers/combine/zip_reader.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/decorate/unbatch_reader.h"
#include "readers/gather/pack_reader.h"
#include "readers/sources/multi_file_reader.h"
#include "tests/fakes/memory_files.h"

namespace millhopper {

// Files of numbers, shuffled, in batches that are taken apart again, one after another and side by
// side, packed: every way of naming elements is in it.
inline std::unique_ptr<ReaderBase> MakePositionChain() {
  SlotSpec slot;
  slot.dtype = DataType::kInt64;
  slot.dims = {1, 1};
  const auto numbers = [&slot](int64_t window) -> std::unique_ptr<ReaderBase> {
    std::vector<FileEntry> files;
    for (const char* path : {"memory:///fuzz-0.fixed", "memory:///fuzz-1.fixed"}) {
      MemoryFiles::Get().Write(path, std::string(size_t{8} * 40, '\1'));
      files.push_back({path, "", BufferType::kMemory});
    }
    FormatArguments arguments;
    arguments.declared = {slot};
    std::unique_ptr<ReaderBase> reader = std::make_unique<MultiFileReader>(
        FindFileFormat("fixed")->Make(arguments), std::move(files), MultiFileOptions());
    reader =
        std::make_unique<ShuffleReader>(std::move(reader), window, RandomKey(1, 0, "shuffled"));
    reader = std::make_unique<BatchReader>(std::move(reader), 5, false, BatchMode::kConcat);
    return std::make_unique<UnbatchReader>(std::move(reader), BatchMode::kConcat);
  };
  Readers two;
  two.push_back(numbers(7));
  two.push_back(numbers(3));
  Readers sides;
  sides.push_back(std::make_unique<ConcatReader>(std::move(two)));
  sides.push_back(numbers(5));
  std::unique_ptr<ReaderBase> reader = std::make_unique<ZipReader>(std::move(sides), false);
  PackOptions pack;
  pack.length = 6;
  pack.bins = 3;
  reader = std::make_unique<PackReader>(std::move(reader), pack);
  reader = std::make_unique<ShuffleReader>(std::move(reader), 4, RandomKey(1, 0, "rows"));
  reader = std::make_unique<MultiPassReader>(std::move(reader), 2);
  return std::make_unique<DoubleBufferReader>(std::move(reader), Place(), 2);
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_READERS_POSITION_CHAIN_H_
