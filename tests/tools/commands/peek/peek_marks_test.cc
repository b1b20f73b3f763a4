// SPDX-License-Identifier: Apache-2.0
// What peek --png draws over images: the boxes, points and masks that their records have.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "tests/child.h"
#include "tests/files/encoded_images.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Words = std::vector<std::string>;

// The sheet that peek draws.
class Sheet {
 public:
  explicit Sheet(Words command) {
    const std::string png = TempName("sheet.png");
    command.insert(command.begin(), "tools/peek");
    command.push_back("--png=" + png);
    const ChildResult result = RunChild(command);
    EXPECT_EQ(result.exit_code, 0) << result.errors;
    picture_ = ReadPng(ReadFile(png));
  }

  // The colour of a pixel of an image whose upper left corner is at (left, top), as "ff0000".
  std::string At(int64_t x, int64_t y, int64_t left = 2, int64_t top = 2) const {
    const auto at = static_cast<size_t>(((top + y) * picture_.width + left + x) * 3);
    return ToHex(picture_.rows.substr(at, 3));
  }
  // All colours that there are.
  std::set<std::string> colors() const {
    std::set<std::string> found;
    for (int64_t y = 0; y < picture_.height; ++y) {
      for (int64_t x = 0; x < picture_.width; ++x) found.insert(At(x, y, 0, 0));
    }
    return found;
  }
  const std::string& rows() const { return picture_.rows; }

 private:
  static std::string ToHex(const std::string& bytes) {
    std::string hex;
    for (const char byte : bytes) {
      hex += "0123456789abcdef"[static_cast<uint8_t>(byte) >> 4];
      hex += "0123456789abcdef"[static_cast<uint8_t>(byte) & 15];
    }
    return hex;
  }

  PngImage picture_;
};

std::string BlackPng(int64_t height, int64_t width, const std::string& exif = "") {
  PngImage image;
  image.exif = exif;
  image.height = height;
  image.width = width;
  image.rows.resize(static_cast<size_t>(height * width * 3));
  return EncodePng(image);
}

// The second image is shown with a third of its size.
constexpr char kCoco[] = R"({
  "images": [{"id": 1, "file_name": "small.png", "height": 48, "width": 64},
             {"id": 2, "file_name": "large.png", "height": 400, "width": 600}],
  "annotations": [
    {"id": 1, "image_id": 1, "category_id": 2, "bbox": [8, 8, 20, 16],
     "keypoints": [40.5, 40, 2, 14, 14, 0]},
    {"id": 2, "image_id": 1, "category_id": 3, "bbox": [50, -10, 100, 30],
     "segmentation": [[4, 30, 14, 30, 14, 40, 4, 40]]},
    {"id": 3, "image_id": 1, "category_id": 4, "bbox": [1e30, 0, 5, 5],
     "segmentation": {"size": [48, 64], "counts": [1004, 4, 2064]}},
    {"id": 4, "image_id": 1, "category_id": 12, "bbox": [-500, 0, 10, 10],
     "segmentation": {"size": [48, 64], "counts": [3072]}},
    {"id": 5, "image_id": 2, "category_id": 10, "bbox": [150, 90, 300, 150]}],
  "categories": [{"id": 2}, {"id": 3}, {"id": 4}, {"id": 10}, {"id": 12}]
})";

