// SPDX-License-Identifier: Apache-2.0
// Chains of readers that are built in C++ (operators/fluent/reader.h).
#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/io/digest.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/position.h"
#include "framework/reader/reader_holder.h"
#include "operators/fluent/reader.h"
#include "tests/bytes.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Numbers = std::vector<int64_t>;

Numbers NumbersOf(const LoDTensor& tensor) {
  return {tensor.data<int64_t>(), tensor.data<int64_t>() + tensor.numel()};
}

// The next pass: the values of a slot of int64, a list for each element.
std::vector<Numbers> Pass(ReaderLoop* loop, size_t slot = 0) {
  std::vector<Numbers> elements;
  for (const std::vector<LoDTensor>& element : *loop) elements.push_back(NumbersOf(element[slot]));
  return elements;
}

// What a reader of a startup program yields in its first `passes`.
std::vector<std::vector<Numbers>> PassesOf(const std::string& text, const std::string& name,
                                           uint64_t seed, int passes) {
  Scope scope;
  RunState run;
  run.seed = seed;
  Executor(run).Run(Program::FromString(text, "startup.pbtxt"), ProgramRole::kStartup, &scope);
  auto* const holder = scope.Find(name)->GetMutable<ReaderHolder>();
  std::vector<std::vector<Numbers>> all;
  for (int pass = 0; pass < passes; ++pass) {
    if (pass > 0) holder->ReInit();
    all.emplace_back();
    std::vector<LoDTensor> element;
    while (holder->HasNext()) {
      holder->ReadNext(&element);
      all.back().push_back(NumbersOf(element[0]));
    }
  }
  return all;
}

constexpr char kShuffledBatches[] = R"(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "reader" persistable: true type { type: READER } }
  vars { name: "reader.shuffle" persistable: true type { type: READER } }
  vars { name: "reader.shuffle.batch" persistable: true type { type: READER } }
  ops {
    type: "create_range_reader" outputs { parameter: "Out" arguments: "reader" }
    attrs { name: "count" l: 50 }
  }
  ops {
    type: "create_shuffle_reader"
    inputs { parameter: "UnderlyingReader" arguments: "reader" }
    outputs { parameter: "Out" arguments: "reader.shuffle" }
    attrs { name: "buffer_size" i: 20 }
    attrs { name: "seed" l: 3 }
  }
  ops {
    type: "create_batch_reader"
    inputs { parameter: "UnderlyingReader" arguments: "reader.shuffle" }
    outputs { parameter: "Out" arguments: "reader.shuffle.batch" }
    attrs { name: "batch_size" i: 8 }
    attrs { name: "discard_leftover" b: true }
  }
})";

Reader ShuffledBatches() {
  Reader::ShuffleOptions shuffle;
  shuffle.seed = 3;
  Reader::BatchOptions batch;
  batch.drop_last = true;
  return Reader::Range(50).Shuffle(20, shuffle).Batch(8, batch);
}

TEST(FluentReader, YieldsWhatTheProgramOfItsOperatorsYields) {
  ReaderLoop loop = ShuffledBatches().Open(uint64_t{7});
  const auto passes = PassesOf(kShuffledBatches, "reader.shuffle.batch", 7, 3);
  ASSERT_EQ(passes[0].size(), 6u);
  EXPECT_NE(passes[0], passes[1]);
  for (const auto& pass : passes) EXPECT_EQ(Pass(&loop), pass);
  EXPECT_EQ(PassesOf(ShuffledBatches().ToText(), "reader.shuffle.batch", 7, 3), passes);
}

TEST(FluentReader, StatesTheLanesOfFilesBelowAShuffle) {
  const std::string path = TempName("lines.txt");
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += "line\n";
  WriteFile(path, lines);
  const auto states_lanes = [](const Reader& reader) {
    return reader.ToText().find("\"lanes\"") != std::string::npos;
  };
  const Reader files = Reader::OpenFiles({"text:" + path});
  EXPECT_TRUE(states_lanes(files.Shuffle(512).Batch(32)));
  EXPECT_TRUE(states_lanes(files.Concat({files.Shuffle(512).Batch(1)})));
  EXPECT_FALSE(states_lanes(files.Batch(32)));
  EXPECT_FALSE(states_lanes(files.Shuffle(512).Shard()));
  size_t read = 0;
  for (const std::vector<LoDTensor>& batch : files.Shuffle(512).Batch(32).Open()) {
    read += static_cast<size_t>(batch[0].lod()[0].size()) - 1;
  }
  EXPECT_EQ(read, 20000u);
}

