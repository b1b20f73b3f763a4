// SPDX-License-Identifier: Apache-2.0
// Readers of files that can be read once only: they yield what they yield of the same bytes in a
// file, and say so where they would have to look twice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/command.h"
#include "framework/memory/memory_limit.h"
#include "framework/reader/file_format.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/sources/open_files.h"
#include "readers/support/text_file.h"
#include "tests/bytes.h"
#include "tests/fifo.h"
#include "tests/files/compressed.h"
#include "tests/files/npy_files.h"
#include "tests/files/record_files.h"
#include "tests/files/tars.h"
#include "tests/files/tfrecords.h"
#include "tests/gate.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ::testing::HasSubstr;

class ReadOnce : public ::testing::Test {
 protected:
  ReadOnce() { AllowExec(); }
  ~ReadOnce() override { AllowExec(false); }
};

// A file of a format, and what its reader needs to be told.
struct FormatSample {
  std::string format;
  std::string content;
  std::vector<std::string> fields;
  std::vector<SlotSpec> slots;

  FormatArguments arguments() const {
    FormatArguments arguments;
    if (!fields.empty()) arguments.attributes.Set("fields", fields);
    arguments.declared = slots;
    return arguments;
  }
  std::unique_ptr<ReaderBase> Open(const std::string& path,
                                   const MultiFileOptions& options = {}) const {
    std::unique_ptr<ReaderBase> reader = OpenFiles({format + ":" + path}, {}, arguments(), options);
    reader->set_origin("reader 'files'");
    return reader;
  }
};

SlotSpec Slot(DataType dtype, Dims dims) {
  SlotSpec slot;
  slot.dtype = dtype;
  slot.dims = std::move(dims);
  return slot;
}

std::vector<FormatSample> Samples() {
  std::string lines, rows = "id,text\n", values, numbers, chunks;
  std::vector<std::string> records;
  TarFiles members;
  for (int i = 0; i < 20000; ++i) {
    const std::string number = std::to_string(i);
    lines += number + " is the number of this line\r\n";
    rows += number + ",\"text,\n" + number + "\"\n";
    values += "{\"id\": " + number + ", \"text\": \"" + std::string(i % 90, 'x') + "\"}\n";
    numbers.append(reinterpret_cast<const char*>(&i), sizeof(i));
    records.push_back(number + std::string(static_cast<size_t>(i) % 300, 'r'));
    if (i % 10 == 0) {
      members.emplace_back(number + ".txt", number + std::string(static_cast<size_t>(i), 't'));
      members.emplace_back(number + ".cls", number);
    }
  }
  for (int i = 0; i < 2000; i += 2) {
    chunks += ChunkOf(
        {RecordOf({MakeTensor<int32_t>({1}, {i})}), RecordOf({MakeTensor<int32_t>({1}, {i + 1})})});
  }
  const SlotSpec number = Slot(DataType::kInt32, {1});
  const std::string images = std::string("\0\0\x08\x03\0\0\0\x64\0\0\0\x02\0\0\0\x03", 16);
  const std::string npy_header =
      "{'descr': '<i4', 'fortran_order': False, 'shape': (20000, 1), }\n";
  std::string npy = std::string("\x93NUMPY\x01\0", 8);
  npy += static_cast<char>(npy_header.size());
  npy += '\0' + npy_header + numbers;
  const std::vector<std::string> fields = {"id int64[]", "text bytes"};
  return {
      {"text", lines, {}, {}},
      {"text", Gzipped(lines), {}, {}},
      {"text", Zstd(lines), {}, {}},
      {"text", Lz4(lines), {}, {}},
      {"text", Bzip2(lines), {}, {}},
      {"text", Xz(lines), {}, {}},
      {"text", "", {}, {}},
      {"text", "no end", {}, {}},
      {"csv", rows, fields, {}},
      {"csv", Gzipped(rows), fields, {}},
      {"jsonl", values, fields, {}},
      {"tfrecord", TFRecords(records), {}, {}},
      {"tfrecord", Gzipped(TFRecords(records)), {}, {}},
      {"tar", TarOf(members), {"cls int64[] decode=text", "txt bytes"}, {}},
      {"tar", Gzipped(TarOf(members)), {"cls int64[] decode=text", "txt bytes"}, {}},
      {"recordio", chunks, {}, {number}},
      {"fixed", numbers, {}, {number}},
      {"fixed", Gzipped(numbers), {}, {number}},
      {"idx", images + std::string(600, 'i'), {}, {}},
      {"npy", npy, {}, {}},
  };
}

std::string NameOf(const FormatSample& sample) {
  return sample.format + " of " + std::to_string(sample.content.size()) + " bytes";
}