TEST(PeekMarks, AreTheObjectsOfCoco) {
  const std::string folder = NewFolder("coco");
  WriteFile(folder + "/small.png", BlackPng(48, 64));
  WriteFile(folder + "/large.png", BlackPng(400, 600));
  WriteFile(folder + "/set.json", kCoco);
  const std::string file = "coco:" + folder + "/set.json";
  const Sheet sheet({file});
  // A box, 20 x 16 from (8, 8) on: its lines are two pixels wide and within it.
  for (const auto& [x, y] : {std::pair(8, 8), {9, 20}, {27, 23}, {26, 12}, {20, 9}, {20, 22}}) {
    EXPECT_EQ(sheet.At(x, y), "009e73") << x << " " << y;
  }
  for (const auto& [x, y] : {std::pair(10, 10), {7, 8}, {28, 23}, {27, 24}, {25, 21}}) {
    EXPECT_EQ(sheet.At(x, y), "000000") << x << " " << y;
  }
  // One that is not all in the image ends at its edges.
  for (const auto& [x, y] : {std::pair(50, 0), {51, 10}, {63, 10}, {57, 0}, {57, 19}}) {
    EXPECT_EQ(sheet.At(x, y), "d55e00") << x << " " << y;
  }
  EXPECT_EQ(sheet.At(57, 20), "000000");
  EXPECT_EQ(sheet.At(64, 10), "404040");  // beside the image
  // The key point that is labelled has the colour of its object.
  for (const auto& [x, y] : {std::pair(40, 40), {37, 40}, {43, 40}, {40, 37}, {40, 43}}) {
    EXPECT_EQ(sheet.At(x, y), "009e73") << x << " " << y;
  }
  for (const auto& [x, y] : {std::pair(41, 41), {36, 40}, {44, 40}, {14, 14}}) {
    EXPECT_EQ(sheet.At(x, y), "000000") << x << " " << y;
  }
  // The image shines through a polygon, and through runs: rows 44 to 47 of column 20.
  EXPECT_EQ(sheet.At(4, 30), "6a2f00");
  EXPECT_EQ(sheet.At(13, 39), "6a2f00");
  EXPECT_EQ(sheet.At(15, 35), "000000");
  EXPECT_EQ(sheet.At(20, 44), "663c53");
  EXPECT_EQ(sheet.At(20, 47), "663c53");
  EXPECT_EQ(sheet.At(20, 43), "000000");
  EXPECT_EQ(sheet.At(21, 45), "000000");
  // The large image is the second one in its row; category 10 has the colour of 2.
  constexpr int64_t kLeft = 2 + 200 + 2;
  EXPECT_EQ(sheet.At(50, 30, kLeft), "009e73");
  EXPECT_EQ(sheet.At(149, 79, kLeft), "009e73");
  EXPECT_EQ(sheet.At(49, 30, kLeft), "000000");
  EXPECT_EQ(sheet.At(150, 79, kLeft), "000000");
  EXPECT_EQ(sheet.At(100, 50, kLeft), "000000");
  // Nothing is drawn of boxes elsewhere, and of what has no runs that are on.
  EXPECT_EQ(sheet.colors(),
            (std::set<std::string>{"000000", "404040", "009e73", "d55e00", "6a2f00", "663c53"}));
  EXPECT_EQ(Sheet({file, "--attribute=box_format=xywh"}).rows(), sheet.rows());
  // What is said is said of the image as it is stored.
  WriteFile(folder + "/small.png", BlackPng(48, 64, ExifWith(6)));
  EXPECT_EQ(Sheet({file}).rows(), sheet.rows());
}

TEST(PeekMarks, LeaveImagesTurnedOverWhichThereAreNone) {
  PngImage stored, upright;
  stored.height = upright.width = 4;
  stored.width = upright.height = 5;
  stored.exif = ExifWith(6);  // the first row is seen on the right
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) stored.rows += std::string(3, static_cast<char>(10 * y + x));
  }
  for (int y = 0; y < 5; ++y) {
    for (int x = 0; x < 4; ++x) upright.rows += std::string(3, static_cast<char>(10 * (3 - x) + y));
  }
  const TempFile turned("stored.png", EncodePng(stored)), plain("upright.png", EncodePng(upright));
  EXPECT_EQ(Sheet({turned.path()}).rows(), Sheet({plain.path()}).rows());
}

// The file says nothing of its form; who opens it as JSON gets one record of three texts.
TEST(PeekMarks, OfCocoAreFoundByThoseWhoPeekAtItsJson) {
  const TempFile set("set.json", kCoco), other("other.json", R"({"images": [], "categories": []})");
  const ChildResult result = RunChild({"tools/peek", set.path(), "--count=1"});
  EXPECT_EQ(result.exit_code, 0) << result.errors;
  EXPECT_NE(result.output.find("\nthese are COCO's annotations: coco:" + set.path() +
                               " is their images with boxes, labels and\n"
                               "outlines, --attribute=images=FOLDER says where the images lie; "
                               "dataset.coco in Python\n"),
            std::string::npos)
      << result.output;
  for (const Words& command : {Words{"tools/peek", other.path()},
                               Words{"tools/peek", "coco:" + set.path(), "--field=boxes"},
                               Words{"tools/peek", set.path(), "--field=images str decode=json"}}) {
    const ChildResult without = RunChild(command);
    EXPECT_EQ(without.exit_code, 0) << without.errors;
    EXPECT_EQ(without.output.find("COCO"), std::string::npos) << command.back();
  }
}

// 8 rows of 8 values as JSON, all `off` but those of pixels [from, to).
std::string SquareText(const std::string& off, const std::string& on = "", int from = 0,
                       int to = 0) {
  std::string text;
  for (int i = 0; i < 64; ++i) {
    text += i == 0 ? "[[" : i % 8 == 0 ? "],[" : ",";
    text += i >= from && i < to ? on : off;
  }
  return text + "]]";
}

