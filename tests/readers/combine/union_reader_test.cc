// SPDX-License-Identifier: Apache-2.0
// Readers on several readers of which some learn their slots from their files.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/random.h"
#include "framework/reader/file_format.h"
#include "framework/reader/position.h"
#include "framework/reader/reader_holder.h"
#include "readers/combine/concat_reader.h"
#include "readers/combine/mix_reader.h"
#include "readers/combine/zip_reader.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/double_buffer_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/decorate/unbatch_reader.h"
#include "readers/sources/multi_file_reader.h"
#include "tests/fakes/memory_files.h"
#include "tests/fakes/sources.h"
#include "tests/files/npy_files.h"
#include "tests/outcome.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using ReaderPtr = std::unique_ptr<ReaderBase>;
using Make = std::function<ReaderPtr()>;

constexpr int kRecords = 10;

// Writes an array of records of `width` numbers, which count from `first` on.
std::string Array(const std::string& name, const char* dtype, int width, int first) {
  const std::string path = "memory:///" + name + ".npy";
  std::string values;
  const size_t bytes = static_cast<size_t>(dtype[2] - '0');
  for (int i = 0; i < kRecords * width; ++i) {
    values += LittleEndian(static_cast<uint64_t>(first + i), bytes);
  }
  MemoryFiles::Get().Write(path, Npy(dtype, StrCat("(", kRecords, ", ", width, ")"), values));
  return path;
}

ReaderPtr Open(const std::vector<std::string>& paths,
               std::optional<std::vector<SlotSpec>> declared = std::nullopt,
               const MultiFileOptions& options = {}) {
  std::vector<FileEntry> files;
  for (const std::string& path : paths) files.push_back({path, "", BufferType::kMemory});
  FormatArguments arguments;
  if (declared) arguments.declared = *declared;
  return std::make_unique<MultiFileReader>(FindFileFormat("npy")->Make(arguments), files, options);
}

ReaderPtr Open(const std::string& path) { return Open(std::vector<std::string>{path}); }

// Knows them before it opens the file; they are those of "a".
ReaderPtr OpenDeclared(const std::string& path) {
  SlotSpec slot;
  slot.dtype = DataType::kInt64;
  slot.dims = {1, 3};
  return Open({path}, {{slot}});
}

// Knows type and rank, as a function does that was called once.
ReaderPtr OpenAny(const std::string& path) {
  SlotSpec slot;
  slot.dtype = DataType::kInt64;
  slot.dims = {-1, -1};
  return Open({path}, {{slot}});
}

Readers Both(ReaderPtr first, ReaderPtr second) {
  Readers readers;
  readers.push_back(std::move(first));
  readers.push_back(std::move(second));
  return readers;
}

ReaderPtr Concat(ReaderPtr first, ReaderPtr second) {
  return std::make_unique<ConcatReader>(Both(std::move(first), std::move(second)));
}

ReaderPtr Mix(ReaderPtr first, ReaderPtr second) {
  MixOptions options;
  options.steps = {{0, {1, 1}}};
  options.end = MixEnd::kContinue;
  return std::make_unique<MixReader>(Both(std::move(first), std::move(second)), options,
                                     RandomKey(1, 2, "mixed"));
}

ReaderPtr Batches(ReaderPtr reader) {
  return std::make_unique<BatchReader>(std::move(reader), 4, false, BatchMode::kConcat);
}

ReaderPtr Instances(ReaderPtr reader) {
  return std::make_unique<UnbatchReader>(Batches(std::move(reader)), BatchMode::kConcat);
}

using OpenOne = ReaderPtr (*)(const std::string&);
using JoinTwo = ReaderPtr (*)(ReaderPtr, ReaderPtr);
constexpr JoinTwo kJoins[] = {&Concat, &Mix};