// The parameter is the number of worker threads.
class ReadOnceByPool : public ReadOnce, public testing::WithParamInterface<int> {};

TEST_P(ReadOnceByPool, YieldsWhatAFileDoes) {
  const PoolSize pool(GetParam());
  for (const FormatSample& sample : Samples()) {
    SCOPED_TRACE(NameOf(sample));
    const TempFile file("sample", sample.content);
    const std::vector<ElementValue> expected = ReadAll(sample.Open(file.path()).get());
    EXPECT_EQ(expected.empty(), sample.content.empty());
    EXPECT_TRUE(ReadAll(sample.Open("pipe:cat " + file.path()).get()) == expected);
    const Fifo fifo("fifo");
    const auto of_fifo = sample.Open(fifo.path());
    const FifoWriter writer(fifo, sample.content);
    EXPECT_TRUE(ReadAll(of_fifo.get()) == expected);
    // The reader of one file, and its length, which must not be looked for.
    const auto reader =
        OpenFile(*FindFileFormat(sample.format), "pipe:cat " + file.path(), "", sample.arguments());
    EXPECT_EQ(reader->PassLength(), std::nullopt);
    EXPECT_TRUE(ReadAll(reader.get()) == expected);
    EXPECT_EQ(reader->PassLength(), std::nullopt);
  }
}

// A writer that falls silent holds up only what it has not written, and no thread that leaves.
TEST_P(ReadOnceByPool, YieldsWhatASilentWriterHasWritten) {
  const PoolSize pool(GetParam());
  for (const FormatSample& sample : Samples()) {
    SCOPED_TRACE(NameOf(sample));
    // Where a frame or a sample of an archive ends is known only with what follows it.
    const std::set<std::string> compressed = {"\x1f\x8b", "\x28\xb5", "\x04\x22", "BZ", "\xfd\x37"};
    if (compressed.count(sample.content.substr(0, 2)) > 0 || sample.content.size() < 10) continue;
    const TempFile file("sample", sample.content);
    std::vector<ElementValue> expected = ReadAll(sample.Open(file.path()).get());
    if (sample.format == "tar") expected.pop_back();
    const Fifo fifo("fifo");
    const auto reader = sample.Open(fifo.path());
    std::ofstream writer;
    std::thread writing([&] {
      writer.open(fifo.path());
      writer << sample.content;
      writer.flush();
    });
    EXPECT_TRUE(ReadSome(reader.get(), expected.size()) == expected);
    writing.join();
  }
}

TEST_F(ReadOnce, TheFirstRecordOfACommandThatFallsSilentComes) {
  for (const int workers : {0, 2}) {
    const PoolSize pool(workers);
    const auto reader = OpenFiles({"text:pipe:sh -c 'echo a; exec sleep 1000'"}, {}, {}, {});
    EXPECT_EQ(ReadSome(reader.get(), 1).at(0).at(0).bytes, "a");
  }
}

INSTANTIATE_TEST_SUITE_P(Pools, ReadOnceByPool, testing::Values(0, 1, 2, 7),
                         [](const auto& info) { return StrCat("in_pool_", info.param); });

TEST_F(ReadOnce, IsOneOfManyFiles) {
  const FormatSample sample = Samples().front();
  const TempFile first("a", "a\nb\nc\n"), second("b", "1\n2\n");
  const auto read = [&](const std::string& middle) {
    return ReadAll(
        OpenFiles({"text:" + first.path(), "text:" + middle, "text:pipe:seq 3"}, {}, {}, {}).get());
  };
  EXPECT_TRUE(read("pipe:cat " + second.path()) == read(second.path()));
}

TEST_F(ReadOnce, NamesAreNoPatterns) {
  const TempFile braces("a{b,c}*", "");
  const auto reader = OpenFiles({"text:pipe:printf {1,2}\\n*[a]?\\n"}, {}, {}, {});
  const std::vector<ElementValue> elements = ReadAll(reader.get());
  ASSERT_EQ(elements.size(), 2u);
  EXPECT_EQ(elements[0][0].bytes, "{1,2}");
  EXPECT_EQ(elements[1][0].bytes, "*[a]?");
}

