// SPDX-License-Identifier: Apache-2.0
#include "readers/formats/detection/annotated_files.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

#include "framework/base/error.h"
#include "framework/io/file_system.h"
#include "framework/reader/prefetched.h"
#include "readers/fields/field_rows.h"
#include "readers/support/stored_number.h"

namespace millhopper {
namespace {

// What stands before the bytes of an image in its ticket: this, its objects, the numbers of points
// of their polygons, these points, runs and key points, and the name of the file. Each of them
// begins at a multiple of 8 bytes.
struct Head {
  uint64_t bytes = 0;  // of all that stands before the files
  uint64_t sizes[AnnotatedFiles::kMostFiles] = {};
  uint32_t objects = 0, polygons = 0, points = 0, runs = 0, key_points = 0, name = 0;
  AnnotatedFiles::Image image;
};

constexpr size_t Whole(size_t bytes) { return (bytes + 7) / 8 * 8; }

size_t BytesOf(const Head& head) {
  return sizeof(Head) + head.objects * sizeof(AnnotatedObject) +
         Whole(head.polygons * sizeof(uint32_t)) + size_t{head.points} * 2 * sizeof(double) +
         Whole(head.runs * sizeof(uint32_t)) + size_t{head.key_points} * 3 * sizeof(double) +
         Whole(head.name);
}

// Writes one thing after another.
class Output {
 public:
  explicit Output(char* out) : out_(out) {}

  template <typename T>
  void Write(const T* values, size_t n) {
    if (n > 0) std::memcpy(out_, values, n * sizeof(T));
    out_ += n * sizeof(T);
  }
  // Goes to a multiple of 8 bytes after what was written since the last call.
  void End(size_t bytes) { out_ += Whole(bytes) - bytes; }

