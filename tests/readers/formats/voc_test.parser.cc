// SPDX-License-Identifier: Apache-2.0
// Image sets of VOC's form: every field, boxes from edge to edge, and that no XML is believed.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "readers/sources/open_files.h"
#include "tests/bytes.h"
#include "tests/fakes/memory_files.h"
#include "tests/files/compressed.h"
#include "tests/files/record_files.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Strings = std::vector<std::string>;

constexpr char kBox[] =
    "<bndbox><xmax>195</xmax><xmin>48</xmin><ymin>1</ymin><ymax> 371.5 </ymax></bndbox>";

std::string Annotation(const std::string& objects) {
  return "<annotation><filename>../../etc/passwd</filename>"
         "<size><width>500</width><height>375</height><depth>3</depth></size>" +
         objects + "</annotation>";
}

std::string Object(const std::string& name, const std::string& more = "") {
  return StrCat("<object><name>", name, "</name>", kBox, more,
                "<part><name>head</name><bndbox><xmin>1</xmin></bndbox></part></object>");
}

class Voc : public testing::Test {
 protected:
  Voc() {
    Write("JPEGImages/a.jpg", "image a");
    Write("JPEGImages/b.jpg", "b");
    Write("Annotations/a.xml", Annotation(Object("dog", "<difficult>1</difficult>") +
                                          Object("aeroplane", "<truncated>1</truncated>")));
    Write("Annotations/b.xml", Annotation(""));
    Write("ImageSets/Main/train.txt", "b\r\na \n\n");
  }

  static void Write(const std::string& name, const std::string& bytes) {
    MemoryFiles::Get().Write("memory://VOC2012/" + name, bytes);
  }
  static FormatArguments With(const Strings& fields) {
    FormatArguments arguments;
    arguments.attributes.Set("fields", fields);
    return arguments;
  }
  static std::vector<ElementValue> Read(FormatArguments arguments) {
    const auto reader =
        OpenFiles({"voc:memory://VOC2012/ImageSets/Main/train.txt"}, {}, std::move(arguments), {});
    return ReadAll(reader.get());
  }
  // An error that this XML throws, which names its file.
  static void Refuses(const std::string& xml, const std::string& words) {
    Write("Annotations/a.xml", xml);
    ExpectError(ErrorCode::kDataLoss, words, [&] { Read(With({"boxes", "labels", "height"})); });
    try {
      Read(With({"boxes", "labels", "height"}));
    } catch (const Error& error) {
      EXPECT_EQ(error.file(), "memory://VOC2012/Annotations/a.xml");
    }
  }
};

SlotValue Bytes(const std::string& bytes) {
  return SlotOf<uint8_t>({static_cast<int64_t>(bytes.size())},
                         std::vector<uint8_t>(bytes.begin(), bytes.end()), {{0, bytes.size()}});
}

SlotValue Flags(const std::string& flags) {
  return {DataType::kBool, {static_cast<int64_t>(flags.size())}, {{0, flags.size()}}, flags};
}

TEST_F(Voc, HasImagesInTheOrderOfTheListWithTheirObjects) {
  const std::vector<ElementValue> images =
      Read(With({"image", "image_id", "file_name", "height", "width", "boxes", "labels", "area",
                 "difficult", "truncated"}));
  ASSERT_EQ(images.size(), 2u);
  EXPECT_EQ(images[0],
            (ElementValue{Bytes("b"), SlotOf<int64_t>({1}, {0}), Bytes("b.jpg"),
                          SlotOf<int64_t>({1}, {375}), SlotOf<int64_t>({1}, {500}),
                          SlotOf<float>({0, 4}, {}, {{0, 0}}), SlotOf<int64_t>({0}, {}, {{0, 0}}),
                          SlotOf<float>({0}, {}, {{0, 0}}), Flags(""), Flags("")}));
  const float area = 148 * 371.5f;
  EXPECT_EQ(images[1],
            (ElementValue{Bytes("image a"), SlotOf<int64_t>({1}, {1}), Bytes("a.jpg"),
                          SlotOf<int64_t>({1}, {375}), SlotOf<int64_t>({1}, {500}),
                          SlotOf<float>({2, 4}, {47, 0, 195, 371.5f, 47, 0, 195, 371.5f}, {{0, 2}}),
                          SlotOf<int64_t>({2}, {12, 1}, {{0, 2}}),
                          SlotOf<float>({2}, {area, area}, {{0, 2}}), Flags(std::string("\1\0", 2)),
                          Flags(std::string("\0\1", 2))}));
}

