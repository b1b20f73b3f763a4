// SPDX-License-Identifier: Apache-2.0
// The format `voc`: a set of images of Pascal VOC's form. The file is the list of an image set,
// ImageSets/Main/train.txt, with the name of an image in each line; beside the folder ImageSets
// lie JPEGImages/NAME.jpg, for images of ImageSets/Segmentation the masks
// SegmentationClass/NAME.png and SegmentationObject/NAME.png, and Annotations/NAME.xml,
//
//   <annotation>
//     <size> <width>500</width> <height>375</height> </size>
//     <object>
//       <name>dog</name> <truncated>0</truncated> <difficult>0</difficult>
//       <bndbox> <xmin>48</xmin> <ymin>240</ymin> <xmax>195</xmax> <ymax>371</ymax> </bndbox>
//     </object> ...
//   </annotation>
//
// Records are the images in the order of the list, each with its objects in the order of its file.
// A box of VOC names its first and its last pixel, the first of an image being 1. Those of records
// are from the left edge of the first to the right edge of the last, the edge of an image being 0:
// xmin - 1, ymin - 1, xmax, ymax, whose width is the number of pixels. (Source: the development
// kit of VOC2012, http://host.robots.ox.ac.uk/pascal/VOC/voc2012/devkit_doc.pdf)
//
// All annotations are read and checked when the list is opened; then only their numbers are kept.
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/base/thread_pool.h"
#include "framework/base/url.h"
#include "framework/io/file_system.h"
#include "framework/io/listed_files.h"
#include "framework/io/xml/xml.h"
#include "framework/reader/file_format.h"
#include "readers/formats/detection/annotated_files.h"
#include "readers/support/line_ends.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

constexpr uint64_t kMostXmlBytes = uint64_t{16} << 20;
constexpr size_t kReadAtOnce = 16;  // annotations
constexpr size_t kSides = 4;
constexpr const char* kSideNames[kSides] = {"xmin", "ymin", "xmax", "ymax"};

const std::vector<std::string>& KnownFields() {
  static const auto* const fields = new std::vector<std::string>{
      "image bytes",        "image_id int64[]",     "file_name str",    "height int64[]",
      "width int64[]",      "boxes float32[-1, 4]", "labels int64[-1]", "area float32[-1]",
      "difficult bool[-1]", "truncated bool[-1]",   "mask bytes",       "object_mask bytes",
  };
  return *fields;
}

// In the order of VOC, in which masks number them, too.
const std::vector<std::string>& ClassesOfVoc() {
  static const auto* const classes = new std::vector<std::string>{
      "aeroplane", "bicycle",     "bird",  "boat",        "bottle", "bus",      "car",
      "cat",       "chair",       "cow",   "diningtable", "dog",    "horse",    "motorbike",
      "person",    "pottedplant", "sheep", "sofa",        "train",  "tvmonitor"};
  return *classes;
}

struct VocRules {
  std::string root, suffix;
  std::map<std::string, int64_t, std::less<>> labels;  // of classes
  std::vector<AnnotatedFiles::Place> files;            // that are read of each image
  bool sides = false, is_labeled = false, skips_difficult = false;
};

