// SPDX-License-Identifier: Apache-2.0
// COCO's JSON: every field of images and annotations, the order of images, what is left out, and
// that nothing in the file is believed.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/decorate/shard_reader.h"
#include "readers/decorate/shuffle_reader.h"
#include "readers/formats/detection/run_lengths.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/compressed.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

// Images that lie in a folder beside the file. Image 9 comes first in the file, image 2 has no
// annotation, and annotations of images stand mixed.
constexpr char kSet[] = R"({
  "info": {"description": "not read: } ] \" {"},
  "annotations": [
    {"id": 31, "image_id": 9, "category_id": 18, "bbox": [1.5, 2, 10, 20.25], "area": 99.5,
     "iscrowd": 0, "segmentation": [[1, 2, 3.5, 4, 5, 6], [7, 8, 9, 10, 11, 12, 13, 14]]},
    {"segmentation": {"size": [4, 5], "counts": [3, 12, 5]}, "iscrowd": 1, "area": 12,
     "bbox": [0, 0, 5, 4], "category_id": 3, "image_id": 1, "id": 30},
    {"id": 7000000000, "image_id": 9, "category_id": 3, "bbox": [0, 1, 2, 3],
     "segmentation": {"size": [6, 7], "counts": "532Nm0"}, "keypoints": [1, 2, 2, 3.5, 4, 0]}
  ],
  "categories": [{"id": 18, "name": "dog"}, {"id": 3, "name": "car"}, {"id": 90}],
  "images": [
    {"id": 9, "file_name": "nine.jpg", "height": 6, "width": 7},
    {"id": 1, "file_name": "sub\/one.jpg", "height": 4, "width": 5},
    {"id": 2, "file_name": "two.jpg", "height": 10, "width": 10}
  ]
})";

class Coco : public testing::Test {
 protected:
  Coco() {
    for (const auto& [name, bytes] : std::vector<std::pair<std::string, std::string>>{
             {"nine.jpg", "nine"}, {"sub/one.jpg", "1"}, {"two.jpg", "two two"}}) {
      MemoryFiles::Get().Write("memory://coco/" + name, bytes);
    }
  }

  static std::unique_ptr<ReaderBase> Open(const std::string& json, FormatArguments arguments) {
    MemoryFiles::Get().Write("memory://coco/set.json", json);
    return OpenFiles({"coco:memory://coco/set.json"}, {}, std::move(arguments), {});
  }
  static FormatArguments With(const Strings& fields) {
    FormatArguments arguments;
    arguments.attributes.Set("fields", fields);
    return arguments;
  }
  static std::vector<ElementValue> Read(const std::string& json, const Strings& fields) {
    return ReadAll(Open(json, With(fields)).get());
  }
  // An error that reading a set throws.
  static void Refuses(const std::string& json, const std::string& words,
                      ErrorCode code = ErrorCode::kDataLoss) {
    ExpectError(code, words, [&] { ReadAll(Open(json, {}).get()); });
  }
  // A set of one image of 4 x 5 pixels and an annotation with these members besides.
  static std::string SetWith(const std::string& annotation) {
    return R"({"images": [{"id": 1, "file_name": "nine.jpg", "height": 4, "width": 5}],)"
           R"("annotations": [{"image_id": 1, )" +
           annotation + "}]}";
  }
  static std::string SegmentedAs(const std::string& segmentation) {
    return SetWith(R"("id": 1, "category_id": 1, "bbox": [0, 0, 1, 1], "segmentation": )" +
                   segmentation);
  }
};

SlotValue Bytes(const std::string& bytes) {
  return SlotOf<uint8_t>({static_cast<int64_t>(bytes.size())},
                         std::vector<uint8_t>(bytes.begin(), bytes.end()), {{0, bytes.size()}});
}

SlotValue Flags(const std::string& flags) {
  return {DataType::kBool, {static_cast<int64_t>(flags.size())}, {{0, flags.size()}}, flags};
}