TEST(FluentReader, APassThatIsLeftIsFollowedByTheNext) {
  const auto passes = PassesOf(kShuffledBatches, "reader.shuffle.batch", 0, 2);
  ReaderLoop loop = ShuffledBatches().Open();
  for (const std::vector<LoDTensor>& batch : loop) {
    EXPECT_EQ(NumbersOf(batch[0]), passes[0][0]);
    break;
  }
  EXPECT_EQ(Pass(&loop), passes[1]);
}

TEST(FluentReader, ChainsSharePartsAndAreSavedByTheirHolder) {
  const Reader numbers = Reader::Range(10).Shuffle(10);
  const Reader batches = numbers.Batch(4);  // and `numbers` is as it was
  ReaderLoop single = numbers.Open();
  EXPECT_EQ(Pass(&single).size(), 10u);
  ReaderLoop first = batches.Open();
  first.holder().ExpectSave();
  std::vector<LoDTensor> batch;
  first.holder().ReadNext(&batch);
  ReaderLoop second = batches.Open();
  second.holder().Restore(first.holder().Save());
  for (const size_t size : {4, 2}) {
    first.holder().ReadNext(&batch);
    std::vector<LoDTensor> again;
    second.holder().ReadNext(&again);
    EXPECT_EQ(NumbersOf(batch[0]).size(), size);
    EXPECT_EQ(NumbersOf(batch[0]), NumbersOf(again[0]));
  }
  EXPECT_FALSE(second.holder().HasNext());
}

// A loop of the chain that stands at a position.
ReaderLoop Restored(const Position& position) {
  ReaderLoop loop = ShuffledBatches().Open();
  loop.Restore(position);
  return loop;
}

TEST(FluentReader, ARestoredLoopGoesOnWithTheRestOfThePass) {
  const auto passes = PassesOf(kShuffledBatches, "reader.shuffle.batch", 0, 3);
  ReaderLoop loop = ShuffledBatches().Open();
  loop.holder().ExpectSave();
  ReaderLoop first = Restored(loop.Save());
  EXPECT_EQ(Pass(&first), passes[0]);
  size_t read = 0;
  for (const std::vector<LoDTensor>& batch : loop) {
    EXPECT_EQ(NumbersOf(batch[0]), passes[0][read]);
    ReaderLoop restored = Restored(loop.Save());
    const std::vector<Numbers> rest(passes[0].begin() + static_cast<int64_t>(++read),
                                    passes[0].end());
    EXPECT_EQ(Pass(&restored), rest) << read;  // after the last batch, none
    EXPECT_EQ(Pass(&restored), passes[1]) << read;
  }
  EXPECT_EQ(read, passes[0].size());
  // The end is found, and this is the beginning of the second pass, for both, however often it is
  // saved.
  loop.Save();
  ReaderLoop restored = Restored(loop.Save());
  for (size_t pass = 1; pass < 3; ++pass) {
    EXPECT_EQ(Pass(&restored), passes[pass]);
    EXPECT_EQ(Pass(&loop), passes[pass]);
  }
}

TEST(FluentReader, APassThatIsLeftIsRestoredWhereItWasLeft) {
  const auto passes = PassesOf(kShuffledBatches, "reader.shuffle.batch", 0, 2);
  ReaderLoop loop = ShuffledBatches().Open();
  loop.holder().ExpectSave();
  for (const std::vector<LoDTensor>& batch : loop) {
    EXPECT_EQ(NumbersOf(batch[0]), passes[0][0]);
    break;
  }
  ReaderLoop restored = Restored(loop.Save());
  EXPECT_EQ(Pass(&restored), (std::vector<Numbers>{passes[0].begin() + 1, passes[0].end()}));
  EXPECT_EQ(Pass(&loop), passes[1]);
}

TEST(FluentReader, ReadsFilesAndRunsOperatorsOnSlots) {
  const TempFile table("table.csv", "a,b\n1,-2\n3,-4\n");
  Reader::OpenFilesOptions options;
  options.attributes["fields"] = std::vector<std::string>{"a int64[1]", "b int64[1]"};
  const Reader reader = Reader::OpenFiles({table.path()}, options).Apply("abs", 1).Batch(2);
  ReaderLoop loop = reader.Open();
  EXPECT_EQ(Pass(&loop, 0), (std::vector<Numbers>{{1, 3}}));
  EXPECT_EQ(Pass(&loop, 1), (std::vector<Numbers>{{2, 4}}));
}