TEST_F(Voc, ReadsBoxesClassesAndObjectsAsTheyAreAskedFor) {
  FormatArguments arguments = With({"boxes", "labels"});
  arguments.attributes.Set("box_format", std::string("xywh"));
  arguments.attributes.Set("labels", std::string("index"));
  arguments.attributes.Set("classes", Strings{"dog", "aeroplane"});
  arguments.attributes.Set("skip_difficult", true);
  EXPECT_EQ(Read(arguments)[1], (ElementValue{SlotOf<float>({1, 4}, {47, 0, 148, 371.5f}, {{0, 1}}),
                                              SlotOf<int64_t>({1}, {1}, {{0, 1}})}));
  arguments.attributes.Set("classes", Strings{"dog"});
  ExpectError(ErrorCode::kDataLoss, "object 1 is of the class 'aeroplane', which is none",
              [&] { Read(arguments); });
  arguments.attributes.Set("fields", Strings{"boxes"});  // classes are not looked at
  EXPECT_EQ(Read(arguments).size(), 2u);
  arguments.attributes.Set("classes", Strings{"dog", "dog"});
  ExpectError(ErrorCode::kInvalidArgument, "'dog' stands there twice", [&] { Read(arguments); });
}

TEST_F(Voc, TakesAnAnnotationThatIsCompressed) {
  const std::vector<ElementValue> plain = Read(With({"boxes", "labels"}));
  Write("Annotations/a.xml",
        Gzipped(Annotation(Object("dog", "<difficult>1</difficult>") + Object("aeroplane"))));
  EXPECT_EQ(Read(With({"boxes", "labels"})), plain);
}

TEST_F(Voc, ReadsNoImageThatIsNotWanted) {
  Write("ImageSets/Main/train.txt", "gone\na");
  Write("Annotations/gone.xml", Annotation(""));
  EXPECT_EQ(Read(With({"boxes"})).size(), 2u);
  ExpectError(ErrorCode::kIo, "JPEGImages/gone.jpg", [&] { Read(With({"image"})); });
}

// Masks are files beside the image, of which those are read that are asked for.
TEST_F(Voc, HasMasksOfClassesAndObjects) {
  for (const char* const name : {"a", "b"}) {
    Write(StrCat("SegmentationClass/", name, ".png"), StrCat("classes of ", name));
    Write(StrCat("SegmentationObject/", name, ".png"), StrCat("objects of ", name));
  }
  Write("ImageSets/Segmentation/val.txt", "b\na");
  const auto read = [](const Strings& fields) {
    const auto reader =
        OpenFiles({"voc:memory://VOC2012/ImageSets/Segmentation/val.txt"}, {}, With(fields), {});
    return ReadAll(reader.get());
  };
  EXPECT_EQ(read({"object_mask", "image", "mask", "image_id"}),
            (std::vector<ElementValue>{{Bytes("objects of b"), Bytes("b"), Bytes("classes of b"),
                                        SlotOf<int64_t>({1}, {0})},
                                       {Bytes("objects of a"), Bytes("image a"),
                                        Bytes("classes of a"), SlotOf<int64_t>({1}, {1})}}));
  Write("ImageSets/Segmentation/val.txt", "a\nc");
  Write("Annotations/c.xml", Annotation(""));
  Write("SegmentationObject/c.png", "objects of c");
  EXPECT_EQ(read({"object_mask"}),
            (std::vector<ElementValue>{{Bytes("objects of a")}, {Bytes("objects of c")}}));
  ExpectError(ErrorCode::kIo, "SegmentationClass/c.png", [&] { read({"object_mask", "mask"}); });
  ExpectError(ErrorCode::kIo, "named in image 1 of memory://VOC2012/ImageSets/Segmentation/val.txt",
              [&] { read({"mask"}); });
}

