// SPDX-License-Identifier: Apache-2.0
// A descriptor that is closed where its owner ends.
#ifndef MILLHOPPER_FRAMEWORK_IO_OWN_DESCRIPTOR_H_
#define MILLHOPPER_FRAMEWORK_IO_OWN_DESCRIPTOR_H_

#include <unistd.h>

namespace millhopper {

class OwnDescriptor {
 public:
  // Takes what ::open has returned, which is negative if it has failed.
  explicit OwnDescriptor(int descriptor) : descriptor_(descriptor) {}
  ~OwnDescriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  OwnDescriptor(const OwnDescriptor&) = delete;
  OwnDescriptor& operator=(const OwnDescriptor&) = delete;

  int get() const { return descriptor_; }
  bool is_open() const { return descriptor_ >= 0; }

 private:
  const int descriptor_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_OWN_DESCRIPTOR_H_
