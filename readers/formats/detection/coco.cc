// SPDX-License-Identifier: Apache-2.0
// The format `coco`: a JSON file of COCO's form, which lists images and what is in them,
//
//   {"images": [{"id": 1, "file_name": "a.jpg", "height": 480, "width": 640}, ...],
//    "annotations": [{"id": 7, "image_id": 1, "category_id": 18, "bbox": [x, y, width, height],
//                     "area": 120.5, "iscrowd": 0, "segmentation": ...}, ...],
//    "categories": [{"id": 18, "name": "dog"}, ...]}
//
// A segmentation is a list of polygons, [[x, y, x, y ...], ...], or runs of a mask,
// {"size": [height, width], "counts": [..] or a text (run_lengths.h)}. Records are the images in
// the order of their ids, as torchvision's CocoDetection has them, each with its annotations in
// the order of the file. (Source: https://cocodataset.org/#format-data)
//
// The file is read as a whole and its numbers are checked when it is opened; then only they are
// kept, not the text.
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/io/listed_files.h"
#include "framework/reader/file_format.h"
#include "readers/fields/json_text.h"
#include "readers/formats/detection/annotated_files.h"
#include "readers/formats/detection/run_lengths.h"
#include "readers/support/line_ends.h"
#include "readers/support/text_file.h"

namespace millhopper {
namespace {

const std::vector<std::string>& KnownFields() {
  static const auto* const fields = new std::vector<std::string>{
      "image bytes",
      "image_id int64[]",
      "file_name str",
      "height int64[]",
      "width int64[]",
      "boxes float32[-1, 4]",
      "labels int64[-1]",
      "area float32[-1]",
      "iscrowd bool[-1]",
      "ids int64[-1]",
      "polygons float64[-1, -1, -1, 2]",
      "runs uint32[-1, -1]",
      "keypoints float32[-1, -1, 3]",
  };
  return *fields;
}

// What of the file a reader has.
struct CocoRules {
  std::string root;
  bool indices = false;  // labels are places among the sorted categories
  bool skips_empty = false, skips_crowds = false;
  std::vector<AnnotatedFiles::Place> files;  // that are read of each image
  bool boxes = false, labels = false, area = false, ids = false, polygons = false, runs = false,
       key_points = false;
};

class CocoParser {
 public:
  CocoParser(const std::string& path, const CocoRules& rules)
      : path_(path),
        rules_(rules),
        text_(ReadTextFile(path, "file", kMaxRecordBytes)),
        json_(std::string_view(text_).substr(Utf8MarkBytes(text_))),
        listed_(path, rules.root) {}

  std::shared_ptr<AnnotatedFiles> Parse() {
    try {
      FindLists();
      if (categories_ != nullptr)
        ForEach(categories_, "category", [&](auto at) { AddCategory(at); });
      std::sort(categories_by_id_.begin(), categories_by_id_.end());
      const auto twice = std::adjacent_find(categories_by_id_.begin(), categories_by_id_.end());
      if (twice != categories_by_id_.end()) Refuse("two categories have the id ", *twice);
      ForEach(images_, "image", [&](auto at) { AddImage(at); });
      SortImages();
      ForEach(annotations_, "annotation", [&](auto at) { AddAnnotation(at); });
      return Finish();
    } catch (const Error& error) {
      if (!error.file().empty()) throw;
      throw error.InFile(path_, static_cast<int64_t>(json_.OffsetOf(here_)));
    }
  }

 private:
  struct Image {
    bool operator<(const Image& other) const { return id < other.id; }

    int64_t id;
    const char* name;  // the text in the file
    int32_t height, width;
  };

  // ---- Values. ----

  template <typename... Parts>
  [[noreturn]] static void Refuse(const Parts&... parts) {
    Throw(ErrorCode::kDataLoss, parts...);
  }

  // The number of a member; an error names it.
  JsonNumber NumberAt(const char* value, const char* name) const {
    JsonNumber number;
    if (json_.KindOf(value) != JsonKind::kNumber) Refuse("its ", name, " is no number");
    json_.ReadNumber(value, &number);
    return number;
  }