TEST_F(Voc, MayHaveItsListElsewhereAndOtherImages) {
  Write("JPEGImages/a.png", "png");
  MemoryFiles::Get().Write("memory://lists/one.gz", Gzipped("a"));
  FormatArguments arguments = With({"image"});
  arguments.attributes.Set("root", std::string("memory://VOC2012"));
  arguments.attributes.Set("suffix", std::string(".png"));
  EXPECT_EQ(ReadAll(OpenFiles({"voc:memory://lists/one.gz"}, {}, arguments, {}).get()),
            (std::vector<ElementValue>{{Bytes("png")}}));
}

TEST_F(Voc, BelievesNoXml) {
  Refuses("", "XML is not whole: no element found in line 1");
  Refuses("<annotation>\n<object>", "XML is not whole: no element found in line 2");
  Refuses("<html></html>", "its root is not <annotation>");
  Refuses("<annotation></annotation>", "it has no <size>");
  Refuses("<!DOCTYPE a [<!ENTITY x 'y'><!ENTITY z '&x;&x;'>]><annotation>&z;</annotation>",
          "it has a document type");
  Refuses("<annotation>&x;</annotation>", "undefined entity");
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "<a>";
  Refuses(deep, "nested too deeply");
  Refuses(Annotation("\n<object><name>dog</name>\n</object>"), "line 3: object 0 has no <xmin>");
  Refuses(Annotation(StrCat("<object>", kBox, "</object>")), "object 0 has no <name>");
  Refuses(Annotation(Object("wolf")), "object 0 is of the class 'wolf'");
  Refuses(Annotation(Object("dog") + Object("dog", kBox)), "object 1 has two <x");
  Refuses(Annotation(Object("dog", "<difficult>2</difficult>")), "a flag is '2', not 0 or 1");
  for (const char* const number : {"", "x", "1e99", "nan", "inf", "1 2"}) {
    Refuses(Annotation(StrCat("<object><bndbox><xmin>", number, "</xmin></bndbox></object>")),
            "is no number that can be");
  }
  Refuses(Annotation("<object><name>dog</name><bndbox><xmin>9</xmin><xmax>7</xmax><ymin>1</ymin>"
                     "<ymax>2</ymax></bndbox></object>"),
          "the box of object 0 ends before it begins");
  Refuses("<annotation><size><height>0</height></size></annotation>",
          "the side of an image is '0'");
  Refuses("<annotation><size><height>1.5</height></size></annotation>",
          "side of an image is '1.5'");
}

TEST_F(Voc, NamesTheLineOfAList) {
  Write("ImageSets/Main/train.txt", "a\nb -1\n");
  ExpectError(ErrorCode::kDataLoss, "line 2: it is 'b -1', but a line is the name of an image",
              [&] { Read(With({"boxes"})); });
  Write("ImageSets/Main/train.txt", "a\nnone\n");
  ExpectError(ErrorCode::kIo, "Annotations/none.xml", [&] { Read(With({"boxes"})); });
  FormatArguments arguments = With({"boxes"});
  MemoryFiles::Get().Write("memory://train.txt", "a");
  ExpectError(ErrorCode::kInvalidArgument, "a list of VOC lies in ROOT/ImageSets/Main",
              [&] { ReadAll(OpenFiles({"voc:memory://train.txt"}, {}, arguments, {}).get()); });
}

// Any bytes that are cut off or changed give an error or a set.
TEST_F(Voc, SurvivesDamage) {
  const std::string xml = Annotation(Object("dog", "<difficult>1</difficult>"));
  size_t errors = 0;
  for (size_t at = 0; at < xml.size(); ++at) {
    std::string changed = xml;
    changed[at] = static_cast<char>(changed[at] ^ (1 << at % 7));
    for (const std::string& text : {xml.substr(0, at), changed}) {
      Write("Annotations/a.xml", text);
      try {
        Read(With({"boxes", "labels", "height", "difficult"}));
      } catch (const Error& error) {
        ++errors;
        EXPECT_EQ(error.code(), ErrorCode::kDataLoss) << error.what();
        EXPECT_EQ(error.file(), "memory://VOC2012/Annotations/a.xml") << error.what();
      }
    }
  }
  EXPECT_GT(errors, xml.size());
}

}  // namespace
}  // namespace millhopper