// A reader that is resumed at any point yields and throws the same as the one that was saved.
void ExpectTheSameFromAnyPoint(const Make& make, size_t elements, const std::string& error) {
  const ReaderPtr whole = make();
  const Outcome outcome = OutcomeOf(whole.get());
  EXPECT_EQ(outcome.elements.size(), elements);
  EXPECT_EQ(outcome.error.has_value(), !error.empty());
  if (outcome.error) {
    EXPECT_NE(outcome.error->message().find(error), std::string::npos) << outcome.error->what();
  }
  for (size_t from = 0; from <= elements; ++from) {
    for (const bool asked : {false, true}) {
      SCOPED_TRACE(StrCat("after ", from, " elements", asked ? " and HasNext" : ""));
      const ReaderPtr first = make();
      first->ExpectSave();
      ReadSome(first.get(), from);
      try {
        if (asked) first->HasNext();
      } catch (const Error&) {  // comes again
      }
      const ReaderPtr second = make();
      second->Restore(Position::Parse(first->Save().Serialize()));
      const Outcome rest = OutcomeOf(second.get());
      EXPECT_EQ(rest.elements.size(), elements - from);
      for (size_t i = 0; i < rest.elements.size() && from + i < elements; ++i) {
        EXPECT_EQ(rest.elements[i], outcome.elements[from + i]) << "element " << from + i;
      }
      ASSERT_EQ(rest.error.has_value(), outcome.error.has_value());
      if (rest.error) {
        EXPECT_EQ(rest.error->message(), outcome.error->message());
      }
    }
  }
}

TEST(UnionReader, JoinsReadersOfOneTypeWhicheverOfThemKnowsItsDims) {
  const std::string a = Array("a", "<i8", 3, 0), b = Array("b", "<i8", 3, 100);
  for (const int workers : {0, 3}) {
    const PoolSize pool(workers);
    for (const JoinTwo join : kJoins) {
      for (const bool turned : {false, true}) {
        const auto joined = [&] {
          return turned ? join(Open(b), OpenAny(a)) : join(OpenAny(a), Open(b));
        };
        ExpectTheSameFromAnyPoint(joined, 2 * kRecords, "");
        ExpectTheSameFromAnyPoint([&] { return Batches(joined()); }, kRecords / 2, "");
        ExpectTheSameFromAnyPoint(
            [&] { return std::make_unique<DoubleBufferReader>(joined(), Place(), 2); },
            2 * kRecords, "");
      }
      ExpectTheSameFromAnyPoint([&] { return join(Open(a), Open(b)); }, 2 * kRecords, "");
    }
  }
}

TEST(UnionReader, YieldsElementsOfAnySizeWhereThatIsDeclared) {
  const std::string a = Array("a", "<i8", 3, 0), c = Array("c", "<i8", 4, 100);
  for (const JoinTwo join : kJoins) {
    ExpectTheSameFromAnyPoint([&] { return join(OpenAny(a), OpenAny(c)); }, 2 * kRecords, "");
  }
  // No batch holds both.
  const ReaderPtr batches = Batches(Mix(OpenAny(a), OpenAny(c)));
  const Outcome outcome = OutcomeOf(batches.get());
  EXPECT_EQ(outcome.elements.size(), 0u);
  ASSERT_TRUE(outcome.error.has_value());
  EXPECT_NE(outcome.error->message().find("an element of dims [1, "), std::string::npos)
      << outcome.error->what();
  EXPECT_NE(outcome.error->file(), "");
}