constexpr char kFilteredTable[] = R"program(
blocks {
  idx: 0 parent_idx: -1
  vars { name: "files" persistable: true type { type: READER } }
  vars { name: "files.filter" persistable: true type { type: READER } }
  ops {
    type: "open_files" outputs { parameter: "Out" arguments: "files" }
    attrs { name: "file_names" strings: "PATH" }
    attrs { name: "fields" strings: "id int64[1]" strings: "label int64[1]" strings: "lang str" }
  }
  ops {
    type: "create_filter_reader"
    inputs { parameter: "UnderlyingReader" arguments: "files" }
    outputs { parameter: "Out" arguments: "files.filter" }
    attrs { name: "sub_block" block_idx: 1 }
    attrs { name: "source_var_names" strings: "id" strings: "label" strings: "lang" }
    attrs { name: "sink_var_names" strings: "holds" }
  }
}
blocks {
  idx: 1 parent_idx: 0
  vars { name: "id" type { type: LOD_TENSOR } }
  vars { name: "label" type { type: LOD_TENSOR } }
  vars { name: "lang" type { type: LOD_TENSOR } }
  vars { name: "holds" type { type: LOD_TENSOR } }
  ops {
    type: "condition"
    inputs { parameter: "X" arguments: "id" arguments: "label" arguments: "lang" }
    outputs { parameter: "Out" arguments: "holds" }
    attrs { name: "condition" s: "label >= 3 and lang in ('en', 'de')" }
    attrs { name: "names" strings: "id" strings: "label" strings: "lang" }
  }
})program";

Reader Table(const std::string& path) {
  Reader::OpenFilesOptions options;
  options.attributes["fields"] =
      std::vector<std::string>{"id int64[1]", "label int64[1]", "lang str"};
  return Reader::OpenFiles({path}, options);
}

TEST(FluentReader, FiltersAsTheProgramOfItsOperatorDoes) {
  const TempFile table("table.csv",
                       "id,label,lang\n1,3,en\n2,2,en\n3,9,fr\n4,7,de\n5,3,\"de\"\n6,-3,de\n");
  std::string text = kFilteredTable;
  text.replace(text.find("PATH"), 4, table.path());
  const auto passes = PassesOf(text, "files.filter", 0, 2);
  EXPECT_EQ(passes[0], (std::vector<Numbers>{{1}, {4}, {5}}));
  const Reader filtered = Table(table.path()).Filter("label >= 3 and lang in ('en', 'de')");
  ReaderLoop loop = filtered.Open();
  for (const auto& pass : passes) EXPECT_EQ(Pass(&loop), pass);
  EXPECT_EQ(PassesOf(filtered.ToText(), "files.filter", 0, 2), passes);
}

TEST(FluentReader, FiltersByNamesThatStepsKeepThatAreGivenOrByNumber) {
  const TempFile table("table.csv", "id,label,lang\n1,-4,a\n2,2,b\n3,5,a\n");
  ReaderLoop steps = Table(table.path()).Apply("abs", 1).Filter("label > 2").Filter("id>1").Open();
  EXPECT_EQ(Pass(&steps), (std::vector<Numbers>{{3}}));
  ReaderLoop zipped =
      Reader::Range(4).Zip({Reader::Range(9).Skip(5)}).Filter("slot1 >= 6 and slot0 < 3").Open();
  EXPECT_EQ(Pass(&zipped), (std::vector<Numbers>{{1}, {2}}));
  Reader::FilterOptions options;
  options.slots = {"n"};
  ReaderLoop named = Reader::Range(9).Filter("n in (2, 7)", options).Open();
  EXPECT_EQ(Pass(&named), (std::vector<Numbers>{{2}, {7}}));
}

TEST(FluentReader, FiltersByTheNamesOfTheFormat) {
  const std::string folder = TempName("photos");
  for (const char* const name : {"/cats", "/dogs"}) {
    std::filesystem::create_directories(folder + name);
    WriteFile(StrCat(folder, name, "/1.png"), "an image");
  }
  ReaderLoop dogs = Reader::OpenFiles({"image_folder:" + folder}).Filter("label % 2 == 1").Open();
  EXPECT_EQ(Pass(&dogs, 1), (std::vector<Numbers>{{1}}));
}

