// SPDX-License-Identifier: Apache-2.0
// The format `image_folder`: a folder with a folder for each class, read as torchvision's
// ImageFolder does (torchvision/datasets/folder.py), with the same classes and the same order of
// images. A record is an image as the bytes of its file, and the index of its class: the place of
// the class's folder among the sorted names. The images of a class lie in its folder and in all
// folders below it, sorted by the path of their folder and then by name; links are followed.
//
// Other than of torchvision, hidden folders (hidden_names.h) are no classes and lie in none, and
// files that macOS leaves beside images, ._name, are no images. Where torchvision passes over a
// folder that cannot be listed, and follows links back to a folder above until the system stops it,
// there is an error.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/limits.h"
#include "framework/base/stop.h"
#include "framework/base/url.h"
#include "framework/io/file_system.h"
#include "readers/formats/images/labeled_files.h"
#include "readers/support/hidden_names.h"

namespace millhopper {
namespace {

constexpr const char* kExtensions[] = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                       ".pgm", ".tif",  ".tiff", ".webp"};

bool IsImage(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return std::any_of(std::begin(kExtensions), std::end(kExtensions), [&](const std::string& end) {
    return lower.size() >= end.size() &&
           lower.compare(lower.size() - end.size(), end.size(), end) == 0;
  });
}

// Folders and images of a folder that are data, by their sorted names.
struct Content {
  std::vector<std::string> folders, images;
};

// The folder of all classes, which may be a URL with a query.
class Root {
 public:
  explicit Root(const std::string& path) : path_(path), folder_(WithoutQuery(path)) {
    query_ = path.substr(folder_.size());
    if (folder_.back() != '/') folder_ += '/';
  }

  const std::string& path() const { return path_; }
  const std::string& folder() const { return folder_; }  // with a slash at its end
  const std::string& query() const { return query_; }
  // Of a folder or an image in it.
  std::string PathOf(const std::string& name) const { return folder_ + name + query_; }

 private:
  std::string path_, folder_, query_;
};

// Of a folder in the folder of all classes, or, if `name` is "", of this.
Content ContentOf(const Root& root, const std::string& name) {
  const std::string folder = name.empty() ? root.path() : root.PathOf(name);
  Content content;
  for (FolderEntry& entry : FileSystemOf(folder).ListFolder(folder)) {
    if (IsLeftByMacOs(entry.name)) continue;
    if (entry.kind == FileStatus::Kind::kUnknown) {
      throw Error(ErrorCode::kIo,
                  "cannot tell whether it is a file or a folder (a symbolic link "
                  "to a folder above it?)")
          .InFile(root.PathOf(name.empty() ? entry.name : StrCat(name, "/", entry.name)), -1);
    }
    if (entry.kind == FileStatus::Kind::kDirectory) {
      if (IsHiddenFolder(entry.name)) continue;
      content.folders.push_back(std::move(entry.name));
    } else if (IsImage(entry.name)) {
      content.images.push_back(std::move(entry.name));
    }
  }
  std::sort(content.folders.begin(), content.folders.end());
  std::sort(content.images.begin(), content.images.end());
  return content;
}

// A folder of a class with its images; its path is relative to the folder of all classes.
struct ImagesOfFolder {
  std::string path;
  std::vector<std::string> images;
};

// Adds a folder and all below it that have images.
void Walk(const Root& root, const std::string& path, int depth,
          std::vector<ImagesOfFolder>* found) {
  CheckStop();
  if (depth > kMaxFolderDepth) {
    throw Error(ErrorCode::kResourceLimit,
                StrCat("more than ", kMaxFolderDepth, " folders lie within each other here (a ",
                       "symbolic link to a folder above it?)"))
        .InFile(root.PathOf(path), -1);
  }
  Content content = ContentOf(root, path);
  if (!content.images.empty()) found->push_back({path, std::move(content.images)});
  for (const std::string& name : content.folders) {
    Walk(root, StrCat(path, "/", name), depth + 1, found);
  }
}

class ImageFolderFormat final : public LabeledFilesFormat {
 public:
  using LabeledFilesFormat::LabeledFilesFormat;

 private:
  std::shared_ptr<LabeledFiles> FilesOf(const std::string& path) const override {
    const Root root(path);
    auto files = std::make_shared<LabeledFiles>(path, root.folder(), root.query());
    const std::vector<std::string> classes = ContentOf(root, "").folders;
    if (classes.empty()) {
      throw Error(ErrorCode::kDataLoss,
                  "the folder has no folders; each class of images needs its own folder")
          .InFile(path, 0);
    }
    std::vector<std::string> empty;
    for (size_t label = 0; label < classes.size(); ++label) {
      std::vector<ImagesOfFolder> folders;
      Walk(root, classes[label], 1, &folders);
      if (folders.empty()) empty.push_back(classes[label]);
      std::sort(folders.begin(), folders.end(),
                [](const auto& a, const auto& b) { return a.path < b.path; });
      for (const ImagesOfFolder& folder : folders) {
        for (const std::string& image : folder.images) {
          files->Add(folder.path + "/" + image, static_cast<int64_t>(label));
        }
      }
    }
    CheckNoneIsEmpty(path, empty);
    return files;
  }

  static void CheckNoneIsEmpty(const std::string& path, const std::vector<std::string>& empty) {
    constexpr size_t kMostListed = 20;
    if (empty.empty()) return;
    std::string names;
    for (size_t i = 0; i < std::min(empty.size(), kMostListed); ++i) {
      names += StrCat(i == 0 ? "'" : ", '", Escaped(empty[i]), "'");
    }
    if (empty.size() > kMostListed) names += StrCat(" and ", empty.size() - kMostListed, " more");
    std::string extensions;
    for (const char* extension : kExtensions) extensions += StrCat(" ", extension);
    throw Error(ErrorCode::kDataLoss,
                StrCat("no image lies in the class folders ", names,
                       "; remove them, or add images (", extensions.substr(1), ")"))
        .InFile(path, 0);
  }
};

FormatSchema Schema() {
  return FormatSchema(
             "a folder of images with a folder for each class, as torchvision's ImageFolder, but "
             "without hidden folders: the bytes of an image and the index of its class, int64 [1]; "
             "[1, 1] if that is declared")
      .Folders()
      .SlotNames({"image", "label"});
}

std::unique_ptr<FileFormat> Make(const FormatArguments& arguments) {
  return std::make_unique<ImageFolderFormat>(arguments);
}

REGISTER_FILE_FORMAT(image_folder, Schema, Make);

}  // namespace
}  // namespace millhopper