TEST_F(Coco, HasImagesByTheirIdsWithTheirAnnotations) {
  const std::vector<ElementValue> images =
      Read(kSet, {"image", "image_id", "file_name", "height", "width"});
  ASSERT_EQ(images.size(), 3u);
  EXPECT_EQ(images[0], (ElementValue{Bytes("1"), SlotOf<int64_t>({1}, {1}), Bytes("sub/one.jpg"),
                                     SlotOf<int64_t>({1}, {4}), SlotOf<int64_t>({1}, {5})}));
  EXPECT_EQ(images[1][0], Bytes("two two"));
  EXPECT_EQ(images[2], (ElementValue{Bytes("nine"), SlotOf<int64_t>({1}, {9}), Bytes("nine.jpg"),
                                     SlotOf<int64_t>({1}, {6}), SlotOf<int64_t>({1}, {7})}));
  const std::vector<ElementValue> objects =
      Read(kSet, {"boxes", "labels", "area", "iscrowd", "ids"});
  EXPECT_EQ(objects[0],
            (ElementValue{SlotOf<float>({1, 4}, {0, 0, 5, 4}, {{0, 1}}),
                          SlotOf<int64_t>({1}, {3}, {{0, 1}}), SlotOf<float>({1}, {12}, {{0, 1}}),
                          Flags("\1"), SlotOf<int64_t>({1}, {30}, {{0, 1}})}));
  EXPECT_EQ(objects[1],
            (ElementValue{SlotOf<float>({0, 4}, {}, {{0, 0}}), SlotOf<int64_t>({0}, {}, {{0, 0}}),
                          SlotOf<float>({0}, {}, {{0, 0}}), Flags(""),
                          SlotOf<int64_t>({0}, {}, {{0, 0}})}));
  EXPECT_EQ(
      objects[2],
      (ElementValue{SlotOf<float>({2, 4}, {1.5f, 2, 11.5f, 22.25f, 0, 1, 2, 4}, {{0, 2}}),
                    SlotOf<int64_t>({2}, {18, 3}, {{0, 2}}),
                    SlotOf<float>({2}, {99.5f, 6}, {{0, 2}}),  // that of the box where none is told
                    Flags(std::string(2, 0)), SlotOf<int64_t>({2}, {31, 7000000000}, {{0, 2}})}));
}

TEST_F(Coco, HasOutlinesInLevels) {
  const std::vector<ElementValue> images = Read(kSet, {"polygons", "runs", "keypoints"});
  EXPECT_EQ(images[0], (ElementValue{SlotOf<double>({0, 2}, {}, {{0, 1}, {0, 0}, {0}}),
                                     SlotOf<uint32_t>({3}, {3, 12, 5}, {{0, 1}, {0, 3}}),
                                     SlotOf<float>({0, 3}, {}, {{0, 1}, {0, 0}})}));
  EXPECT_EQ(images[1], (ElementValue{SlotOf<double>({0, 2}, {}, {{0, 0}, {0}, {0}}),
                                     SlotOf<uint32_t>({0}, {}, {{0, 0}, {0}}),
                                     SlotOf<float>({0, 3}, {}, {{0, 0}, {0}})}));
  EXPECT_EQ(images[2][0], SlotOf<double>({7, 2}, {1, 2, 3.5, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14},
                                         {{0, 2}, {0, 2, 2}, {0, 3, 7}}));
  EXPECT_EQ(images[2][1], SlotOf<uint32_t>({5}, {5, 3, 2, 1, 31}, {{0, 2}, {0, 0, 5}}));
  EXPECT_EQ(images[2][2], SlotOf<float>({2, 3}, {1, 2, 2, 3.5f, 4, 0}, {{0, 2}, {0, 0, 2}}));
}

TEST_F(Coco, ReadsTypesAndBoxesAsTheyAreAskedFor) {
  FormatArguments arguments = With({"boxes float64[-1, 4]", "labels int32[-1]"});
  arguments.attributes.Set("box_format", std::string("xywh"));
  arguments.attributes.Set("labels", std::string("index"));
  const std::vector<ElementValue> images = ReadAll(Open(kSet, arguments).get());
  EXPECT_EQ(images[2],
            (ElementValue{SlotOf<double>({2, 4}, {1.5, 2, 10, 20.25, 0, 1, 2, 3}, {{0, 2}}),
                          SlotOf<int32_t>({2}, {1, 0}, {{0, 2}})}));
}

