// SPDX-License-Identifier: Apache-2.0
// What is read once from a descriptor of the operating system: a FIFO, standard input.
#ifndef MILLHOPPER_FRAMEWORK_IO_DESCRIPTOR_INPUT_H_
#define MILLHOPPER_FRAMEWORK_IO_DESCRIPTOR_INPUT_H_

#include <cstddef>
#include <memory>
#include <string>

#include "framework/io/one_pass.h"

namespace millhopper {

// Ends at the end of the file or, of a FIFO, when the last writer has closed it; it waits for the
// first one. The descriptor's flags stay as they are, because other processes may share it.
class DescriptorInput final : public OnePassInput {
 public:
  // Owns the descriptor.
  explicit DescriptorInput(int descriptor) : descriptor_(descriptor) {}
  ~DescriptorInput() override;

  size_t Read(char* out, size_t size) override;
  bool IsReady(std::chrono::steady_clock::time_point until) override;

 private:
  const int descriptor_;
};

// Throws kIo with the path.
std::unique_ptr<OnePassInput> OpenFifo(const std::string& path);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_IO_DESCRIPTOR_INPUT_H_