TEST_F(ReadOnce, FirstBytesTellTheFormat) {
  for (const FormatSample& sample : Samples()) {
    if (sample.format != "recordio" && sample.format != "tfrecord") continue;
    const TempFile file("sample", sample.content);
    const std::vector<ElementValue> expected = ReadAll(sample.Open(file.path()).get());
    FormatArguments arguments = sample.arguments();
    if (arguments.declared.empty()) {
      arguments.declared = {Slot(DataType::kUint8, {-1})};
      arguments.declared[0].lod_level = 1;
    }
    // The name of the command's last word tells nothing.
    const auto reader =
        OpenFiles({"pipe:sh -c 'cat " + file.path() + "' train.csv"}, {}, arguments, {});
    EXPECT_TRUE(ReadAll(reader.get()) == expected) << NameOf(sample);
  }
}

// What precedes the failure is delivered, and the failure is no end.
TEST_F(ReadOnce, ALateFailureIsAnErrorAtItsPlace) {
  for (const FormatSample& sample : Samples()) {
    SCOPED_TRACE(NameOf(sample));
    if (sample.content == "no end") continue;
    const TempFile file("sample", sample.content);
    const std::vector<ElementValue> expected = ReadAll(sample.Open(file.path()).get());
    const std::string path =
        "pipe:sh -c 'cat " + file.path() + "; echo lost the connection >&2; exit 5'";
    for (const int threads : {0, 2}) {
      const PoolSize pool(threads);
      const auto reader = sample.Open(path);
      const Outcome outcome = OutcomeOf(reader.get());
      EXPECT_TRUE(outcome.elements == expected) << outcome.elements.size();
      ASSERT_TRUE(outcome.error);
      EXPECT_EQ(outcome.error->code(), ErrorCode::kIo);
      EXPECT_EQ(outcome.error->file(), path);
      EXPECT_EQ(outcome.error->offset(), static_cast<int64_t>(sample.content.size()));
      EXPECT_THAT(outcome.error->what(),
                  HasSubstr("'sh' ended with the status 5; the last line of its standard error: "
                            "lost the connection\n"));
      EXPECT_EQ(OutcomeOf(reader.get()).error->what(), std::string(outcome.error->what()));
    }
  }
}

// The beginning of a record is none: its rest is unknown.
TEST_F(ReadOnce, ACutRecordIsNotDelivered) {
  const auto reader = OpenFiles({"text:pipe:sh -c 'printf a\\\\nb; exit 1'"}, {}, {}, {});
  const Outcome outcome = OutcomeOf(reader.get());
  ASSERT_EQ(outcome.elements.size(), 1u);
  EXPECT_EQ(outcome.elements[0][0].bytes, "a");
  ASSERT_TRUE(outcome.error);
  EXPECT_THAT(outcome.error->what(), HasSubstr("the status 1"));
}

// Nothing of it is known to be right, so nothing is delivered.
TEST_F(ReadOnce, WhatIsReadAsAWholeMayFailBehindItsLastByte) {
  const TempFile array("array.npy", Npy("|u1", "(3, 2)", "adbecf", true));
  const FormatSample npy = {"npy", "", {}, {}};
  const std::vector<ElementValue> expected = ReadAll(npy.Open(array.path()).get());
  EXPECT_EQ(expected.size(), 3u);
  EXPECT_TRUE(ReadAll(npy.Open("pipe:cat " + array.path()).get()) == expected);
  const FormatSample list = {"image_list", "", {}, {}};
  for (const auto& [sample, prints] :
       {std::pair<FormatSample, std::string>{npy, "cat " + array.path()}, {list, "echo a.png 1"}}) {
    const auto reader = sample.Open("pipe:sh -c '" + prints + "; exit 5'");
    const Outcome outcome = OutcomeOf(reader.get());
    EXPECT_TRUE(outcome.elements.empty());
    ASSERT_TRUE(outcome.error) << sample.format;
    EXPECT_THAT(outcome.error->what(), HasSubstr("the status 5"));
  }
  ExpectError(ErrorCode::kIo, "the status 5", [] { Vocabulary("pipe:sh -c 'echo a; exit 5'"); });
}

// The command's failure is why the beginning of a file is cut off.
TEST_F(ReadOnce, AFailureWithinAHeaderIsTold) {
  const std::string path = "pipe:sh -c 'printf abc; exit 5'";
  const std::vector<std::string> fields = {"abcd int64[]"};
  for (const FormatSample& sample :
       {FormatSample{"npy", "", {}, {}}, {"idx", "", {}, {}}, {"csv", "", fields, {}}}) {
    const auto reader = sample.Open(path);
    ExpectError(ErrorCode::kIo, "the status 5", [&] { reader->HasNext(); });
  }
  FormatArguments arguments;
  arguments.declared = {Slot(DataType::kUint8, {1})};
  const auto reader = OpenFiles({path}, {}, arguments, {});
  ExpectError(ErrorCode::kIo, "the status 5", [&] { reader->HasNext(); });
}

