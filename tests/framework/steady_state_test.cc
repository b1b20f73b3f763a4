// SPDX-License-Identifier: Apache-2.0
// The heap does not grow while chains of readers or loops go on. One thread, so that every run is
// the same.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/random.h"
#include "framework/tensor/tensor.h"
#include "readers/decorate/batch_reader.h"
#include "readers/decorate/multi_pass_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/formats/recordio/recordio_writer.h"
#include "readers/sources/multi_file_reader.h"
#include "readers/sources/open_files.h"
#include "tests/benchmarks/allocation_counter.h"
#include "tests/files/encoded_images.h"
#include "tests/files/record_files.h"
#include "tests/files/tars.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

constexpr int kRecords = 4000;
constexpr int kBatch = 20;
constexpr int kBatchesAPass = kRecords / kBatch;

// A file of records, each with an image of 100 values and a label.
std::string WriteImages(RecordIOCompressor compressor) {
  std::string path = TempName("images.recordio");
  RecordIOOptions options;
  options.compressor = compressor;
  options.chunk_bytes = 16384;
  RecordIOWriter writer(path, options);
  for (int64_t i = 0; i < kRecords; ++i) {
    const std::vector<float> image(100, static_cast<float>(i));
    writer.Write(RecordOf({MakeTensor<float>({1, 100}, image), MakeTensor<int64_t>({1, 1}, {i})}));
  }
  writer.Close();
  return path;
}

std::unique_ptr<ReaderBase> ReaderOf(const std::string& path, int64_t passes) {
  FormatArguments arguments;
  arguments.attributes.Set("content", std::string("tensors"));
  SlotSpec image;
  image.dims = {1, 100};
  SlotSpec label;
  label.dtype = DataType::kInt64;
  label.dims = {1, 1};
  arguments.declared = {image, label};
  auto files = OpenFile(*FindFileFormat("recordio"), path, "", arguments);
  auto repeated = std::make_unique<MultiPassReader>(std::move(files), passes);
  auto shuffled =
      std::make_unique<ShuffleReader>(std::move(repeated), 500, RandomKey(1, 2, "shuffled"));
  return std::make_unique<BatchReader>(std::move(shuffled), kBatch, false, BatchMode::kConcat);
}

// The number of heap allocations in this many batches.
uint64_t AllocationsIn(ReaderBase* reader, int batches, std::vector<LoDTensor>* batch) {
  const uint64_t before = AllocationCount();
  for (int i = 0; i < batches; ++i) reader->ReadNext(batch);
  return AllocationCount() - before;
}

class SteadyStateOfChains : public testing::TestWithParam<RecordIOCompressor> {};

TEST_P(SteadyStateOfChains, ABatchAllocatesAtMostTwice) {
  const PoolSize one_thread(0);
  const std::string path = WriteImages(GetParam());
  const std::unique_ptr<ReaderBase> reader = ReaderOf(path, 3);
  std::vector<LoDTensor> batch;
  AllocationsIn(reader.get(), kBatchesAPass, &batch);
  EXPECT_LE(AllocationsIn(reader.get(), kBatchesAPass, &batch), 2u * kBatchesAPass);
}

INSTANTIATE_TEST_SUITE_P(SteadyState, SteadyStateOfChains,
                         testing::Values(RecordIOCompressor::kNone, RecordIOCompressor::kSnappy,
                                         RecordIOCompressor::kGzip),
                         [](const auto& info) { return std::string(ToString(info.param)); });

TEST(SteadyState, TheCounterSeesTheHeap) {
  const uint64_t before = AllocationCount();
  const auto number = std::make_unique<int>(3);
  ASSERT_NE(number, nullptr);
  EXPECT_EQ(AllocationCount(), before + 1);
}