  int64_t IntegerAt(const char* value, const char* name) const {
    const JsonNumber number = NumberAt(value, name);
    if (number.kind != JsonNumber::Kind::kInteger) {
      Refuse("its ", name, " is ", json_.ScalarAt(value), ", which is no integer of 64 bits");
    }
    return number.integer;
  }

  double RealAt(const char* value, const char* name) const {
    const JsonNumber number = NumberAt(value, name);
    switch (number.kind) {
      case JsonNumber::Kind::kInteger:
        return static_cast<double>(number.integer);
      case JsonNumber::Kind::kUnsigned:
        return static_cast<double>(number.unsigned_integer);
      case JsonNumber::Kind::kLarge:
      case JsonNumber::Kind::kReal:
        break;
    }
    if (!std::isfinite(number.real) || std::abs(number.real) > kMostReal) {
      Refuse("its ", name, " has the number ", json_.ScalarAt(value), ", which cannot be");
    }
    return number.real;
  }

  int32_t SideAt(const char* value, const char* name) const {
    const int64_t side = IntegerAt(value, name);
    if (side < 1 || side > INT32_MAX) Refuse("its ", name, " is ", side, ", which cannot be");
    return static_cast<int32_t>(side);
  }

  bool FlagAt(const char* value, const char* name) const {
    if (json_.KindOf(value) == JsonKind::kBool) return json_.BoolAt(value);
    const int64_t flag = IntegerAt(value, name);
    if (flag != 0 && flag != 1) Refuse("its ", name, " is ", flag, ", not 0 or 1");
    return flag == 1;
  }

  // Calls visit(number) for each item of a list of numbers. Returns how many there are.
  template <typename Visit>
  size_t ForEachNumber(const char* value, const char* name, const Visit& visit) const {
    if (!json_.IsArray(value)) Refuse("its ", name, " is no list of numbers");
    size_t n = 0;
    json_.ForEachItem(value, [&](const char* item) {
      visit(RealAt(item, name));
      ++n;
      return json_.Skip(item);
    });
    return n;
  }

  // A text; it is valid until the next call.
  std::string_view TextAt(const char* value, const char* name) {
    if (json_.KindOf(value) != JsonKind::kText) Refuse("its ", name, " is no text");
    const std::string_view written = json_.TextAt(value);
    room_.clear();
    room_.reserve(written.size());
    std::string_view text;
    const char* const problem = DecodeJson(written, &room_, &text);
    if (problem != nullptr) Refuse("its ", name, ": ", problem);
    return text;
  }

  // ---- The parts of the file. ----

  void FindLists() {
    here_ = json_.root();
    if (!json_.IsObject(here_)) Refuse("it is no object of JSON with images and annotations");
    const char* const end =
        json_.ForEachMember(here_, [&](std::string_view key, const char* value) {
          if (key == "images") images_ = value;
          if (key == "annotations") annotations_ = value;
          if (key == "categories") categories_ = value;
          return json_.Skip(value);
        });
    json_.CheckEnd(end);
    if (images_ == nullptr) Refuse("it has no list of images");
    if (annotations_ == nullptr) Refuse("it has no list of annotations");
  }

  // Calls add(item) for each object of a list; errors say which of them is wrong.
  template <typename Add>
  void ForEach(const char* list, const char* what, const Add& add) {
    here_ = list;
    if (!json_.IsArray(list)) Refuse("the value of a list of each ", what, " is no list");
    size_t number = 0;
    json_.ForEachItem(list, [&](const char* item) {
      constexpr size_t kAtOnce = 4096;
      if (number % kAtOnce == 0) CheckStop();
      here_ = item;
      try {
        if (!json_.IsObject(item)) Refuse("it is no object");
        add(item);
      } catch (const Error& error) {
        if (error.interrupts()) throw;
        throw error.WithMessage(
            StrCat(what, " ", number, ", at byte ", json_.OffsetOf(item), ": ", error.message()));
      }
      ++number;
      return json_.Skip(item);
    });
  }