TEST_F(ReadOnce, ASecondPassIsAnError) {
  const FormatSample sample = {"text", "", {}, {}};
  const std::string path = "pipe:seq 3";
  const std::string words =
      "pipe:seq 3: can be read once only, because it is a pipe; for a second pass, copy it to a "
      "file";
  for (const int threads : {0, 2}) {
    const PoolSize pool(threads);
    const auto reader = sample.Open(path);
    reader->ReInit();
    EXPECT_EQ(ReadAll(reader.get()).size(), 3u);
    EXPECT_FALSE(reader->HasNext());
    for (int i = 0; i < 2; ++i) {
      reader->ReInit();
      ExpectError(ErrorCode::kInvalidArgument, words, [&] { reader->HasNext(); });
    }
    MultiPassReader passes(sample.Open(path), 2);
    const Outcome outcome = OutcomeOf(&passes);
    EXPECT_EQ(outcome.elements.size(), 3u);
    ASSERT_TRUE(outcome.error);
    EXPECT_THAT(outcome.error->what(), HasSubstr(words));
  }
}

TEST_F(ReadOnce, WhatLooksTwiceIsRefused) {
  const FormatSample sample = {"fixed", "", {}, {Slot(DataType::kInt32, {1})}};
  const std::string path = "pipe:cat /dev/null";
  const std::string words = "pipe:cat /dev/null: can be read once only, because it is a pipe; ";
  MultiFileOptions options;
  options.pass_num = 2;
  ExpectError(ErrorCode::kInvalidArgument, words + "there are to be 2 passes, so copy it",
              [&] { sample.Open(path, options); });
  options = {};
  options.shuffle_chunks = true;
  ExpectError(ErrorCode::kInvalidArgument, words + "shuffle_chunks looks for",
              [&] { sample.Open(path, options); });
  options = {};
  options.shuffle_records = true;
  ExpectError(ErrorCode::kInvalidArgument, words + "shuffle_records reads",
              [&] { sample.Open(path, options); });
  const auto reader = sample.Open(path);
  reader->ExpectSave();
  ExpectError(ErrorCode::kInvalidArgument, words + "to continue from a place",
              [&] { reader->Save(); });
  ExpectError(ErrorCode::kInvalidArgument, words + "name it once", [&] {
    OpenFiles({"text:" + path, "text:" + path}, {}, {}, {});
  });
  // Formats that begin at the end of a file, or read here and there.
  FormatArguments arguments;
  arguments.attributes.Set("fields", std::vector<std::string>{"x"});
  ExpectError(ErrorCode::kInvalidArgument, words + "here any place of a file must be readable",
              [&] { OpenFile(*FindFileFormat("npz"), path, "", arguments)->HasNext(); });
  const TempFile index("index", "");
  for (const char* format : {"mxnet", "tfrecord"}) {
    ExpectError(ErrorCode::kInvalidArgument, words + "an index is of use where",
                [&] { OpenFile(*FindFileFormat(format), path, index.path(), {})->HasNext(); });
  }
  arguments = {};
  arguments.buffer_type = BufferType::kMmap;
  ExpectError(ErrorCode::kInvalidArgument, "buffer_type \"mmap\"",
              [&] { OpenFile(*FindFileFormat("text"), path, "", arguments)->HasNext(); });
}

TEST_F(ReadOnce, HasOneReader) {
  const Fifo fifo("fifo");
  const FormatSample sample = {"text", "", {}, {}};
  const auto reader = sample.Open(fifo.path());
  ExpectError(ErrorCode::kInvalidArgument, "because it is a FIFO; another reader of this process",
              [&] { sample.Open(fifo.path()); });
}

TEST_F(ReadOnce, NothingIsRunUnlessThatIsAllowed) {
  AllowExec(false);
  const std::string file = TempName("made");
  ExpectError(ErrorCode::kIo, "pipe:touch " + file + ": commands are run only if that is allowed",
              [&] { OpenFiles({"text:pipe:touch " + file}, {}, {}, {}); });
  AllowExec();
  // The constructor starts nothing.
  const auto reader = OpenFiles({"text:pipe:touch " + file}, {}, {}, {});
  AllowExec(false);
  ExpectError(ErrorCode::kInvalidArgument, "--allow_exec only", [&] { reader->HasNext(); });
  EXPECT_NE(::access(file.c_str(), F_OK), 0);
}

// A command that says nothing after its first bytes, and who it is in a file.
class Silent {
 public:
  explicit Silent(const std::string& first) : file_("id", "") {
    path_ = "pipe:sh -c 'echo $$ >" + file_.path() + "; " + first + "exec sleep 1000'";
  }
  const std::string& path() const { return path_; }
  pid_t Await() const {
    pid_t id = 0;
    WaitUntil([&] { return static_cast<bool>(std::ifstream(file_.path()) >> id); });
    return id;
  }