std::string_view Trimmed(std::string_view text) {
  constexpr char kSpace[] = " \t\r\n";
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

template <typename... Parts>
[[noreturn]] void Refuse(const Parts&... parts) {
  Throw(ErrorCode::kDataLoss, parts...);
}

// What the XML of one image says.
class Annotation {
 public:
  Annotation(const VocRules& rules, uint32_t image, AnnotatedFiles* files)
      : rules_(rules), image_(image), files_(files) {}

  // The height and width, 0 where a reader does not have them.
  std::pair<int32_t, int32_t> Read(std::string_view document) {
    ReadXml(document, "XML", [this](const std::string& path, const std::string& text) {
      Take(path, Trimmed(text));
    });
    if (!ended_) Refuse("it is no annotation of VOC: its root is not <annotation>");
    if (rules_.sides && (height_ == 0 || width_ == 0)) Refuse("it has no <size> of the image");
    return {height_, width_};
  }

 private:
  void Take(const std::string& path, std::string_view text) {
    constexpr std::string_view kObject = "annotation/object", kBox = "annotation/object/bndbox/";
    if (path == "annotation") ended_ = true;
    if (rules_.sides && path == "annotation/size/height") height_ = SideOf(text);
    if (rules_.sides && path == "annotation/size/width") width_ = SideOf(text);
    if (path.compare(0, kObject.size(), kObject) != 0) return;
    if (path.size() == kObject.size()) return AddObject();
    if (path == "annotation/object/name") Set("name", std::string(text), &name_);
    if (path == "annotation/object/difficult") Set("difficult", Flag(text), &difficult_);
    if (path == "annotation/object/truncated") Set("truncated", Flag(text), &truncated_);
    if (path.compare(0, kBox.size(), kBox) != 0) return;
    for (size_t side = 0; side < kSides; ++side) {
      if (path.compare(kBox.size(), std::string::npos, kSideNames[side]) == 0) {
        Set(kSideNames[side], NumberOf(text), &sides_[side]);
      }
    }
  }

  template <typename T>
  void Set(const char* what, T value, std::optional<T>* out) const {
    if (out->has_value()) Refuse("object ", objects_, " has two <", what, ">");
    *out = std::move(value);
  }

  static double NumberOf(std::string_view text) {
    constexpr double kMost = 1e30;  // within float32
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(number) ||
        std::abs(number) > kMost) {
      Refuse("'", Shown(text), "' is no number that can be");
    }
    return number;
  }

  static int32_t SideOf(std::string_view text) {
    const double side = NumberOf(text);
    if (side < 1 || side > INT32_MAX || side != std::floor(side)) {
      Refuse("the side of an image is '", Shown(text), "'");
    }
    return static_cast<int32_t>(side);
  }

  static bool Flag(std::string_view text) {
    if (text != "0" && text != "1") Refuse("a flag is '", Shown(text), "', not 0 or 1");
    return text == "1";
  }

  void AddObject() {
    AnnotatedObject object;
    object.image = image_;
    object.is_difficult = difficult_.value_or(false);
    object.is_truncated = truncated_.value_or(false);
    for (size_t side = 0; side < kSides; ++side) {
      if (!sides_[side]) Refuse("object ", objects_, " has no <", kSideNames[side], ">");
      object.box[side] = *sides_[side] - (side < 2 ? 1 : 0);
    }
    const double width = object.box[2] - object.box[0], height = object.box[3] - object.box[1];
    if (width < 0 || height < 0) Refuse("the box of object ", objects_, " ends before it begins");
    object.area = width * height;
    if (!name_) Refuse("object ", objects_, " has no <name>");
    if (rules_.is_labeled) {
      const auto label = rules_.labels.find(*name_);
      if (label == rules_.labels.end()) {
        Refuse("object ", objects_, " is of the class '", Shown(*name_),
               "', which is none of `classes`");
      }
      object.label = label->second;
    }
    if (!object.is_difficult || !rules_.skips_difficult) files_->AddObject(object);
    ++objects_;
    name_.reset(), difficult_.reset(), truncated_.reset();
    for (std::optional<double>& side : sides_) side.reset();
  }

  const VocRules& rules_;
  const uint32_t image_;
  AnnotatedFiles* const files_;
  size_t objects_ = 0;  // that have ended
  int32_t height_ = 0, width_ = 0;
  bool ended_ = false;
  // Of the object that is read.
  std::optional<std::string> name_;
  std::optional<bool> difficult_, truncated_;
  std::optional<double> sides_[kSides];
};

