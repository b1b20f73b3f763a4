// SPDX-License-Identifier: Apache-2.0
// Readers of mapped files: the same streams as of files that are read into memory, for any number
// of threads, and an error instead of other bytes or a crash if a file changes meanwhile.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/file_format.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;

const size_t kPage = static_cast<size_t>(::sysconf(_SC_PAGESIZE));

// A file of some format, with some pages of records.
struct Sample {
  std::string tag;
  std::string name;
  std::string content;
  std::vector<SlotSpec> slots;
  AttributeMap attributes;
};

LoDTensor Ramp(const Dims& dims, int first) {
  std::vector<float> values(static_cast<size_t>(Product(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = 1 + static_cast<float>(first) + 0.5f * i;
  return MakeTensor<float>(dims, values);
}

Sample RecordIO() {
  Sample sample{"recordio", "numbers.recordio", "", {{DataType::kFp32, {1, 150}, 0}}, {}};
  for (int i = 0; i < 48; i += 6) {  // a chunk has most of a page
    std::vector<std::string> records;
    for (int k = i; k < i + 6; ++k) records.push_back(RecordOf({Ramp({1, 150}, k)}));
    sample.content += ChunkOf(records);
  }
  sample.attributes.Set("content", std::string("tensors"));
  return sample;
}

Sample Ragged() {
  Sample sample{"recordio", "ragged.recordio", "", {{DataType::kFp32, {-1, 3}, 1}}, {}};
  for (int i = 0; i < 40; i += 5) {
    std::vector<std::string> records;
    for (int k = i; k < i + 5; ++k) {
      const int64_t steps = 20 + 7 * k % 31;
      LoDTensor tensor = Ramp({steps, 3}, k);
      tensor.set_lod({{0, static_cast<uint64_t>(steps)}});
      records.push_back(RecordOf({tensor}));
    }
    sample.content += ChunkOf(records);
  }
  sample.attributes.Set("content", std::string("tensors"));
  return sample;
}

Sample Fixed() {
  Sample sample{"fixed", "records.bin", "", {{DataType::kUint8, {1, 300}, 0}}, {}};
  for (size_t i = 0; i < size_t{120} * 300; ++i) sample.content += static_cast<char>(1 + i % 241);
  return sample;
}

Sample Idx() {
  Sample sample{"idx", "values-idx2-ubyte", FromHex("00000802 00000078 0000012c"), {}, {}};
  sample.content += Fixed().content;
  return sample;
}

Sample Text() {
  Sample sample{"text", "lines.txt", "", {}, {}};
  for (int i = 0; i < 900; ++i)
    sample.content += "line " + std::to_string(i) + std::string(i % 70, '.') + "\n";
  return sample;
}

std::vector<Sample> Samples() { return {RecordIO(), Ragged(), Fixed(), Idx(), Text()}; }

ReaderPtr Open(const Sample& sample, const std::string& path, BufferType buffer_type) {
  FormatArguments arguments;
  arguments.declared = sample.slots;
  arguments.attributes = sample.attributes;
  arguments.buffer_type = buffer_type;
  return OpenFile(*FindFileFormat(sample.tag), path, "", std::move(arguments));
}

ReaderPtr Shuffled(ReaderPtr reader) {
  return std::make_unique<ShuffleReader>(std::move(reader), 20, RandomKey(1, 2, "shuffled"));
}

// The decorators on the reader of a file.
struct Chain {
  const char* name;
  std::function<ReaderPtr(ReaderPtr)> decorate;
};

const std::vector<Chain>& Chains() {
  static const auto* const chains = new std::vector<Chain>{
      {"alone", [](ReaderPtr reader) { return reader; }},
      {"shuffle", [](ReaderPtr reader) { return Shuffled(std::move(reader)); }},
      {"shuffle_batch_double_buffer", [](ReaderPtr reader) -> ReaderPtr {
         auto batch = std::make_unique<BatchReader>(Shuffled(std::move(reader)), 7, false,
                                                    BatchMode::kConcat);
         return std::make_unique<DoubleBufferReader>(std::move(batch), Place(), 2);
       }}};
  return *chains;
}

// Reads until the end or an error.
std::optional<Error> ReadOn(ReaderBase* reader, std::vector<ElementValue>* elements) {
  std::vector<LoDTensor> element;
  try {
    while (reader->HasNext()) {
      reader->ReadNext(&element);
      elements->push_back(ValueOf(element));
    }
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

// Each element equals the one of the whole stream at the same place.
void ExpectBeginsAs(const std::vector<ElementValue>& elements,
                    const std::vector<ElementValue>& whole) {
  ASSERT_LE(elements.size(), whole.size());
  EXPECT_TRUE(std::equal(elements.begin(), elements.end(), whole.begin()));
}

class MappedFiles : public ::testing::TestWithParam<int> {
 protected:
  const PoolSize pool_{GetParam()};
};

TEST_P(MappedFiles, AreReadAsOthers) {
  for (const Sample& sample : Samples()) {
    const TempFile file(sample.name, sample.content);
    for (const Chain& chain : Chains()) {
      SCOPED_TRACE(sample.name + " " + chain.name);
      const auto read = [&](BufferType buffer_type) {
        return ReadAll(chain.decorate(Open(sample, file.path(), buffer_type)).get());
      };
      const std::vector<ElementValue> wanted = read(BufferType::kMemory);
      EXPECT_GE(wanted.size(), 6u);
      EXPECT_EQ(DigestOf(read(BufferType::kMmap)), DigestOf(wanted));
    }
  }
}

TEST_P(MappedFiles, AreReadAsOthersManyAtOnce) {
  const std::string folder = NewFolder(StrCat("mapped_", GetParam()));
  WriteNumbers(folder, 5, 9);
  const auto read = [&](BufferType buffer_type) {
    FormatArguments arguments;
    arguments.declared = {{DataType::kFp32, {1, 2}, 0}, {DataType::kInt64, {1, 1}, 0}};
    arguments.attributes.Set("content", std::string("tensors"));
    arguments.buffer_type = buffer_type;
    MultiFileOptions options;
    options.cycle_length = 3;
    return ReadAll(
        Shuffled(OpenFiles({folder + "/numbers-*.recordio"}, {}, arguments, options)).get());
  };
  EXPECT_EQ(read(BufferType::kMmap), read(BufferType::kMemory));
}

// With labels, which come from two files side by side.
TEST_P(MappedFiles, MayHaveCompanions) {
  const Sample images = Idx();
  const TempFile file(images.name, images.content);
  const TempFile labels("labels-idx1-ubyte", FromHex("00000801 00000078") + std::string(120, '\5'));
  const auto read = [&](BufferType buffer_type) {
    FormatArguments arguments;
    arguments.buffer_type = buffer_type;
    return ReadAll(OpenFile(*FindFileFormat("idx"), file.path(), labels.path(), arguments).get());
  };
  const std::vector<ElementValue> elements = read(BufferType::kMmap);
  EXPECT_EQ(elements.size(), 120u);
  EXPECT_EQ(elements, read(BufferType::kMemory));
}

// The file is cut off at and within every page, after the first element and after half of them.
TEST_P(MappedFiles, TellThatTheyAreShorterWhileTheyAreRead) {
  for (const Sample& sample : Samples()) {
    const TempFile file(sample.name, sample.content);
    for (const Chain& chain : Chains()) {
      const std::vector<ElementValue> whole =
          ReadAll(chain.decorate(Open(sample, file.path(), BufferType::kMemory)).get());
      const ReaderPtr reader = chain.decorate(Open(sample, file.path(), BufferType::kMmap));
      for (size_t cut = 0; cut < sample.content.size(); cut += kPage / 2 + 1 - cut % 2) {
        for (const size_t before : {size_t{1}, whole.size() / 2}) {
          SCOPED_TRACE(StrCat(sample.name, " ", chain.name, " cut off at byte ", cut, " behind ",
                              before, " elements"));
          std::vector<ElementValue> elements = ReadSome(reader.get(), before);
          ASSERT_EQ(::truncate(file.path().c_str(), static_cast<off_t>(cut)), 0);
          const std::optional<Error> error = ReadOn(reader.get(), &elements);
          ExpectBeginsAs(elements, whole);
          if (error) {
            EXPECT_EQ(error->code(), ErrorCode::kDataLoss) << error->what();
            EXPECT_EQ(error->file(), file.path());
            EXPECT_GE(error->offset(), static_cast<int64_t>(cut)) << error->what();
          } else {
            // All elements were loaded before the cut.
            EXPECT_EQ(elements.size(), whole.size());
            EXPECT_STREQ(chain.name, "shuffle_batch_double_buffer");
          }
          WriteFile(file.path(), sample.content);
          reader->Restart(0);
        }
      }
      EXPECT_EQ(ReadAll(chain.decorate(Open(sample, file.path(), BufferType::kMmap)).get()), whole);
    }
  }
}

// Elements that were planned before the change are not loaded any more.
TEST_P(MappedFiles, TellThatTheyAreShorterBetweenPlanAndLoad) {
  for (const Sample& sample : Samples()) {
    const TempFile file(sample.name, sample.content);
    const ReaderPtr reader = Open(sample, file.path(), BufferType::kMmap);
    TicketRun run;
    while (reader->Plan(1000, &run) > 0) {
    }
    ASSERT_GT(run.tickets.size(), 3u);
    const size_t cut = 2 * kPage;
    ASSERT_EQ(::truncate(file.path().c_str(), static_cast<off_t>(cut)), 0);
    for (const size_t first : {size_t{0}, run.tickets.size() - 2}) {
      Rows rows(reader->row_slots());
      ExpectError(ErrorCode::kDataLoss,
                  StrCat(file.path(),
                         ": file is shorter than when it was "
                         "opened: it ends before byte ",
                         cut),
                  [&] { reader->Load(&run.tickets[first], 2, &rows); });
    }
  }
}

TEST_P(MappedFiles, TellThatTheyWereWrittenTo) {
  const Sample sample = Fixed();
  const TempFile file(sample.name, sample.content);
  const ReaderPtr reader = Open(sample, file.path(), BufferType::kMmap);
  std::vector<ElementValue> elements = ReadSome(reader.get(), 3);
  std::string other = sample.content;
  for (char& byte : other) byte = static_cast<char>(byte ^ 1);
  struct stat before, after;
  ASSERT_EQ(::stat(file.path().c_str(), &before), 0);
  do {  // until the clock of the file system has moved on
    WriteFile(file.path(), other);
    ASSERT_EQ(::stat(file.path().c_str(), &after), 0);
  } while (after.st_mtim.tv_nsec == before.st_mtim.tv_nsec &&
           after.st_mtim.tv_sec == before.st_mtim.tv_sec);
  const std::optional<Error> error = ReadOn(reader.get(), &elements);
  EXPECT_EQ(elements.size(), 3u);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->code(), ErrorCode::kDataLoss);
  EXPECT_EQ(error->file(), file.path());
  EXPECT_NE(std::string(error->what()).find("file was changed while it was mapped"),
            std::string::npos)
      << error->what();
  EXPECT_NE(std::string(error->what()).find("record 3"), std::string::npos) << error->what();
}

// Checksums that were right in one pass are not computed in the next, unless the file has changed.
TEST_P(MappedFiles, AreCheckedAgainOnceTheyHaveChanged) {
  const Sample sample = RecordIO();
  const TempFile file(sample.name, sample.content);
  std::this_thread::sleep_for(std::chrono::milliseconds(2100));  // its mapping can be kept
  const ReaderPtr reader = Open(sample, file.path(), BufferType::kMmap);
  const std::vector<ElementValue> whole = ReadAll(reader.get());
  for (int pass = 0; pass < 2; ++pass) {
    reader->Restart(0);
    EXPECT_EQ(ReadAll(reader.get()), whole);
  }
  std::string damaged = sample.content;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  WriteFile(file.path(), damaged);
  reader->Restart(0);
  std::vector<ElementValue> elements;
  const std::optional<Error> error = ReadOn(reader.get(), &elements);
  ASSERT_TRUE(error);
  EXPECT_NE(std::string(error->what()).find("payload checksum"), std::string::npos)
      << error->what();
  ExpectBeginsAs(elements, whole);
}

// At any moment: right records, then the end or an error.
TEST_P(MappedFiles, MayBeCutOffAtAnyMoment) {
  for (const Sample& sample : Samples()) {
    const TempFile file(sample.name, sample.content);
    const Chain& chain = Chains().back();
    const std::vector<ElementValue> whole =
        ReadAll(chain.decorate(Open(sample, file.path(), BufferType::kMemory)).get());
    for (int round = 0; round < 20; ++round) {
      WriteFile(file.path(), sample.content);
      const ReaderPtr reader = chain.decorate(Open(sample, file.path(), BufferType::kMmap));
      std::vector<ElementValue> elements = ReadSome(reader.get(), 1);
      std::thread other([&] {
        for (size_t pages = sample.content.size() / kPage; pages > 0; --pages) {
          EXPECT_EQ(::truncate(file.path().c_str(), static_cast<off_t>((pages - 1) * kPage)), 0);
        }
      });
      const std::optional<Error> error = ReadOn(reader.get(), &elements);
      other.join();
      ExpectBeginsAs(elements, whole);
      if (!error) {
        EXPECT_EQ(elements.size(), whole.size());
        continue;
      }
      EXPECT_EQ(error->code(), ErrorCode::kDataLoss) << error->what();
      EXPECT_EQ(error->file(), file.path());
      EXPECT_GE(error->offset(), 0) << error->what();
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, MappedFiles, ::testing::Values(0, 1, 2, 7));

}  // namespace
}  // namespace millhopper
