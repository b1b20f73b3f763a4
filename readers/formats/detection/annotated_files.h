// SPDX-License-Identifier: Apache-2.0
// Images with objects in them, which sets such as COCO and VOC describe: boxes, labels, outlines.
// A record is an image with all of its objects, cut into the fields that the reader asks for.
#ifndef MILLHOPPER_READERS_FORMATS_DETECTION_ANNOTATED_FILES_H_
#define MILLHOPPER_READERS_FORMATS_DETECTION_ANNOTATED_FILES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "framework/base/mutex.h"
#include "framework/memory/buffer.h"
#include "readers/fields/fields.h"
#include "readers/formats/images/labeled_files.h"

namespace millhopper {

class FieldRows;

// An object in an image, as it is stored.
struct AnnotatedObject {
  int64_t id = 0;
  int64_t label = 0;
  double box[4] = {};  // left, top, and right and bottom, or width and height: as the set has them
  double area = 0;
  // Where in the tables of all objects its own parts begin, and how many it has.
  uint64_t first_polygon = 0, first_point = 0, first_run = 0, first_key_point = 0;
  uint32_t polygons = 0, points = 0, runs = 0, key_points = 0;
  uint32_t image = 0;
  bool is_crowd = false, is_difficult = false, is_truncated = false;
};

// Images in order with their objects. There may be millions.
class AnnotatedFiles final : public LabeledFiles {
 public:
  // A file that belongs to each image: the image itself, or one in another folder (`base`), which
  // is called as the image is, but for the end of its name.
  struct Place {
    std::string base, end;  // "": the image
  };
  // How many of them a record may have.
  static constexpr size_t kMostFiles = 3;
  // `read` are the files that a reader has, and not only what is said of the images; the names of
  // these end with `image_end`, and after paths that are made of other ends stands `query`.
  AnnotatedFiles(LabeledFiles names, std::vector<Place> read, std::string image_end = "",
                 std::string query = "")
      : LabeledFiles(std::move(names)),
        read_(std::move(read)),
        image_end_(std::move(image_end)),
        query_(std::move(query)) {}

  struct Image {
    int64_t id = 0;
    int32_t height = 0, width = 0;
  };
  // Adds an image that lies in this file. Throws what LabeledFiles::Add throws.
  void AddImage(std::string_view name, const Image& image);
  // The parts of the object that is added next: its polygons one after another, each of whose
  // points is x and y; the lengths of the runs of its mask, off and on by turns, column after
  // column; its key points, each x, y and visibility.
  void AddPoint(double x, double y);
  void EndPolygon();
  void AddRun(uint32_t length) { runs_.push_back(length); }
  void AddKeyPoint(double x, double y, double visibility);
  // Adds an object, whose image may be added later (Finish).
  void AddObject(AnnotatedObject object);
  // Which of the numbers below `images` are those of images with objects.
  std::vector<bool> ImagesWithObjects(size_t images) const;
  // Sorts objects by their images. Call it once, after all were added: images[i] is the image that
  // objects call i. `fingerprint` changes with anything in the set.
  void Finish(const std::vector<uint32_t>& images, uint64_t fingerprint);

  size_t objects_of(size_t image) const;

  size_t files_each() const override { return read_.size(); }
  void GetPathOf(size_t i, size_t which, std::string* path) const override;
  void SetNeeded() override;
  std::string NamedBy(size_t i) const override;
  size_t BytesBefore(size_t i) const override;
  void WriteBefore(size_t i, const uint64_t* sizes, char* out) const override;
  uint64_t Fingerprint() const override { return fingerprint_; }

 private:
  const AnnotatedObject& object(size_t place) const { return objects_[order_[place]]; }
  size_t first_object(size_t image) const { return image == 0 ? 0 : ends_[image - 1]; }
  // How much the parts of an image's objects are.
  AnnotatedObject TotalOf(size_t image) const;

  const std::vector<Place> read_;
  const std::string image_end_, query_;
  PooledVector<Image> images_;
  PooledVector<AnnotatedObject> objects_;  // as they were added
  PooledVector<uint32_t> order_;           // of objects: by their images
  PooledVector<uint32_t> ends_;            // in order_, of each image
  PooledVector<uint32_t> polygon_points_;  // how many each polygon has
  PooledVector<double> points_, key_points_;
  PooledVector<uint32_t> runs_;
  // Where the parts of the object that is added next begin.
  AnnotatedObject next_;
  uint32_t points_ended_ = 0;  // its points that belong to whole polygons
  uint64_t fingerprint_ = 0;
};

// A format whose records are such images.
class AnnotatedFilesFormat : public LabeledFilesFormat {
 public:
  // What the four numbers of a box are.
  enum class Boxes { kCorners, kSize };

  // `known` are the fields that the format has, as entries. Throws kInvalidArgument for another
  // field.
  AnnotatedFilesFormat(const FormatArguments& arguments, const std::vector<std::string>& known,
                       Boxes stored);

  void Load(const Ticket* tickets, size_t n, Rows* rows) const override;

 protected:
  // Whether a field of this name is read.
  bool Wants(std::string_view name) const;
  // The files that fields are, in the order in which AnnotatedFiles reads them: those of the fields
  // image, mask and object_mask that are read, of the places that these three have.
  std::vector<AnnotatedFiles::Place> Read(const AnnotatedFiles::Place& image,
                                          const AnnotatedFiles::Place& mask,
                                          const AnnotatedFiles::Place& object_mask) const;

 private:
  // A file that is the same as before is not read again: that takes seconds.
  std::shared_ptr<LabeledFiles> FilesOf(const std::string& path) const final;
  // The images that this file describes.
  virtual std::shared_ptr<AnnotatedFiles> Parse(const std::string& path) const = 0;

  struct Known {
    uint64_t version;
    std::shared_ptr<AnnotatedFiles> files;
  };
  enum class Part {
    kImage,
    kImageId,
    kFileName,
    kHeight,
    kWidth,
    kBoxes,
    kLabels,
    kArea,
    kCrowd,
    kIds,
    kPolygons,
    kRuns,
    kKeyPoints,
    kDifficult,
    kTruncated,
    kMask,
    kObjectMask,
  };
  struct Record;

  AnnotatedFilesFormat(const FormatArguments& arguments, const std::vector<std::string>& known,
                       Boxes stored, std::vector<Field> fields);
  static Part PartNamed(std::string_view name);
  // The bytes of the file of a field, which is the image or a mask.
  std::string_view FileOf(const Record& record, Part part) const;
  void LoadSlot(const Record& record, size_t slot, FieldRows* rows) const;
  void LoadBoxes(const Record& record, size_t slot, FieldRows* rows) const;

  const std::vector<Field> fields_;
  std::vector<Part> parts_;  // of each field
  const Boxes stored_, given_;
  mutable Mutex mutex_;
  mutable std::map<std::string, Known> known_ GUARDED_BY(mutex_);
};

// The attribute `box_format` that such formats have.
AttributeSchema BoxFormatAttribute();

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_FORMATS_DETECTION_ANNOTATED_FILES_H_