TEST(FluentReader, FiltersByNamesThatTheFilesTell) {
  const TempFile table("told.csv", "id,lang\n1,a\n2,b\n3,a\n");
  ReaderLoop inferred = Reader::OpenFiles({table.path()}).Filter("lang == 'a' and id > 1").Open();
  EXPECT_EQ(Pass(&inferred), (std::vector<Numbers>{{3}}));
  const TempFile bars("bars.csv", "id|n\n1|7\n2|8\n");
  Reader::OpenFilesOptions options;
  options.attributes = {{"delimiter", std::string("|")}};
  ReaderLoop given = Reader::OpenFiles({bars.path()}, options).Filter("n == 8").Open();
  EXPECT_EQ(Pass(&given), (std::vector<Numbers>{{2}}));
}

TEST(FluentReader, AppliesOperatorsWhoseTypesAreNamed) {
  const TempFile table("table.csv", "id\n1\n2\n");
  ReaderLoop cast = Reader::OpenFiles({table.path()})
                        .Apply("cast", 0, {{"out_dtype", std::string("float32")}})
                        .Open();
  EXPECT_EQ(cast.holder().slots()[0].dtype, DataType::kFp32);
  ExpectError(ErrorCode::kInvalidArgument, "no operator 'cats'; did you mean 'cast'?",
              [&] { Reader::OpenFiles({table.path()}).Apply("cats", 0); });
}

// The next pass: the bytes of the images of slot 0.
std::vector<std::string> ImagesOf(ReaderLoop* loop) {
  std::vector<std::string> images;
  for (const std::vector<LoDTensor>& element : *loop) {
    images.emplace_back(static_cast<const char*>(element[0].raw_data()), element[0].bytes());
  }
  return images;
}

Reader::Steps Flip(const std::string& axis) {
  return [axis](const Reader& reader) { return reader.Apply("flip", 0, {{"axis", axis}}); };
}

Reader RandomImages() {
  Reader::RandomDataGeneratorOptions options;
  SlotSpec slot;
  slot.dims = {1, 8, 9, 3};
  options.slots = {slot};
  options.high = 256;
  options.count = 90;
  return Reader::RandomDataGenerator(options).Apply(
      "cast", 0, {{"out_dtype", static_cast<int32_t>(DataType::kUint8)}});
}

Reader ChosenImages() {
  const auto inverted = [](const Reader& reader) {
    return reader.Apply("flip", 0, {{"p", 0.5f}}).Apply("invert", 0);
  };
  const auto turned = [](const Reader& reader) {
    return reader.Apply("rotate", 0, {{"degrees", std::vector<float>{-30, 30}}});
  };
  const auto solarized = [](const Reader& reader) {
    return reader.RandomApply([](const Reader& some) { return some.Apply("solarize", 0); });
  };
  const auto jittered = [](const Reader& reader) {
    return reader.Apply("color_jitter", 0, {{"brightness", std::vector<float>{0.5, 1.5}}});
  };
  const auto nothing = [](const Reader& reader) { return reader; };
  Reader::ChoiceOptions options;
  options.seed = 3;
  return RandomImages()
      .RandomApply(inverted, 0.7)
      .RandomChoice({turned, Flip("vertical"), nothing}, {1, 2, 1}, options)
      .RandomOrder({solarized, jittered});
}

// test_choices.py has the same digest for the same chain in Python.
TEST(FluentReader, ChoosesAsTheSameChainInPythonDoes) {
  ReaderLoop loop = ChosenImages().Open(uint64_t{5});
  std::vector<std::string> images = ImagesOf(&loop);
  const std::vector<std::string> second = ImagesOf(&loop);
  images.insert(images.end(), second.begin(), second.end());
  ASSERT_EQ(images.size(), 180u);
  std::string bytes;
  for (const std::string& image : images) bytes += image;
  EXPECT_EQ(DigestOf({bytes}),
            FromHex("6795d62710165b76530a6a54a27690db3f5b2197040026a1e85a0daba31231e6"));
}

TEST(FluentReader, ChoicesMayChangeTheSizeOfImages) {
  const auto padded = [](const Reader& reader) {
    return reader.Apply("pad", 0, {{"padding", std::vector<int32_t>{1}}});
  };
  std::set<int64_t> heights;
  ReaderLoop loop = RandomImages().RandomApply(padded).Open();
  for (const std::vector<LoDTensor>& element : loop) heights.insert(element[0].dims()[1]);
  EXPECT_EQ(heights, (std::set<int64_t>{8, 10}));
}