  // Sets *values to the members of these names, null if there is none or it is null.
  template <size_t n>
  void Find(const char* object, const char* const (&names)[n], const char* (&values)[n]) const {
    std::fill_n(values, n, nullptr);
    json_.ForEachMember(object, [&](std::string_view key, const char* value) {
      for (size_t i = 0; i < n; ++i) {
        if (key == names[i]) values[i] = json_.KindOf(value) == JsonKind::kNull ? nullptr : value;
      }
      return json_.Skip(value);
    });
  }

  static const char* Needed(const char* value, const char* name) {
    if (value == nullptr) Refuse("it has no ", name);
    return value;
  }

  void AddCategory(const char* object) {
    const char* values[1];
    Find(object, {"id"}, values);
    categories_by_id_.push_back(IntegerAt(Needed(values[0], "id"), "id"));
  }

  void AddImage(const char* object) {
    const char* values[4];
    Find(object, {"id", "file_name", "height", "width"}, values);
    Image image{};
    image.id = IntegerAt(Needed(values[0], "id"), "id");
    image.name = Needed(values[1], "file_name");
    image.height = SideAt(Needed(values[2], "height"), "height");
    image.width = SideAt(Needed(values[3], "width"), "width");
    const std::string_view name = TextAt(image.name, "file_name");
    if (name.empty() || name.find('\0') != std::string_view::npos) {
      Refuse("its file_name is that of no file");
    }
    found_.push_back(image);
  }

  // Which images are left is known once all annotations were seen, so these name the images by
  // their place among all.
  void SortImages() {
    std::sort(found_.begin(), found_.end());
    const auto twice = std::adjacent_find(
        found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.id == b.id; });
    if (twice == found_.end()) return;
    here_ = (twice + 1)->name;
    Refuse("two images have the id ", twice->id);
  }

  AnnotatedFiles& files() {
    if (files_ == nullptr) {
      files_ =
          std::make_shared<AnnotatedFiles>(LabeledFiles::NamedIn(path_, rules_.root), rules_.files);
    }
    return *files_;
  }

  static constexpr double kMostReal = 1e30;  // within float32

  int64_t LabelAt(const char* value) const {
    const int64_t id = IntegerAt(value, "category_id");
    if (!rules_.indices) return id;
    const auto found = std::lower_bound(categories_by_id_.begin(), categories_by_id_.end(), id);
    if (found == categories_by_id_.end() || *found != id) {
      Refuse("its category_id is ", id, ", which no category has");
    }
    return found - categories_by_id_.begin();
  }

  void AddAnnotation(const char* object) {
    const char* values[8];
    Find(object,
         {"image_id", "id", "category_id", "bbox", "area", "iscrowd", "segmentation", "keypoints"},
         values);
    const auto& [image, id, category, box, area, crowd, segmentation, key_points] = values;
    AnnotatedObject found;
    found.image = ImageOf(IntegerAt(Needed(image, "image_id"), "image_id"));
    found.is_crowd = crowd != nullptr && FlagAt(crowd, "iscrowd");
    if (found.is_crowd && rules_.skips_crowds) return;
    if (rules_.ids) found.id = IntegerAt(Needed(id, "id"), "id");
    if (rules_.labels) found.label = LabelAt(Needed(category, "category_id"));
    if (rules_.boxes || (rules_.area && area == nullptr)) {
      size_t side = 0;
      const size_t n = ForEachNumber(Needed(box, "bbox"), "bbox", [&](double value) {
        if (side < std::size(found.box)) found.box[side++] = value;
      });
      if (n != std::size(found.box)) Refuse("its bbox has ", n, " numbers; a box has 4");
      found.area = found.box[2] * found.box[3];
    }
    if (rules_.area && area != nullptr) found.area = RealAt(area, "area");
    if (segmentation != nullptr) AddSegmentation(segmentation, found_[found.image]);
    if (rules_.key_points && key_points != nullptr) AddKeyPoints(key_points);
    files().AddObject(found);
  }