 private:
  char* out_;
};

}  // namespace

void AnnotatedFiles::AddImage(std::string_view name, const Image& image) {
  Add(name, 0);
  MakeRoom(1, &images_);
  images_.push_back(image);
}

void AnnotatedFiles::GetPathOf(size_t i, size_t which, std::string* path) const {
  if (read_[which].base.empty()) return GetPath(i, path);
  const std::string_view image = name(i);
  path->assign(read_[which].base).append(image.substr(0, image.size() - image_end_.size()));
  path->append(read_[which].end).append(query_);
}

void AnnotatedFiles::AddPoint(double x, double y) {
  MakeRoom(2, &points_);
  points_.push_back(x);
  points_.push_back(y);
  ++next_.points;
}

void AnnotatedFiles::EndPolygon() {
  MakeRoom(1, &polygon_points_);
  polygon_points_.push_back(next_.points - points_ended_);
  points_ended_ = next_.points;
  ++next_.polygons;
}

void AnnotatedFiles::AddKeyPoint(double x, double y, double visibility) {
  MakeRoom(3, &key_points_);
  for (const double value : {x, y, visibility}) key_points_.push_back(value);
  ++next_.key_points;
}

void AnnotatedFiles::AddObject(AnnotatedObject object) {
  next_.runs = static_cast<uint32_t>(runs_.size() - next_.first_run);
  const AnnotatedObject& parts = next_;
  object.first_polygon = parts.first_polygon, object.polygons = parts.polygons;
  object.first_point = parts.first_point, object.points = parts.points;
  object.first_run = parts.first_run, object.runs = parts.runs;
  object.first_key_point = parts.first_key_point, object.key_points = parts.key_points;
  MakeRoom(1, &objects_);
  objects_.push_back(object);
  next_ = AnnotatedObject();
  points_ended_ = 0;
  next_.first_polygon = polygon_points_.size();
  next_.first_point = points_.size() / 2;
  next_.first_run = runs_.size();
  next_.first_key_point = key_points_.size() / 3;
}

std::vector<bool> AnnotatedFiles::ImagesWithObjects(size_t images) const {
  std::vector<bool> have(images, false);
  for (const AnnotatedObject& object : objects_) have[object.image] = true;
  return have;
}

void AnnotatedFiles::Finish(const std::vector<uint32_t>& images, uint64_t fingerprint) {
  fingerprint_ = fingerprint;
  for (AnnotatedObject& object : objects_) object.image = images[object.image];
  // Sorted by counting, which keeps the order of the objects of an image.
  ends_.assign(images_.size() + 1, 0);
  for (const AnnotatedObject& object : objects_) ++ends_[object.image + 1];
  for (size_t i = 1; i < ends_.size(); ++i) ends_[i] += ends_[i - 1];
  order_.resize(objects_.size());
  for (size_t i = 0; i < objects_.size(); ++i) {
    order_[ends_[objects_[i].image]++] = static_cast<uint32_t>(i);
  }
  ends_.pop_back();  // each is now the end of its image
}

size_t AnnotatedFiles::objects_of(size_t image) const { return ends_[image] - first_object(image); }

AnnotatedObject AnnotatedFiles::TotalOf(size_t image) const {
  AnnotatedObject total;
  for (size_t i = first_object(image); i < ends_[image]; ++i) {
    total.polygons += object(i).polygons;
    total.points += object(i).points;
    total.runs += object(i).runs;
    total.key_points += object(i).key_points;
  }
  return total;
}

void AnnotatedFiles::SetNeeded() {
  LabeledFiles::SetNeeded();
  const auto set = [](auto& table) {
    if (!table.empty()) SetTableNeeded(table.data());
  };
  set(images_), set(objects_), set(order_), set(ends_), set(polygon_points_);
  set(points_), set(key_points_), set(runs_);
}

std::string AnnotatedFiles::NamedBy(size_t i) const {
  return StrCat("image ", images_[i].id, " of ", Escaped(source()));
}

namespace {

Head HeadFor(const AnnotatedFiles::Image& image, size_t objects, const AnnotatedObject& total,
             std::string_view name) {
  Head head;
  head.image = image;
  head.objects = static_cast<uint32_t>(objects);
  head.polygons = total.polygons;
  head.points = total.points;
  head.runs = total.runs;
  head.key_points = total.key_points;
  head.name = static_cast<uint32_t>(name.size());
  head.bytes = BytesOf(head);
  return head;
}

}  // namespace

size_t AnnotatedFiles::BytesBefore(size_t i) const {
  return HeadFor(images_[i], objects_of(i), TotalOf(i), name(i)).bytes;
}

void AnnotatedFiles::WriteBefore(size_t i, const uint64_t* sizes, char* out) const {
  Head head = HeadFor(images_[i], objects_of(i), TotalOf(i), name(i));
  std::copy_n(sizes, files_each(), std::begin(head.sizes));
  const size_t begin = first_object(i), end = ends_[i];
  Output place(out);
  place.Write(&head, 1);
  for (size_t at = begin; at < end; ++at) place.Write(&object(at), 1);
  for (size_t at = begin; at < end; ++at) {
    place.Write(polygon_points_.data() + object(at).first_polygon, object(at).polygons);
  }
  place.End(head.polygons * sizeof(uint32_t));
  for (size_t at = begin; at < end; ++at) {
    place.Write(points_.data() + 2 * object(at).first_point, size_t{2} * object(at).points);
  }
  for (size_t at = begin; at < end; ++at) {
    place.Write(runs_.data() + object(at).first_run, object(at).runs);
  }
  place.End(head.runs * sizeof(uint32_t));
  for (size_t at = begin; at < end; ++at) {
    place.Write(key_points_.data() + 3 * object(at).first_key_point,
                size_t{3} * object(at).key_points);
  }
  place.Write(name(i).data(), name(i).size());
}

namespace {

// Values in a ticket, which may lie anywhere in memory.
template <typename T>
struct StoredValues {
  T operator[](size_t i) const { return StoredNumber<T>(bytes + i * sizeof(T)); }
  void Take(const char** here, size_t n) {
    bytes = *here;
    *here += Whole(n * sizeof(T));
  }

  const char* bytes = nullptr;
};

}  // namespace

// What a ticket has.
struct AnnotatedFilesFormat::Record {
  explicit Record(const Ticket& ticket) {
    const char* here = ticket.bytes;
    std::memcpy(&head, here, sizeof(head));
    here += sizeof(head);
    objects.Take(&here, head.objects);
    polygon_points.Take(&here, head.polygons);
    points.Take(&here, size_t{2} * head.points);
    runs.Take(&here, head.runs);
    key_points.Take(&here, size_t{3} * head.key_points);
    name = {here, head.name};
    const char* file = ticket.bytes + head.bytes;
    for (size_t which = 0; which < AnnotatedFiles::kMostFiles; ++which) {
      files[which] = {file, head.sizes[which]};
      file += head.sizes[which];
    }
  }