TEST(FluentReader, StepsThatDrawAreNamedByTheirSource) {
  const Reader twice = RandomImages().Shuffle(8).Apply("flip", 0).Apply("flip", 0);
  for (const char* const name : {"\"reader.flip:Out\"", "\"reader.flip_2:Out\""}) {
    EXPECT_NE(twice.ToText().find(name), std::string::npos) << name;
  }
  Reader::ChoiceOptions options;
  options.name = "mine";
  const std::string named = RandomImages().RandomApply(Flip("vertical"), 1, options).ToText();
  EXPECT_NE(named.find("\"mine:draw\""), std::string::npos);
  ExpectError(ErrorCode::kInvalidArgument, "another step or reader has the name 'mine'", [&] {
    RandomImages().RandomApply(Flip("vertical"), 1, options).Apply("flip", 0, {}, "mine");
  });
}

TEST(FluentReader, ChoicesTakeFunctionsThatAddSteps) {
  const auto expect = [](const std::string& words, const auto& function) {
    ExpectError(ErrorCode::kInvalidArgument, words, function);
  };
  const Reader images = RandomImages();
  const Reader::Steps flip = Flip("vertical");
  expect("random_apply: a function returns a reader that is not its reader with more steps",
         [&] { images.RandomApply([](const Reader& reader) { return reader.Batch(2); }); });
  expect("is not its reader with more steps",
         [&] { images.RandomApply([&](const Reader&) { return RandomImages(); }); });
  expect("random_apply: p is 1.5; it is from 0 to 1", [&] { images.RandomApply(flip, 1.5); });
  expect("random_choice: 2 probabilities for 1 steps", [&] {
    images.RandomChoice({flip}, {0.5, 0.5});
  });
  expect("random_choice: the sum of p is 0", [&] { images.RandomChoice({flip}, {0}); });
  expect("random_order: 5 functions; it takes 1 to 4", [&] {
    images.RandomOrder({flip, flip, flip, flip, flip});
  });
  const Reader::Steps order = [&](const Reader& reader) {
    return reader.RandomOrder({flip, flip, flip});
  };
  const Reader::Steps orders = [&](const Reader& reader) {
    return reader.RandomOrder({order, order, order});
  };
  images.RandomOrder({orders, order});  // of 2 * (1 + 6 * (1 + 3 * 6) + 6) blocks
  const Reader::Steps some = [&](const Reader& reader) { return reader.RandomApply(orders); };
  expect(
      "random_order: 1416 blocks of the program, and at most 1000 are possible: each of 6 orders",
      [&] {
        images.RandomOrder({some, orders, order});
      });
}

TEST(FluentReader, CombinesReadersOfWhichEachHasItsOwnChain) {
  const Reader numbers = Reader::Range(3);
  ReaderLoop joined = numbers.Zip({numbers, Reader::Range(3).Batch(1)}).Open();
  std::vector<Numbers> rows;
  for (const auto& element : joined) {
    rows.push_back({NumbersOf(element[0])[0], NumbersOf(element[1])[0], NumbersOf(element[2])[0]});
  }
  EXPECT_EQ(rows, (std::vector<Numbers>{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}}));
  Reader::MixOptions mix;
  mix.weights = {2, 1};
  mix.when_exhausted = "continue";
  ReaderLoop mixed = numbers.Mix({numbers}, mix).Open();
  EXPECT_EQ(Pass(&mixed).size(), 6u);
}

TEST(FluentReader, SlotsAreDeclaredAndChecked) {
  Reader::RandomDataGeneratorOptions options;
  SlotSpec slot;
  slot.dims = {1, 4};
  options.slots = {slot};
  options.count = 3;
  ReaderLoop loop = Reader::RandomDataGenerator(options).Batch(3).Open();
  for (const auto& batch : loop) EXPECT_EQ(batch[0].dims(), (Dims{3, 4}));
}

TEST(FluentReader, ErrorsNameOperatorAndAttribute) {
  const auto expect = [](const std::string& words, const auto& function) {
    ExpectError(ErrorCode::kInvalidArgument, words, function);
  };
  expect("attribute 'batch_size' is 0; it must be at least 1",
         [] { Reader::Range(3).Batch(0).Open(); });
  expect("did you mean 'create_batch_reader'?",
         [] { Reader::Range(3).Decorate("create_bach_reader", {}).Open(); });
  expect("slot is 1; the reader has 1 slots", [] { Reader::Range(3).Apply("abs", 1); });
  expect("no slot", [] { Reader::Range(3).Filter("prize > 1").Open(); });
  Reader::FilterOptions two;
  two.slots = {"a", "b"};
  expect("filter: 2 names of slots; the reader has 1 slots",
         [&] { Reader::Range(3).Filter("a > b", two); });
  expect("no operator 'none'", [] { Reader::Range(3).Apply("none", 0); });
}

}  // namespace
}  // namespace millhopper