// The same files, of which those that are no images lie in the folder.
std::vector<AnnotatedFiles::Place> FilesWithin(const std::string& root,
                                               std::vector<AnnotatedFiles::Place> files) {
  for (AnnotatedFiles::Place& file : files) {
    if (!file.base.empty()) file.base = StrCat(root, "/", file.base);
  }
  return files;
}

// The folder that ImageSets lies in.
std::string RootOf(const std::string& list, const std::string& root) {
  if (!root.empty()) return std::string(WithoutQuery(root));
  constexpr std::string_view kSets = "ImageSets";
  std::string_view folder = WithoutQuery(list);
  for (int i = 0; i < 2; ++i) folder = folder.substr(0, std::min(folder.rfind('/'), folder.size()));
  const size_t rest = folder.size() - std::min(folder.size(), kSets.size());
  Require(folder.substr(rest) == kSets && (rest == 0 || folder[rest - 1] == '/'), Escaped(list),
          ": a list of VOC lies in ROOT/ImageSets/Main; name the folder otherwise (root)");
  return rest == 0 ? "." : std::string(folder.substr(0, rest - 1));
}

class VocParser {
 public:
  VocParser(const std::string& path, const VocRules& rules)
      : path_(path),
        rules_(rules),
        root_(RootOf(path, rules.root)),
        query_((rules.root.empty() ? path : rules.root)
                   .substr(WithoutQuery(rules.root.empty() ? path : rules.root).size())),
        listed_(path, rules.root),
        files_(std::make_shared<AnnotatedFiles>(LabeledFiles(path, root_ + "/JPEGImages/", query_),
                                                FilesWithin(root_, rules.files), rules.suffix,
                                                query_)) {}

  std::shared_ptr<AnnotatedFiles> Parse() {
    const Text text = ReadTextFile(path_, "list", kMaxRecordBytes);
    const char* here = text.data() + Utf8MarkBytes(text);
    const char* const end = text.data() + text.size();
    LineEnds ends(here, end, LoneCr::kEndsLine);
    hash_ = XXH3_64bits(text.data(), text.size());
    std::vector<Line> lines;
    for (uint64_t number = 1; here < end; ++number) {
      const LineEnds::Line found = ends.From(here, true);
      const std::string_view name = Trimmed({here, static_cast<size_t>(found.end - here)});
      if (!name.empty()) lines.push_back({number, here - text.data(), std::string(name)});
      here = found.next;
      if (lines.size() == kReadAtOnce || here >= end) AddAll(&lines);
    }
    std::vector<uint32_t> numbers(files_->size());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<uint32_t>(i);
    files_->Finish(numbers, hash_);
    return files_;
  }

 private:
  // A line of the list, and the annotation that it names.
  struct Line {
    uint64_t number;
    int64_t offset;  // in the list
    std::string name, path = {};
    std::optional<Text> xml = {};
    std::exception_ptr error = nullptr;  // that there is instead
  };

  // Adds lines whose annotations are read at once: each costs a way to the disk or the server.
  void AddAll(std::vector<Line>* lines) {
    CheckStop();
    ParallelFor(lines->size(), [&](size_t i) { Read(&(*lines)[i]); });
    for (const Line& line : *lines) {
      try {
        Add(line);
      } catch (const Error& error) {
        if (!error.file().empty() || error.interrupts()) throw;
        throw error.WithMessage(StrCat("line ", line.number, ": ", error.message()))
            .InFile(path_, line.offset);
      }
    }
    lines->clear();
  }

  void Read(Line* line) const {
    try {
      const std::string& name = line->name;
      if (name.find_first_of(std::string_view("\0 \t", 3)) != std::string_view::npos) {
        Refuse("it is '", Shown(name),
               "', but a line is the name of an image alone; lists of one class, such as "
               "dog_train.txt, are not read");
      }
      line->path = StrCat(root_, "/Annotations/", name, ".xml", query_);
      if (!listed_.Allows(name, line->path)) {
        Throw(ErrorCode::kInvalidArgument, "it names '", Shown(name),
              "', which is no file on a server: ", ListedFiles::Advice());
      }
      line->xml.emplace(ReadTextFile(line->path, "annotation", kMostXmlBytes));
    } catch (...) {
      line->error = std::current_exception();
    }
  }

