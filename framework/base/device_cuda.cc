// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs as devices. The only file that knows CUDA; built with --config=cuda.
#include <cuda_runtime_api.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/place.h"

namespace millhopper {
namespace {

void CheckCuda(cudaError_t result, const char* call) {
  if (result == cudaSuccess) return;
  Throw(result == cudaErrorMemoryAllocation ? ErrorCode::kResourceLimit : ErrorCode::kIo, call,
        ": ", cudaGetErrorString(result));
}

// Makes a device current for a scope: CUDA's functions mean the calling thread's device.
class CurrentDevice {
 public:
  explicit CurrentDevice(int index) {
    CheckCuda(cudaGetDevice(&before_), "cudaGetDevice");
    CheckCuda(cudaSetDevice(index), "cudaSetDevice");
  }
  ~CurrentDevice() { cudaSetDevice(before_); }

 private:
  int before_ = 0;
};

class CudaEvent final : public DeviceEvent {
 public:
  // Behind what the stream has been given so far.
  explicit CudaEvent(cudaStream_t stream) {
    CheckCuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
    const cudaError_t result = cudaEventRecord(event_, stream);
    if (result != cudaSuccess) cudaEventDestroy(event_);
    CheckCuda(result, "cudaEventRecord");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  bool Done() override { return cudaEventQuery(event_) != cudaErrorNotReady; }
  void Wait() override { CheckCuda(cudaEventSynchronize(event_), "a copy to the device"); }

 private:
  cudaEvent_t event_ = nullptr;
};

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index) : index_(index), name_("cuda:" + std::to_string(index)) {}

  const std::string& name() const override { return name_; }

  void* Allocate(size_t bytes) override {
    const CurrentDevice current(index_);
    void* memory = nullptr;
    CheckCuda(cudaMalloc(&memory, bytes), "cudaMalloc");
    return memory;
  }
  void Free(void* memory) noexcept override { cudaFree(memory); }

  void* AllocateHost(size_t bytes) override {
    const CurrentDevice current(index_);
    void* memory = nullptr;
    CheckCuda(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable), "cudaHostAlloc");
    return memory;
  }
  void FreeHost(void* memory) noexcept override { cudaFreeHost(memory); }

  std::shared_ptr<DeviceEvent> CopyFromHost(void* device, const void* host, size_t bytes) override {
    const CurrentDevice current(index_);
    CheckCuda(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()),
              "cudaMemcpyAsync to the device");
    return std::make_shared<CudaEvent>(stream());
  }
  void CopyToHost(void* host, const void* device, size_t bytes) override {
    const CurrentDevice current(index_);
    CheckCuda(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost),
              "cudaMemcpy from the device");
  }

 private:
  // A stream of our own, which does not wait for the default one: copies run beside computation.
  // Made late, so that looking at a device does not occupy memory on it.
  cudaStream_t stream() {
    std::call_once(made_, [this] {
      CheckCuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreate");
    });
    return stream_;
  }

  const int index_;
  const std::string name_;
  std::once_flag made_;
  cudaStream_t stream_ = nullptr;
};

std::vector<std::unique_ptr<Device>> Discover() {
  std::vector<std::unique_ptr<Device>> devices;
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) count = 0;  // no driver, no GPU
  for (int i = 0; i < count; ++i) devices.push_back(std::make_unique<CudaDevice>(i));
  return devices;
}

[[maybe_unused]] const bool registered = RegisterDeviceDiscovery(Discover);

}  // namespace
}  // namespace millhopper