TEST_F(Coco, LeavesOutWhatIsNotWanted) {
  FormatArguments arguments = With({"image_id", "ids"});
  arguments.attributes.Set("skip_empty", true);
  std::vector<ElementValue> images = ReadAll(Open(kSet, arguments).get());
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[1][1], (SlotOf<int64_t>({2}, {31, 7000000000}, {{0, 2}})));
  arguments.attributes.Set("skip_crowds", true);  // and image 1 has nothing else
  images = ReadAll(Open(kSet, arguments).get());
  ASSERT_EQ(images.size(), 1u);
  EXPECT_EQ(images[0][0], (SlotOf<int64_t>({1}, {9})));
  arguments.attributes.Set("skip_empty", false);
  const auto reader = Open(kSet, arguments);
  EXPECT_EQ(reader->PassLength(), 3u);
  EXPECT_EQ(ReadAll(reader.get())[0][1], (SlotOf<int64_t>({0}, {}, {{0, 0}})));
}

TEST_F(Coco, ReadsNoImageThatIsNotWanted) {
  const std::string gone =
      R"({"images": [{"id": 1, "file_name": "gone.jpg", "height": 4, "width": 5}],)"
      R"("annotations": []})";
  EXPECT_EQ(Read(gone, {"image_id", "boxes"})[0],
            (ElementValue{SlotOf<int64_t>({1}, {1}), SlotOf<float>({0, 4}, {}, {{0, 0}})}));
  ExpectError(ErrorCode::kIo, "memory://coco/gone.jpg", [&] { Read(gone, {"image"}); });
}

TEST_F(Coco, MayBeCompressedAndLieElsewhere) {
  const std::vector<ElementValue> wanted = Read(kSet, {"image", "boxes"});
  MemoryFiles::Get().Write("memory://elsewhere/set.json.gz", Gzipped(kSet));
  FormatArguments arguments = With({"image", "boxes"});
  arguments.attributes.Set("images", std::string("memory://coco"));
  EXPECT_EQ(ReadAll(OpenFiles({"coco:memory://elsewhere/set.json.gz"}, {}, arguments, {}).get()),
            wanted);
}

// Many images and annotations, so that they lie in several chunks.
std::string LargeSet(int images) {
  std::string files, annotations;
  for (int i = 0; i < images; ++i) {
    files += StrCat(i == 0 ? "" : ",", "{\"id\":", images - i, ",\"file_name\":\"",
                    i % 3 == 0 ? "nine.jpg" : "two.jpg", "\",\"height\":9,\"width\":9}");
    for (int k = 0; k < i % 5; ++k) {
      annotations +=
          StrCat(annotations.empty() ? "" : ",", "{\"id\":", 10 * i + k,
                 ",\"image_id\":", (7 * i + k) % images + 1, ",\"category_id\":", k, ",\"bbox\":[",
                 k, ",", i, ",1,1],", "\"segmentation\":[[1,2,3,4,5,", i, "]]}");
    }
  }
  return StrCat("{\"images\":[", files, "],\"annotations\":[", annotations, "]}");
}

TEST_F(Coco, IsTheSameForAnyThreadsSharesAndResumes) {
  const std::string json = LargeSet(400);
  const std::vector<ElementValue> wanted = ReadAll(Open(json, {}).get());
  ASSERT_EQ(wanted.size(), 400u);
  std::vector<std::string> shuffled;
  for (const int threads : {0, 1, 2, 7}) {
    const PoolSize pool(threads);
    const auto reader = Open(json, {});
    EXPECT_EQ(ReadAll(reader.get()), wanted) << threads;
    reader->ReInit();
    EXPECT_EQ(ReadAll(reader.get()), wanted) << threads;
    ShuffleReader shuffle(Open(json, {}), 50, RandomKey(1, 0, "shuffled"));
    shuffled.push_back(DigestOf(ReadAll(&shuffle)));
    EXPECT_EQ(shuffled.back(), shuffled.front());
  }
  std::vector<ElementValue> shared;
  for (int64_t shard = 0; shard < 3; ++shard) {
    ShardReader reader(Open(json, {}), 3, shard, ShardBy::kChunk);
    for (ElementValue& element : ReadAll(&reader)) shared.push_back(std::move(element));
  }
  EXPECT_EQ(shared.size(), wanted.size());
  for (const size_t before : {0, 1, 65, 399, 400}) {
    const auto reader = Open(json, {});
    reader->ExpectSave();
    ReadSome(reader.get(), before);
    const auto other = Open(json, {});
    other->Restore(reader->Save());
    const std::vector<ElementValue> rest = ReadAll(other.get());
    EXPECT_TRUE(rest == std::vector<ElementValue>(wanted.begin() + before, wanted.end())) << before;
  }
}