  void Add(const Line& line) {
    if (line.error != nullptr) std::rethrow_exception(line.error);
    const auto image = static_cast<uint32_t>(files_->size());
    const std::string_view xml = *line.xml;
    hash_ = XXH3_64bits_withSeed(xml.data(), xml.size(), hash_);
    try {
      const auto [height, width] = Annotation(rules_, image, files_.get()).Read(xml);
      files_->AddImage(StrCat(line.name, rules_.suffix), {image, height, width});
    } catch (const Error& error) {
      if (!error.file().empty() || error.interrupts()) throw;
      throw error.InFile(line.path, -1);
    }
  }

  const std::string& path_;
  const VocRules& rules_;
  const std::string root_, query_;
  const ListedFiles listed_;
  const std::shared_ptr<AnnotatedFiles> files_;
  uint64_t hash_ = 0;
};

class VocFormat final : public AnnotatedFilesFormat {
 public:
  explicit VocFormat(const FormatArguments& arguments)
      : AnnotatedFilesFormat(arguments, KnownFields(), Boxes::kCorners) {
    const AttributeMap& attributes = arguments.attributes;
    rules_.root = attributes.Get<std::string>("root");
    rules_.suffix = attributes.Get<std::string>("suffix");
    rules_.skips_difficult = attributes.Get<bool>("skip_difficult");
    rules_.files = Read({}, {"SegmentationClass/", ".png"}, {"SegmentationObject/", ".png"});
    rules_.sides = Wants("height") || Wants("width");
    rules_.is_labeled = Wants("labels");
    int64_t label = attributes.Get<std::string>("labels") == "index" ? 0 : 1;
    const auto& given = attributes.Get<std::vector<std::string>>("classes");
    for (const std::string& name : given.empty() ? ClassesOfVoc() : given) {
      Require(rules_.labels.emplace(name, label++).second, "classes: '", Escaped(name),
              "' stands there twice");
    }
  }

 private:
  std::shared_ptr<AnnotatedFiles> Parse(const std::string& path) const override {
    return VocParser(path, rules_).Parse();
  }

  VocRules rules_;
};

FittingFields Fields(const std::string&, const AttributeMap&) { return {KnownFields(), {}}; }

FormatSchema Schema() {
  FormatSchema schema(
      "Pascal VOC's image sets (ImageSets/Main/train.txt): images in the order of the list, with "
      "the boxes and labels of their XML; plain, gzip, zstd, lz4, bzip2, xz");
  return std::move(
      schema
          .Attr(FieldsAttribute(
              "image (the bytes of its file), image_id (its place in the list, from 0), file_name, "
              "height, width, of its objects boxes, labels, area (of the box), difficult and "
              "truncated, and of its masks the bytes of their PNG files: mask (of classes) and "
              "object_mask"))
          .Attr({"root", "",
                 "the folder that JPEGImages and Annotations lie in; without it, the one that "
                 "ImageSets lies in"})
          .Attr({"suffix", ".jpg", "what the names of images end with, after those in the list"})
          .Attr(BoxFormatAttribute())
          .Attr({"classes", std::vector<std::string>{},
                 "the names of the classes in order; without it, VOC's 20"})
          .Attr(AttributeSchema("labels", std::string("id"),
                                "what labels are: the numbers of classes from 1 on, as masks of "
                                "VOC have them (id), or from 0 on (index)")
                    .OneOf({"id", "index"}))
          .Attr({"skip_difficult", false, "whether objects that are difficult are left out"})
          .InferFields(&Fields)
          .NamesFilesAnywhere());
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<VocFormat>(arguments);
}

REGISTER_FILE_FORMAT(voc, Schema, Make);

}  // namespace
}  // namespace millhopper
