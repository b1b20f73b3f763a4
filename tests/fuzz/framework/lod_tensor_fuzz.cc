// SPDX-License-Identifier: Apache-2.0
// Fuzzes serialised tensors. A tensor that can be read must be the same after it is written and
// read again.
#include <cstring>
#include <string>

#include "framework/tensor/tensor_stream.h"
#include "tests/fuzz/target.h"

namespace millhopper {
namespace {

LoDTensor TensorOf(const TensorView& view) {
  LoDTensor tensor;
  tensor.Allocate(view.dtype, view.dims);
  if (view.value_bytes > 0) {
    std::memcpy(tensor.mutable_raw_data(), view.values, view.value_bytes);
  }
  Lod lod(view.levels);
  for (size_t i = 0; i < view.levels; ++i) {
    for (size_t k = 0; k < view.lod[i].count; ++k) lod[i].push_back(view.lod[i][k]);
  }
  tensor.set_lod(lod);
  return tensor;
}

std::string Serialised(const TensorView& view) {
  std::string bytes;
  AppendTensor(TensorOf(view), &bytes);
  return bytes;
}

void Parse(const char* bytes, size_t size) {
  const TensorView view = ParseTensor(bytes, size);
  CHECK_LE(view.size, size);
  CHECK_LE(view.value_bytes, size);
  const std::string written = Serialised(view);
  const TensorView again = ParseTensor(written.data(), written.size());
  CHECK_EQ(again.size, written.size());
  CHECK(again.dtype == view.dtype);
  CHECK(again.dims == view.dims);
  CHECK(Serialised(again) == written);
}

}  // namespace
}  // namespace millhopper

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto* bytes = reinterpret_cast<const char*>(data);
  millhopper::Outcome([=] { millhopper::Parse(bytes, size); });
  return 0;
}
