// SPDX-License-Identifier: Apache-2.0
// A file that is being written to a server: what output_file.h writes through there.
#ifndef MILLHOPPER_FRAMEWORK_IO_UPLOAD_H_
#define MILLHOPPER_FRAMEWORK_IO_UPLOAD_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

namespace millhopper {

// Until Publish has returned, an older file of the name stays. One thread at a time.
class Upload {
 public:
  Upload() = default;
  // Gives up what is not published.
  virtual ~Upload() = default;
  Upload(const Upload&) = delete;
  Upload& operator=(const Upload&) = delete;

  // It may keep the bytes, or send them. All three throw kIo with the path, and as CheckWait
  // (stop.h) while they wait; after that the file cannot be published.
  virtual void Write(const char* bytes, size_t size) = 0;
  // Nothing will be written any more. What can be sent before the file has its name is sent.
  virtual void Finish() {}
  // Sends the rest, and gives the file its name.
  virtual void Publish() = 0;
};

// For servers that take a file as a whole: keeps the bytes in memory until Publish sends them.
class WholeUpload : public Upload {
 public:
  void Write(const char* bytes, size_t size) final { bytes_->append(bytes, size); }
  void Publish() final { Send(std::move(bytes_)); }

 private:
  virtual void Send(std::shared_ptr<const std::string> bytes) = 0;

  std::shared_ptr<std::string> bytes_ = std::make_shared<std::string>();
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_UPLOAD_H_