  uint32_t ImageOf(int64_t id) const {
    const auto found = std::lower_bound(found_.begin(), found_.end(), Image{id, nullptr, 0, 0});
    if (found == found_.end() || found->id != id) {
      Refuse("its image_id is ", id, ", which no image has");
    }
    return static_cast<uint32_t>(found - found_.begin());
  }

  void AddKeyPoints(const char* value) {
    double point[3];
    size_t n = 0;
    ForEachNumber(value, "keypoints", [&](double number) {
      point[n++ % 3] = number;
      if (n % 3 == 0) files().AddKeyPoint(point[0], point[1], point[2]);
    });
    if (n % 3 != 0) Refuse("its keypoints are ", n, " numbers; each has 3");
  }

  void AddSegmentation(const char* value, const Image& image) {
    if (json_.IsArray(value)) {
      if (!rules_.polygons) return;
      json_.ForEachItem(value, [&](const char* polygon) {
        AddPolygon(polygon);
        return json_.Skip(polygon);
      });
    } else if (json_.IsObject(value)) {
      if (rules_.runs) AddRuns(value, image);
    } else {
      Refuse("its segmentation is neither a list of polygons nor runs of a mask");
    }
  }

  void AddPolygon(const char* polygon) {
    constexpr size_t kFewest = 6;
    double x = 0;
    size_t n = 0;
    if (!json_.IsArray(polygon)) {
      Refuse("a polygon of its segmentation is no list of numbers; it is [[x, y, x, y ...], ...]");
    }
    ForEachNumber(polygon, "segmentation", [&](double number) {
      if (n++ % 2 == 0) {
        x = number;
      } else {
        files().AddPoint(x, number);
      }
    });
    if (n % 2 != 0 || n < kFewest) {
      Refuse("a polygon of its segmentation has ", n,
             " numbers; it has x and y of three points at least (a reader that excludes the field "
             "polygons does not read it)");
    }
    files().EndPolygon();
  }

  void AddRuns(const char* object, const Image& image) {
    const char* values[2];
    Find(object, {"size", "counts"}, values);
    std::vector<double> size;
    ForEachNumber(Needed(values[0], "size"), "size of the segmentation", [&](double side) {
      if (size.size() < 3) size.push_back(side);
    });
    if (size !=
        std::vector<double>{static_cast<double>(image.height), static_cast<double>(image.width)}) {
      Refuse("the size of its segmentation is not the height and width of the image, ",
             image.height, " and ", image.width);
    }
    const char* const counts = Needed(values[1], "counts");
    lengths_.clear();
    if (json_.KindOf(counts) == JsonKind::kText) {
      const char* const problem = ReadRunLengths(TextAt(counts, "counts"), &lengths_);
      if (problem != nullptr) Refuse("the counts of its segmentation: ", problem);
    } else {
      if (!json_.IsArray(counts)) Refuse("the counts of its segmentation are no list, nor a text");
      json_.ForEachItem(counts, [&](const char* item) {
        const int64_t length = IntegerAt(item, "counts");
        if (length < 0 || length > INT32_MAX) Refuse("a run of its segmentation has ", length);
        lengths_.push_back(length);
        return json_.Skip(item);
      });
    }
    int64_t pixels = 0;
    for (const int64_t length : lengths_) {
      pixels += length;  // at most 2^31 of 31 bits
      files().AddRun(static_cast<uint32_t>(length));
    }
    if (pixels != int64_t{image.height} * image.width) {
      Refuse("the runs of its segmentation have ", pixels, " pixels; the image has ",
             int64_t{image.height} * image.width);
    }
  }