// Lines of text, hashed by a block that runs for every line.
TEST(SteadyState, ABlockForElementsAllocatesForBatchesNotForElements) {
  const PoolSize one_thread(0);
  std::string lines;
  for (int i = 0; i < kRecords; ++i) lines += StrCat("line ", i, "\n");
  const TempFile file("lines.txt", lines);
  ProgramRunner runner;
  runner.Reader("source").Reset(std::make_unique<MultiPassReader>(
      OpenFile(*FindFileFormat("text"), file.path(), "", FormatArguments()), 3));
  runner.Startup(
      BlockText(
          0, -1,
          {ReaderText("source"), ReaderText("hashed"), ReaderText("batches"),
           OpText("create_custom_reader", {{"UnderlyingReader", {"source"}}}, {{"Out", {"hashed"}}},
                  {{"sub_block", "block_idx: 1"},
                   {"source_var_names", "strings: \"line\""},
                   {"sink_var_names", "strings: \"bucket\""}}),
           OpText("create_batch_reader", {{"UnderlyingReader", {"hashed"}}}, {{"Out", {"batches"}}},
                  {{"batch_size", StrCat("i: ", kBatch)}})}) +
      BlockText(1, 0,
                {TensorText("line", "UINT8", {-1}, 1), TensorText("bucket", "INT64", {-1}),
                 OpText("hash_bucket", {{"X", {"line"}}}, {{"Out", {"bucket"}}},
                        {{"buckets", "i: 100"}})}));
  const std::unique_ptr<ReaderBase> reader = runner.Reader("batches").NewHandle();
  std::vector<LoDTensor> batch;
  AllocationsIn(reader.get(), kBatchesAPass, &batch);
  EXPECT_LE(AllocationsIn(reader.get(), kBatchesAPass, &batch), 4u * kBatchesAPass);
}

// Files whose records are an image and its label.
struct ImageFiles {
  std::string format;
  std::string path;
  FormatArguments arguments;
};

constexpr int kImages = 400;
constexpr int kClasses = 4;

std::string EncodedImage(int i) {
  const ImageShape shape = {40 + i % 7, 50 - i % 5, 3};
  return EncodeJpeg(SomePixels(shape, static_cast<uint32_t>(i)), shape);
}

ImageFiles FolderOfImages() {
  const std::string folder = NewFolder("steady_images");
  for (int i = 0; i < kImages; ++i) {
    const std::string of_class = StrCat(folder, "/the_images_of_class_", i % kClasses);
    std::filesystem::create_directories(of_class);
    WriteFile(StrCat(of_class, "/a_photograph_number_", i, ".jpeg"), EncodedImage(i));
  }
  return {"image_folder", folder, {}};
}

ImageFiles TarOfImages() {
  TarFiles members;
  for (int i = 0; i < kImages; ++i) {
    members.emplace_back(StrCat("a_photograph_number_", i, ".jpg"), EncodedImage(i));
    members.emplace_back(StrCat("a_photograph_number_", i, ".cls"), StrCat(i % kClasses));
  }
  ImageFiles files = {"tar", NewFolder("steady_images") + "/images.tar", {}};
  WriteFile(files.path, TarOf(members));
  files.arguments.attributes.Set("fields",
                                 std::vector<std::string>{"jpg bytes", "cls int64[] decode=text"});
  return files;
}

class SteadyStateOfImages : public testing::TestWithParam<ImageFiles (*)()> {};