TEST_F(Coco, IsAnotherSetOnceSomethingInItHasChanged) {
  const auto reader = Open(kSet, {});
  reader->ExpectSave();
  ReadSome(reader.get(), 1);
  const Position position = reader->Save();
  std::string other = kSet;
  other[other.find("20.25")] = '3';
  ExpectError(ErrorCode::kInvalidArgument, "are not what they were", [&] {
    const auto changed = Open(other, {});
    changed->Restore(position);
    ReadAll(changed.get());
  });
}

TEST_F(Coco, NamesWhatIsWrongAndWhere) {
  Refuses("[]", "memory://coco/set.json: it is no object of JSON");
  Refuses(R"({"annotations": []})", "it has no list of images");
  Refuses(R"({"images": []})", "it has no list of annotations");
  Refuses(R"({"images": [}, "annotations": []})", "at byte 12");
  Refuses(R"({"images": [], "annotations": []} x)", "something follows the value at byte 34");
  Refuses(R"({"images": {}, "annotations": []})", "is no list");
  Refuses(R"({"images": [3], "annotations": []})", "image 0, at byte 12: it is no object");
  Refuses(R"({"images": [{"id": 1}], "annotations": []})",
          "image 0, at byte 12: it has no file_name");
  const auto image = [](const std::string& members) {
    return "{\"images\": [{" + members + "}], \"annotations\": []}";
  };
  Refuses(image(R"("id": 1.5)"), "its id is 1.5, which is no integer");
  Refuses(image(R"("id": "1")"), "its id is no number");
  Refuses(image(R"("id": 99999999999999999999)"), "which is no integer");
  Refuses(image(R"("id": 1, "file_name": 3)"), "it has no height");
  Refuses(image(R"("id": 1, "file_name": 3, "height": 0, "width": 1)"), "its height is 0");
  Refuses(image(R"("id": 1, "file_name": 3, "height": 1, "width": 3000000000)"), "its width is 3");
  Refuses(image(R"("id": 1, "file_name": 3, "height": 1, "width": 1)"), "file_name is no text");
  Refuses(image(R"("id": 1, "file_name": "", "height": 1, "width": 1)"), "that of no file");
  Refuses(image(R"("id": 1, "file_name": "a\u0000b", "height": 1, "width": 1)"), "that of no file");
  const std::string one = R"({"id": 1, "file_name": "nine.jpg", "height": 4, "width": 5})";
  Refuses(StrCat("{\"images\": [", one, ",", one, "], \"annotations\": []}"),
          "two images have the id 1");
  Refuses(SetWith("\"id\": 1"), "annotation 0, at byte 89: it has no category_id");
  Refuses(SetWith("\"image_id\": 2"), "its image_id is 2, which no image has");
  Refuses(SetWith("\"category_id\": 1"), "it has no id");
  Refuses(SetWith("\"id\": 1, \"category_id\": 1"), "it has no bbox");
  const auto box = [](const std::string& text) {
    return SetWith(R"("id": 1, "category_id": 1, "bbox": )" + text);
  };
  Refuses(box("[1, 2, 3]"), "its bbox has 3 numbers");
  Refuses(box("[1, 2, 3, 4, 5]"), "its bbox has 5 numbers");
  Refuses(box("[1, 2, NaN, 4]"), "which cannot be");
  Refuses(box("[1, 2, 1e300, 4]"), "which cannot be");
  Refuses(box("[1, 2, \"3\", 4]"), "its bbox is no number");
  Refuses(box("7"), "its bbox is no list of numbers");
  Refuses(box("[1, 2, 3, 4], \"iscrowd\": 2"), "its iscrowd is 2, not 0 or 1");
  FormatArguments indices;
  indices.attributes.Set("labels", std::string("index"));
  ExpectError(ErrorCode::kDataLoss, "category_id is 1, which no category has",
              [&] { ReadAll(Open(box("[1, 2, 3, 4]"), indices).get()); });
}