TEST(UnionReader, RefusesOthersBeforeItYieldsAny) {
  const std::string a = Array("a", "<i8", 3, 0), wide = Array("wide", "<i8", 4, 0),
                    other = Array("other", "<i4", 3, 0);
  const std::string words = "readers can be joined only if they have the same slots";
  for (const int workers : {0, 3}) {
    const PoolSize pool(workers);
    for (const JoinTwo join : kJoins) {
      for (const std::string& b : {wide, other}) {
        ExpectTheSameFromAnyPoint([&] { return join(Open(a), Open(b)); }, 0, words);
        ExpectTheSameFromAnyPoint([&] { return join(Open(b), Open(a)); }, 0, words);
      }
      ExpectTheSameFromAnyPoint([&] { return join(OpenAny(a), Open(other)); }, 0, words);
      ExpectTheSameFromAnyPoint([&] { return join(Open(other), OpenAny(a)); }, 0, words);
      // The same of what is made of several elements, or of one of those.
      for (const std::string& b : {wide, other}) {
        for (const OpenOne open : {OpenOne{&Open}, OpenOne{&OpenDeclared}}) {
          ExpectTheSameFromAnyPoint([&] { return join(Batches(open(a)), Batches(Open(b))); }, 0,
                                    words);
          ExpectTheSameFromAnyPoint([&] { return join(Batches(Open(b)), Batches(open(a))); }, 0,
                                    words);
          ExpectTheSameFromAnyPoint([&] { return join(Instances(open(a)), Instances(Open(b))); }, 0,
                                    words);
          ExpectTheSameFromAnyPoint([&] { return join(Instances(Open(b)), open(a)); }, 0, words);
        }
      }
      ExpectTheSameFromAnyPoint([&] { return join(join(Open(a), Open(a)), Open(other)); }, 0,
                                words);
      ExpectTheSameFromAnyPoint(
          [&] {
            return join(std::make_unique<ZipReader>(Both(Open(a), Open(a)), true),
                        std::make_unique<ZipReader>(Both(Open(a), Open(other)), true));
          },
          0, words);
    }
  }
}

TEST(UnionReader, RefusesThemAgainInTheNextPass) {
  const std::string a = Array("a", "<i8", 3, 0), wide = Array("wide", "<i8", 4, 0);
  const ReaderPtr reader = std::make_unique<MultiPassReader>(Concat(Open(a), Open(wide)), 2);
  for (int pass = 0; pass < 2; ++pass) {
    const Outcome outcome = OutcomeOf(reader.get());
    EXPECT_EQ(outcome.elements.size(), 0u);
    EXPECT_TRUE(outcome.error.has_value());
    reader->ReInit();
  }
}

TEST(UnionReader, AFileThatCannotBeOpenedIsAnErrorInItsPlace) {
  const std::string a = Array("a", "<i8", 3, 0), damaged = "memory:///damaged.npy";
  MemoryFiles::Get().Write(damaged, "no array");
  ExpectTheSameFromAnyPoint([&] { return Concat(Open(a), Open(damaged)); }, kRecords,
                            "memory:///damaged.npy");
  ExpectTheSameFromAnyPoint([&] { return Concat(Open(damaged), Open(a)); }, 0,
                            "memory:///damaged.npy");
}

// Its slots are not known twice, so nothing of it is planned early.
TEST(UnionReader, TakesNothingEarlyFromASourceThatItsReadersShare) {
  ReaderHolder source;
  source.Reset(Open(Array("a", "<i8", 3, 0)));
  const ReaderPtr reader =
      Concat(source.NewHandle(),
             std::make_unique<ShuffleReader>(source.NewHandle(), 4, RandomKey(1, 2, "shuffled")));
  const Outcome outcome = OutcomeOf(reader.get());
  const ReaderPtr alone = Open("memory:///a.npy");
  EXPECT_EQ(outcome.elements, ReadAll(alone.get()));
}

// ---- Files of one reader. ----

TEST(FilesThatDiffer, AreRefusedAgainWhereAReaderGoesOn) {
  const std::string a = Array("a", "<i8", 3, 0), wide = Array("wide", "<i8", 4, 0),
                    swapped = Array("swapped", ">i8", 3, 0);
  for (const int workers : {0, 3}) {
    const PoolSize pool(workers);
    for (const std::string& b : {wide, swapped}) {
      MultiFileOptions options;
      options.cycle_length = 1;
      ExpectTheSameFromAnyPoint(
          [&] {
            return Open({a, b}, std::nullopt, options);
          },
          kRecords, " after files of ");
      ExpectTheSameFromAnyPoint(
          [&] {
            return std::make_unique<ShuffleReader>(Open({a, b}, std::nullopt, options), 100,
                                                   RandomKey(1, 2, "shuffled"));
          },
          kRecords, " after files of ");
    }
  }
}

}  // namespace
}  // namespace millhopper