  Head head;
  StoredValues<AnnotatedObject> objects;
  StoredValues<uint32_t> polygon_points;
  StoredValues<double> points;
  StoredValues<uint32_t> runs;
  StoredValues<double> key_points;
  std::string_view name, files[AnnotatedFiles::kMostFiles];
};

AnnotatedFilesFormat::AnnotatedFilesFormat(const FormatArguments& arguments,
                                           const std::vector<std::string>& known, Boxes stored)
    : AnnotatedFilesFormat(arguments, known, stored,
                           RequiredFields(arguments.attributes, Lists::kOfLists)) {}

AnnotatedFilesFormat::AnnotatedFilesFormat(const FormatArguments& arguments,
                                           const std::vector<std::string>& known, Boxes stored,
                                           std::vector<Field> fields)
    : LabeledFilesFormat(arguments, SlotsOf(fields)),
      fields_(std::move(fields)),
      stored_(stored),
      given_(arguments.attributes.Get<std::string>("box_format") == "xyxy" ? Boxes::kCorners
                                                                           : Boxes::kSize) {
  const std::vector<Field> all = ParseFields(known, Lists::kOfLists);
  for (const Field& field : fields_) {
    const std::string where = StrCat("field '", Escaped(field.name), "': ");
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Field& one) { return one.name == field.name; });
    if (found == all.end()) {
      std::vector<std::string> names;
      names.reserve(all.size());
      for (const Field& one : all) names.push_back(one.name);
      Require(false, where, "an image has only ", Listed(names));
    }
    Require(found->slot.lod_level == field.slot.lod_level && found->bytes == field.bytes &&
                found->slot.dims == field.slot.dims,
            where, "its type is that of the entry \"",
            known[static_cast<size_t>(found - all.begin())], "\", or another type of numbers");
    Require(field.missing == Field::Missing::kError && !field.names_things() &&
                field.decode == Field::Decode::kNone,
            where, "a record has it always, and not as text");
    RefuseCellOptions(field);
    parts_.push_back(PartNamed(field.name));
  }
}

AnnotatedFilesFormat::Part AnnotatedFilesFormat::PartNamed(std::string_view name) {
  constexpr struct {
    const char* name;
    Part part;
  } kParts[] = {{"image", Part::kImage},           {"image_id", Part::kImageId},
                {"file_name", Part::kFileName},    {"height", Part::kHeight},
                {"width", Part::kWidth},           {"boxes", Part::kBoxes},
                {"labels", Part::kLabels},         {"area", Part::kArea},
                {"iscrowd", Part::kCrowd},         {"ids", Part::kIds},
                {"polygons", Part::kPolygons},     {"runs", Part::kRuns},
                {"keypoints", Part::kKeyPoints},   {"difficult", Part::kDifficult},
                {"truncated", Part::kTruncated},   {"mask", Part::kMask},
                {"object_mask", Part::kObjectMask}};
  return std::find_if(std::begin(kParts), std::end(kParts),
                      [&](const auto& one) { return one.name == name; })
      ->part;
}

std::shared_ptr<LabeledFiles> AnnotatedFilesFormat::FilesOf(const std::string& path) const {
  const uint64_t version = FileSystemOf(path).Stat(path).version;
  {
    const MutexLock lock(&mutex_);
    const auto known = known_.find(path);
    if (known != known_.end() && version != 0 && known->second.version == version) {
      return known->second.files;
    }
  }
  std::shared_ptr<AnnotatedFiles> files = Parse(path);
  const MutexLock lock(&mutex_);
  known_[path] = {version, files};
  return files;
}

bool AnnotatedFilesFormat::Wants(std::string_view name) const {
  return std::any_of(fields_.begin(), fields_.end(),
                     [&](const Field& field) { return field.name == name; });
}

std::vector<AnnotatedFiles::Place> AnnotatedFilesFormat::Read(
    const AnnotatedFiles::Place& image, const AnnotatedFiles::Place& mask,
    const AnnotatedFiles::Place& object_mask) const {
  std::vector<AnnotatedFiles::Place> read;
  if (Wants("image")) read.push_back(image);
  if (Wants("mask")) read.push_back(mask);
  if (Wants("object_mask")) read.push_back(object_mask);
  return read;
}

std::string_view AnnotatedFilesFormat::FileOf(const Record& record, Part part) const {
  size_t which = 0;
  if (part != Part::kImage && Wants("image")) ++which;
  if (part == Part::kObjectMask && Wants("mask")) ++which;
  return NotEmpty(record.files[which]);
}

void AnnotatedFilesFormat::Load(const Ticket* tickets, size_t n, Rows* rows) const {
  FieldRows field_rows(fields_, n, rows);
  for (const Ticket& ticket : Prefetched(tickets, n)) {
    const Record record(ticket);
    for (size_t slot = 0; slot < fields_.size(); ++slot) {
      ForField(fields_[slot], [&] { LoadSlot(record, slot, &field_rows); });
    }
  }
}