 private:
  const TempFile file_;
  std::string path_;
};

// A stop of whatever waits for a command ends both at once.
TEST_F(ReadOnce, AStopEndsTheCommand) {
  const Holdings before = CurrentHoldings();
  for (const int threads : {1, 2, 7}) {
    const PoolSize pool(threads);
    for (const bool destroy : {false, true}) {
      for (const int depth : {0, 1, 2}) {
        const Silent silent("seq 300000; ");
        const FormatSample sample = {"text", "", {}, {}};
        std::unique_ptr<ReaderBase> reader = sample.Open(silent.path());
        for (int i = 0; i < depth; ++i) {
          reader = std::make_unique<DoubleBufferReader>(std::move(reader), Place(), 2);
          reader->set_origin("reader 'buffer'");
        }
        // Now the threads have begun to read ahead, and the command is silent within a chunk.
        std::vector<LoDTensor> element;
        reader->ReadNext(&element);
        const pid_t id = silent.Await();
        EXPECT_EQ(::kill(id, 0), 0);
        if (destroy) {
          reader.reset();
        } else {
          reader->ReInit();
        }
        EXPECT_NE(::kill(id, 0), 0) << "after " << threads << " threads, depth " << depth;
      }
    }
  }
  EXPECT_TRUE(HoldingsReturnTo(before));
}

// A reader that goes away while it waits leaves what it has not planned to those that share the
// source.
TEST_F(ReadOnce, AStoppedWaitLosesNothing) {
  constexpr int kFirst = 15000, kLines = 20000;  // the first ones end within a chunk
  std::vector<std::string> lines;
  std::mt19937_64 random(7);
  for (int i = 0; i < kLines; ++i) {
    lines.push_back(std::to_string(i));
    for (int k = 0; k < 8; ++k) lines.back() += " " + std::to_string(random());
  }
  for (const bool compressed : {false, true}) {
    for (const int threads : {1, 2, 7}) {
      SCOPED_TRACE(threads);
      const PoolSize pool(threads);
      const Fifo fifo("fifo");
      ReaderHolder holder;
      const FormatSample sample = {"text", "", {}, {}};
      holder.Reset(
          sample.Open(compressed ? "pipe:sh -c 'gzip -c <" + fifo.path() + "'" : fifo.path()));
      auto buffered = std::make_unique<DoubleBufferReader>(holder.NewHandle(), Place(), 1);
      Gate gate;
      std::thread writer([&] {
        std::ofstream out(fifo.path());
        for (int i = 0; i < kLines; ++i) {
          if (i == kFirst) {
            out.flush();
            gate.Wait();
          }
          out << lines[i] << "\n";
        }
      });
      std::vector<LoDTensor> element;
      buffered->ReadNext(&element);
      ::usleep(20000);  // usually a thread waits for the second part of a chunk by now
      buffered.reset();
      gate.Open();
      const auto rest = holder.NewHandle();
      const Outcome outcome = OutcomeOf(rest.get());
      EXPECT_FALSE(outcome.error);
      size_t number = lines.size() - outcome.elements.size();
      EXPECT_LT(number, 100u);
      for (const ElementValue& line : outcome.elements) EXPECT_EQ(line[0].bytes, lines[number++]);
      writer.join();
    }
  }
}

TEST_F(ReadOnce, MemoryIsBounded) {
  const LimitInForce limit(size_t{16} << 20);
  const PoolSize pool(2);
  const auto reader = OpenFiles({"text:pipe:seq 5000000"}, {}, {}, {});
  std::vector<LoDTensor> element;
  size_t lines = 0;
  while (reader->HasNext()) {
    reader->ReadNext(&element);
    ++lines;
  }
  EXPECT_EQ(lines, 5000000u);
}

TEST_F(ReadOnce, IsShuffledAndShared) {
  const TempFile file("lines", [] {
    std::string lines;
    for (int i = 0; i < 5000; ++i) lines += std::to_string(i) + "\n";
    return lines;
  }());
  const FormatSample sample = {"text", "", {}, {}};
  const auto shuffled = [&](const std::string& path) {
    ShuffleReader reader(sample.Open(path), 100, RandomKey(1, 2, "name"));
    return ReadAll(&reader);
  };
  EXPECT_TRUE(shuffled("pipe:cat " + file.path()) == shuffled(file.path()));
}

}  // namespace
}  // namespace millhopper