// Images of 8 x 8 pixels, shown four times as large; the first has two objects, the second one.
std::string Records() {
  const auto mask = [](int from, int to) { return SquareText("0", "7", from, to); };
  const std::string begin = "{\"image\": " + SquareText("[0,0,0]") + ", \"bbox_cxcywh\": ";
  return StrCat(begin, "[[3,4,4,4],[6,6,2,2]], \"labels\": [0,1], \"masks\": [", mask(0, 2), ",",
                mask(4, 8), "], \"mask\": ", SquareText("[0]", "[7]", 62, 64), "}\n", begin,
                "[[1,7,2,2]], \"labels\": [4], \"masks\": [", mask(3, 5),
                "], \"mask\": ", SquareText("[0]"), "}\n");
}

const std::string kBatch = BlockText(
    0, -1,
    {CreatedReaderText("files", "open_files", {},
                       {{"file_names", "strings: '${file}'"},
                        {"fields",
                         "strings: ['image uint8[8,8,3]', 'bbox_cxcywh float32[-1,4]', "
                         "'labels int64[-1]', 'masks uint8[-1,8,8]', "
                         "'mask int32[8,8,1]']"}}),
     CreatedReaderText("batches", "create_batch_reader", {"files"}, {{"batch_size", "i: 2"}})});

TEST(PeekMarks, AreThoseOfEachImageOfABatch) {
  const TempFile file("records.jsonl", Records()), startup("startup.pbtxt", kBatch);
  for (const char* reader : {"files", "batches"}) {
    const Sheet sheet(
        {"--startup=" + startup.path(), "--set=file=" + file.path(), StrCat("--reader=", reader)});
    // Boxes (1, 2) to (5, 6) and (5, 5) to (7, 7); the second one is drawn later, and is small.
    EXPECT_EQ(sheet.At(4, 8), "e69f00") << reader;
    EXPECT_EQ(sheet.At(5, 9), "e69f00");
    EXPECT_EQ(sheet.At(6, 10), "000000");
    EXPECT_EQ(sheet.At(20, 20), "56b4e9");
    EXPECT_EQ(sheet.At(27, 27), "56b4e9");
    EXPECT_EQ(sheet.At(26, 26), "000000");
    // Masks of objects have their colours, one of classes those of its values.
    EXPECT_EQ(sheet.At(0, 0), "734f00");
    EXPECT_EQ(sheet.At(7, 3), "734f00");
    EXPECT_EQ(sheet.At(8, 0), "000000");
    EXPECT_EQ(sheet.At(31, 3), "2b5a74");
    EXPECT_EQ(sheet.At(31, 31), "7f7f7f");
    // The second image has its own.
    constexpr int64_t kLeft = 2 + 32 + 2;
    EXPECT_EQ(sheet.At(0, 24, kLeft), "cc79a7");
    EXPECT_EQ(sheet.At(12, 0, kLeft), "663c53");
    EXPECT_EQ(sheet.At(0, 0, kLeft), "000000");
    EXPECT_EQ(sheet.At(31, 31, kLeft), "000000");
  }
}

// Boxes are in the notation that the last operator gives them.
TEST(PeekMarks, AreInTheNotationOfTheProgram) {
  const TempFile file("records.jsonl",
                      "{\"image\": " + SquareText("[0,0,0]") +
                          ", \"boxes\": [[1,2,4,4]], \"points\": [[0.75,0.25]]}\n");
  const TempFile startup(
      "startup.pbtxt",
      BlockText(0, -1,
                {CreatedReaderText("files", "open_files", {},
                                   {{"file_names", "strings: '${file}'"},
                                    {"fields",
                                     "strings: ['image uint8[8,8,3]', 'b = boxes "
                                     "float32[-1,4]', 'points float32[-1,2]']"}}),
                 CreatedReaderText("relative", "create_custom_reader", {"files"},
                                   {{"sub_block", "block_idx: 1"},
                                    {"source_var_names", "strings: ['image', 'b', 'points']"},
                                    {"sink_var_names", "strings: ['image', 'bbox', 'points']"}})}) +
          BlockText(
              1, 0,
              {TensorsText({"image", "b", "points", "bbox"}),
               OpText("convert_boxes", {{"Boxes", {"b"}}, {"X", {"image"}}}, {{"Out", {"bbox"}}},
                      {{"box_format", "s: 'xywh'"},
                       {"to_box_format", "s: 'cxcywh'"},
                       {"to_relative", "b: true"}})}));
  const Sheet sheet({"--startup=" + startup.path(), "--set=file=" + file.path()});
  EXPECT_EQ(sheet.At(4, 8), "e69f00");
  EXPECT_EQ(sheet.At(19, 23), "e69f00");
  EXPECT_EQ(sheet.At(20, 23), "000000");
  EXPECT_EQ(sheet.At(6, 10), "000000");
  EXPECT_EQ(sheet.At(24, 8), "e69f00");
  EXPECT_EQ(sheet.At(27, 8), "e69f00");
  EXPECT_EQ(sheet.At(25, 9), "000000");
}

}  // namespace
}  // namespace millhopper