  std::shared_ptr<AnnotatedFiles> Finish() {
    const std::vector<bool> has_objects = files().ImagesWithObjects(found_.size());
    std::vector<uint32_t> numbers(found_.size());
    std::string path;
    uint32_t kept = 0;
    for (size_t i = 0; i < found_.size(); ++i) {
      const Image& image = found_[i];
      if (rules_.skips_empty && !has_objects[i]) continue;
      numbers[i] = kept++;
      here_ = image.name;
      const std::string_view name = TextAt(image.name, "file_name");
      files().AddImage(name, {image.id, image.height, image.width});
      files().GetPath(files().size() - 1, &path);
      if (!listed_.Allows(name, path)) {
        Throw(ErrorCode::kInvalidArgument, "image ", image.id, " is in the file '",
              Escaped(std::string(name)),
              "', which is no file on a server: ", ListedFiles::Advice());
      }
    }
    files().Finish(numbers, XXH3_64bits(text_.data(), text_.size()));
    return files_;
  }

  const std::string path_;
  const CocoRules& rules_;
  const Text text_;
  const JsonText json_;
  const ListedFiles listed_;
  const char* images_ = nullptr;
  const char* annotations_ = nullptr;
  const char* categories_ = nullptr;
  const char* here_ = nullptr;  // what is read
  PooledVector<Image> found_;   // sorted by their ids, once all are there
  std::vector<int64_t> categories_by_id_;
  std::shared_ptr<AnnotatedFiles> files_;
  std::vector<int64_t> lengths_;  // of the runs of an annotation
  std::string room_;              // of TextAt
};

class CocoFormat final : public AnnotatedFilesFormat {
 public:
  explicit CocoFormat(const FormatArguments& arguments)
      : AnnotatedFilesFormat(arguments, KnownFields(), Boxes::kSize) {
    const AttributeMap& attributes = arguments.attributes;
    rules_.root = attributes.Get<std::string>("images");
    rules_.indices = attributes.Get<std::string>("labels") == "index";
    rules_.skips_empty = attributes.Get<bool>("skip_empty");
    rules_.skips_crowds = attributes.Get<bool>("skip_crowds");
    rules_.files = Read({}, {}, {});
    rules_.boxes = Wants("boxes");
    rules_.labels = Wants("labels");
    rules_.area = Wants("area");
    rules_.ids = Wants("ids");
    rules_.polygons = Wants("polygons");
    rules_.runs = Wants("runs");
    rules_.key_points = Wants("keypoints");
  }

 private:
  std::shared_ptr<AnnotatedFiles> Parse(const std::string& path) const override {
    return CocoParser(path, rules_).Parse();
  }

  CocoRules rules_;
};

FittingFields Fields(const std::string&, const AttributeMap&) { return {KnownFields(), {}}; }

FormatSchema Schema() {
  FormatSchema schema(
      "COCO's JSON of images and their annotations: images in the order of their ids, with boxes, "
      "labels, outlines; plain, gzip, zstd, lz4, bzip2, xz");
  return std::move(
      schema
          .Attr(FieldsAttribute(
              "image (the bytes of its file), image_id, file_name, height, width, and of its "
              "annotations boxes, labels (their categories), area (that of the box where there is "
              "none), iscrowd, ids, polygons (annotations, their polygons, their points x and y), "
              "runs (annotations and the runs of their masks, off and on by turns, column after "
              "column) and keypoints (annotations and their x, y and visibility)"))
          .Attr({"images", "",
                 "the folder that the images lie in; without it, the folder of the file"})
          .Attr(BoxFormatAttribute())
          .Attr(AttributeSchema("labels", std::string("id"),
                                "what labels are: the ids of categories, as they stand in the file "
                                "(id), or the places of these among all, sorted, from 0 on (index)")
                    .OneOf({"id", "index"}))
          .Attr({"skip_empty", false, "whether images without annotations are left out"})
          .Attr({"skip_crowds", false, "whether annotations with iscrowd 1 are left out"})
          .InferFields(&Fields)
          .NamesFilesAnywhere());
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<CocoFormat>(arguments);
}

REGISTER_FILE_FORMAT(coco, Schema, Make);

}  // namespace
}  // namespace millhopper