// Images are read, decoded, cropped, resized, mirrored, normalised and put into batches.
TEST_P(SteadyStateOfImages, ABatchAllocatesAndAnImageDoesNot) {
  const PoolSize one_thread(0);
  const ImageFiles files = GetParam()();
  ProgramRunner runner;
  runner.Reader("source").Reset(std::make_unique<MultiPassReader>(
      OpenFile(*FindFileFormat(files.format), files.path, "", files.arguments), 3));
  runner.Startup(
      BlockText(0, -1,
                {ReaderText("source"), ReaderText("augmented"), ReaderText("batches"),
                 OpText("create_custom_reader", {{"UnderlyingReader", {"source"}}},
                        {{"Out", {"augmented"}}},
                        {{"sub_block", "block_idx: 1"},
                         {"source_var_names", R"(strings: ["jpeg", "label"])"},
                         {"sink_var_names", R"(strings: ["image", "label"])"}}),
                 OpText("create_batch_reader", {{"UnderlyingReader", {"augmented"}}},
                        {{"Out", {"batches"}}}, {{"batch_size", StrCat("i: ", kBatch)}})}) +
      BlockText(
          1, 0,
          {TensorText("jpeg", "UINT8", {-1}, 1), TensorText("label", "INT64", {1}),
           TensorText("pixels", "UINT8", {1, -1, -1, 3}),
           TensorText("cropped", "UINT8", {1, 24, 20, 3}),
           TensorText("flipped", "UINT8", {1, 24, 20, 3}),
           TensorText("normal", "FP32", {1, 24, 20, 3}),
           TensorText("image", "FP32", {1, 3, 24, 20}),
           OpText("decode_image", {{"X", {"jpeg"}}}, {{"Out", {"pixels"}}}, {{"channels", "i: 3"}}),
           OpText("random_resized_crop", {{"X", {"pixels"}}}, {{"Out", {"cropped"}}},
                  {{"size", "ints: [24, 20]"}}),
           OpText("flip", {{"X", {"cropped"}}}, {{"Out", {"flipped"}}}, {{"p", "f: 0.5"}}),
           OpText("normalize", {{"X", {"flipped"}}}, {{"Out", {"normal"}}},
                  {{"mean", "floats: 0.5"}, {"std", "floats: 0.25"}}),
           OpText("transpose", {{"X", {"normal"}}}, {{"Out", {"image"}}},
                  {{"axis", "ints: [0, 3, 1, 2]"}})}));
  const std::unique_ptr<ReaderBase> reader = runner.Reader("batches").NewHandle();
  std::vector<LoDTensor> batch;
  constexpr int kBatchesOfImages = kImages / kBatch;
  // Within the second pass: a pass begins with a new list of the files of a folder.
  AllocationsIn(reader.get(), kBatchesOfImages + 2, &batch);
  constexpr int kMeasured = kBatchesOfImages - 4;
  EXPECT_LE(AllocationsIn(reader.get(), kMeasured, &batch), 4u * kMeasured);
}

INSTANTIATE_TEST_SUITE_P(SteadyState, SteadyStateOfImages,
                         testing::Values(FolderOfImages, TarOfImages),
                         [](const auto& info) { return info.index == 0 ? "folder" : "tar"; });

// Runs a loop of this many steps, each of which does `step`; returns the number of heap
// allocations.
uint64_t AllocationsOfLoop(int64_t steps, const std::string& step = "") {
  ProgramRunner runner;
  runner.Main(
      BlockText(0, -1,
                {TensorText("i", "INT64", {1}), TensorText("n", "INT64", {1}),
                 TensorText("more", "BOOL", {1}), TensorText("word", "UINT8", {1}),
                 TensorText("number", "INT64", {1}), FillText("i", "INT64", 0),
                 FillText("word", "UINT8", 'a'), FillText("n", "INT64", static_cast<double>(steps)),
                 OpText("less_than", {{"X", {"i"}}, {"Y", {"n"}}}, {{"Out", {"more"}}}),
                 OpText("while", {{"Condition", {"more"}}}, {}, {{"sub_block", "block_idx: 1"}})}) +
      BlockText(1, 0,
                {step, OpText("increment", {{"X", {"i"}}}, {{"Out", {"i"}}}),
                 OpText("less_than", {{"X", {"i"}}, {"Y", {"n"}}}, {{"Out", {"more"}}})}));
  EXPECT_EQ(runner.Tensor("i").scalar<int64_t>(), steps);
  const uint64_t before = AllocationCount();
  runner.Again();
  return AllocationCount() - before;
}

TEST(SteadyState, ALoopOfAMillionStepsAllocatesAsOftenAsOneOfTen) {
  EXPECT_EQ(AllocationsOfLoop(1000000), AllocationsOfLoop(10));
}

TEST(SteadyState, AnOperatorWithAFileAllocatesNothingOnceItIsLoaded) {
  const TempFile file("words.txt", "a\n");
  const std::string step = OpText("lookup", {{"X", {"word"}}}, {{"Out", {"number"}}},
                                  {{"vocab", "s: \"" + file.path() + "\""}});
  EXPECT_EQ(AllocationsOfLoop(1000, step), AllocationsOfLoop(10, step));
}

}  // namespace
}  // namespace millhopper
