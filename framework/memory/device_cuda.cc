// SPDX-License-Identifier: Apache-2.0
// NVIDIA GPUs as devices. The only file that knows CUDA; built with --config=cuda.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/memory/place.h"

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
  CudaEvent() {
    CheckCuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming), "cudaEventCreate");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  cudaEvent_t get() const { return event_; }
  bool Done() override { return cudaEventQuery(event_) != cudaErrorNotReady; }

 private:
  // Looks again and again: cudaEventSynchronize, which does so as well, could not be left. A copy
  // of a batch takes less than `kBusy`, after which the processor is left to others.
  bool WaitFor(std::chrono::milliseconds moment) override {
    constexpr std::chrono::milliseconds kBusy{2};
    constexpr std::chrono::microseconds kPause{50};
    const auto begin = std::chrono::steady_clock::now();
    for (;;) {
      const cudaError_t result = cudaEventQuery(event_);
      if (result != cudaErrorNotReady) {
        CheckCuda(result, "work of the device");
        return true;
      }
      const auto waited = std::chrono::steady_clock::now() - begin;
      if (waited >= moment) return false;
      if (waited < kBusy) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(kPause);
      }
    }
  }

  cudaEvent_t event_ = nullptr;
};

// The function of the driver, which CUDA's runtime has loaded, that records an event after the
// work of all streams of a context. It came with CUDA 12.5.
class ContextEvents {
 public:
  static bool exist() { return Get().current_ != nullptr && Get().record_ != nullptr; }
  // Records in the calling thread's context.
  static void Record(cudaEvent_t event) {
    void* context = nullptr;
    int result = Get().current_(&context);
    if (result == 0) result = Get().record_(context, event);
    if (result != 0) Throw(ErrorCode::kIo, "cuCtxRecordEvent: error ", result, " of CUDA");
  }

 private:
  static const ContextEvents& Get() {
    static const ContextEvents events;
    return events;
  }
  ContextEvents() {
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (driver == nullptr) return;
    current_ = reinterpret_cast<decltype(current_)>(dlsym(driver, "cuCtxGetCurrent"));
    record_ = reinterpret_cast<decltype(record_)>(dlsym(driver, "cuCtxRecordEvent"));
  }

  int (*current_)(void** context) = nullptr;
  int (*record_)(void* context, cudaEvent_t event) = nullptr;
};

// For older drivers: waits until the whole device is idle. A thread cannot leave that wait.
class IdleDevice final : public DeviceEvent {
 public:
  explicit IdleDevice(int device) : device_(device) {}
  bool Done() override { return done_; }

 private:
  bool WaitFor(std::chrono::milliseconds) override {
    const CurrentDevice current(device_);
    CheckCuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return done_ = true;
  }

  const int device_;
  std::atomic<bool> done_{false};
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
    auto event = std::make_shared<CudaEvent>();
    CheckCuda(cudaEventRecord(event->get(), stream()), "cudaEventRecord");
    return event;
  }
  std::shared_ptr<DeviceEvent> EventAfterAll() override {
    const CurrentDevice current(index_);
    if (!ContextEvents::exist()) return std::make_shared<IdleDevice>(index_);
    auto event = std::make_shared<CudaEvent>();
    ContextEvents::Record(event->get());
    return event;
  }
  void CopyToHost(void* host, const void* device, size_t bytes) override {
    const CurrentDevice current(index_);
    CheckCuda(cudaMemcpy(host, device, bytes, cudaMemcpyDeviceToHost),
              "cudaMemcpy from the device");
  }

 private:
  // Our own stream, which does not wait for the default one: copies run beside computation. Made
  // late, so that looking at a device does not occupy memory on it.
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