TEST_F(Coco, ChecksOutlines) {
  Refuses(SegmentedAs("[[1, 2, 3, 4]]"), "has 4 numbers");
  Refuses(SegmentedAs("[[1, 2, 3, 4, 5, 6, 7]]"), "has 7 numbers");
  Refuses(SegmentedAs("[1, 2]"), "its segmentation is no list of numbers");
  Refuses(SegmentedAs("3"), "neither a list of polygons nor runs");
  Refuses(SegmentedAs(R"({"counts": [20]})"), "it has no size");
  Refuses(SegmentedAs(R"({"size": [5, 4], "counts": [20]})"), "is not the height and width");
  Refuses(SegmentedAs(R"({"size": [4, 5, 1], "counts": [20]})"), "is not the height and width");
  Refuses(SegmentedAs(R"({"size": [4, 5], "counts": [19]})"), "have 19 pixels; the image has 20");
  Refuses(SegmentedAs(R"({"size": [4, 5], "counts": [30, -10]})"), "a run");
  Refuses(SegmentedAs(R"({"size": [4, 5], "counts": [4000000000]})"), "a run");
  Refuses(SegmentedAs(R"({"size": [4, 5], "counts": "("})"), "a character that is none of it");
  Refuses(SegmentedAs(R"({"size": [4, 5], "counts": "d"})"), "it ends within a number");
  Refuses(SegmentedAs(R"({"size": [4, 5], "counts": 3})"), "no list, nor a text");
  EXPECT_EQ(Read(SegmentedAs(R"({"size": [4, 5], "counts": [20]})"), {"runs"}).size(), 1u);
  // What is not asked for is not looked at.
  EXPECT_EQ(Read(SegmentedAs("[[1, 2, 3, 4]]"), {"boxes"}).size(), 1u);
}

TEST_F(Coco, RefusesFieldsThatThereAreNot) {
  const auto refuses = [](const Strings& fields, const std::string& words) {
    ExpectError(ErrorCode::kInvalidArgument, words, [&] { Read(kSet, fields); });
  };
  refuses({"masks uint8[-1]"}, "an image has only 'image', 'image_id'");
  refuses({"boxes float32[-1]"}, "its type is that of the entry \"boxes float32[-1, 4]\"");
  refuses({"labels int64[-1] missing=mask"}, "a record has it always");
}

// Any bytes that are cut off or changed give an error or a set.
TEST_F(Coco, SurvivesDamage) {
  const std::string json = kSet;
  size_t errors = 0;
  for (size_t at = 0; at < json.size(); ++at) {
    std::string changed = json;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 7));
    for (const std::string& text : {json.substr(0, at), changed}) {
      try {
        ReadAll(Open(text, With({"boxes", "polygons", "runs"})).get());
      } catch (const Error& error) {
        ++errors;
        EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
        EXPECT_EQ(error.file().find("memory://coco/"), 0u) << error.what();
      }
    }
  }
  EXPECT_GT(errors, json.size());
}

TEST(RunLengths, AreThoseOfPycocotools) {
  // From mask.frPyObjects of pycocotools 2.0.11.
  std::vector<int64_t> lengths;
  const auto read = [&](const char* text) { return ReadRunLengths(text, &lengths); };
  const std::pair<const char*, std::vector<int64_t>> kTexts[] = {
      {"", {}},
      {"33e0", {3, 3, 21}},
      {"0Xl43M", {0, 5000, 3, 4997}},
      {"T37Q62NSSj1", {100, 7, 193, 9, 191, 59500}}};
  for (const auto& [text, wanted] : kTexts) {
    EXPECT_EQ(read(text), nullptr) << text;
    EXPECT_EQ(lengths, wanted) << text;
  }
  EXPECT_NE(read("3N"), nullptr);  // less than nothing
  EXPECT_NE(read("ooooooo0"), nullptr);
}

}  // namespace
}  // namespace millhopper