void AnnotatedFilesFormat::LoadBoxes(const Record& record, size_t slot, FieldRows* rows) const {
  const Field& field = fields_[slot];
  char* place = rows->Take(slot, size_t{4} * record.head.objects);
  for (uint32_t i = 0; i < record.head.objects; ++i) {
    double box[4];
    std::copy_n(record.objects[i].box, 4, std::begin(box));
    for (size_t side = 0; side < 2 && stored_ != given_; ++side) {
      const double sign = given_ == Boxes::kCorners ? 1 : -1;
      double& value = box[2 + side];
      // As frameworks do that have boxes of float32, which round before they add.
      value = field.slot.dtype == DataType::kFp32
                  ? static_cast<float>(value) + static_cast<float>(sign * box[side])
                  : value + sign * box[side];
    }
    for (const double value : box) {
      field.Write(value, place);
      place += field.value_bytes();
    }
  }
}

void AnnotatedFilesFormat::LoadSlot(const Record& record, size_t slot, FieldRows* rows) const {
  const Field& field = fields_[slot];
  const Head& head = record.head;
  // A value of the image, and of each of its objects.
  const auto write_one = [&](int64_t value) { field.Write(value, rows->Take(slot, 1)); };
  const auto write_each = [&](auto value_of) {
    char* place = rows->Take(slot, head.objects);
    for (uint32_t i = 0; i < head.objects; ++i, place += field.value_bytes()) {
      field.Write(value_of(record.objects[i]), place);
    }
  };
  const auto write_all = [&](const auto& values, size_t n, char* place) {
    for (size_t i = 0; i < n; ++i, place += field.value_bytes()) {
      if constexpr (std::is_same_v<decltype(values[i]), double>) {
        field.Write(values[i], place);
      } else {
        field.Write(static_cast<int64_t>(values[i]), place);
      }
    }
  };
  // How many of something each object has.
  const auto level_of = [&](auto count_of) {
    std::vector<uint64_t> level(1, 0);
    for (uint32_t i = 0; i < head.objects; ++i) {
      level.push_back(level.back() + count_of(record.objects[i]));
    }
    return level;
  };
  const std::vector<uint64_t> all{0, head.objects};
  switch (parts_[slot]) {
    case Part::kImage:
    case Part::kMask:
    case Part::kObjectMask:
      return rows->AppendBytes(slot, FileOf(record, parts_[slot]));
    case Part::kFileName:
      return rows->AppendBytes(slot, record.name);
    case Part::kImageId:
      return write_one(head.image.id);
    case Part::kHeight:
      return write_one(head.image.height);
    case Part::kWidth:
      return write_one(head.image.width);
    case Part::kBoxes:
      return LoadBoxes(record, slot, rows);
    case Part::kLabels:
      return write_each([](const auto& object) { return object.label; });
    case Part::kArea:
      return write_each([](const auto& object) { return object.area; });
    case Part::kIds:
      return write_each([](const auto& object) { return object.id; });
    case Part::kCrowd:
      return write_each([](const auto& object) { return int64_t{object.is_crowd}; });
    case Part::kDifficult:
      return write_each([](const auto& object) { return int64_t{object.is_difficult}; });
    case Part::kTruncated:
      return write_each([](const auto& object) { return int64_t{object.is_truncated}; });
    case Part::kPolygons: {
      std::vector<uint64_t> points(1, 0);
      for (uint32_t i = 0; i < head.polygons; ++i) {
        points.push_back(points.back() + record.polygon_points[i]);
      }
      return write_all(
          record.points, size_t{2} * head.points,
          rows->TakeNested(
              slot, {all, level_of([](const auto& object) { return object.polygons; }), points}));
    }
    case Part::kRuns:
      return write_all(
          record.runs, head.runs,
          rows->TakeNested(slot, {all, level_of([](const auto& object) { return object.runs; })}));
    case Part::kKeyPoints:
      return write_all(
          record.key_points, size_t{3} * head.key_points,
          rows->TakeNested(slot,
                           {all, level_of([](const auto& object) { return object.key_points; })}));
  }
}

AttributeSchema BoxFormatAttribute() {
  return AttributeSchema("box_format", std::string("xyxy"),
                         "what the four numbers of a box are: xyxy: its left, top, right and "
                         "bottom, as operators on boxes and torchvision's models take it; xywh: "
                         "left, top, width and height. In pixels from the upper left corner")
      .OneOf({"xyxy", "xywh"});
}

}  // namespace millhopper
