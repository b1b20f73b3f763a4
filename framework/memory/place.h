// SPDX-License-Identifier: Apache-2.0
// Where memory is: the host, or a device, which readers and operators know by this interface only.
// Device code is one library that the build selects; a CPU build has none.
#ifndef MILLHOPPER_FRAMEWORK_MEMORY_PLACE_H_
#define MILLHOPPER_FRAMEWORK_MEMORY_PLACE_H_

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace millhopper {

// A point in a device's queue of work. Any thread may wait for it, any number of times; Wait throws
// the error of the work before it.
class DeviceEvent {
 public:
  virtual ~DeviceEvent() = default;
  // True once the work before the event is done (or has failed).
  virtual bool Done() = 0;
  // Waits until Done. Throws what the work failed with, and as CheckWait (stop.h) before it is
  // done.
  void Wait();

 protected:
  // Waits until Done, but no longer than a moment; returns Done. Throws what the work failed with.
  virtual bool WaitFor(std::chrono::milliseconds moment) = 0;
};

// One accelerator with its own memory. Thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  // "cuda:0".
  virtual const std::string& name() const = 0;
  // Throws kResourceLimit if there is no memory left.
  virtual void* Allocate(size_t bytes) = 0;
  virtual void Free(void* memory) noexcept = 0;
  // Host memory that this device copies from without a detour (pinned), at least 64-byte aligned.
  virtual void* AllocateHost(size_t bytes) = 0;
  virtual void FreeHost(void* memory) noexcept = 0;
  // Queues a copy from the host on the device's copy stream and returns the event after it.
  // Neither side may be freed, reused or written before that event is done.
  virtual std::shared_ptr<DeviceEvent> CopyFromHost(void* device, const void* host,
                                                    size_t bytes) = 0;
  // The event after all work that the device has been given so far, by any thread and on any of
  // its queues. That work may still read memory that was handed out there. Throws if the device
  // cannot tell.
  virtual std::shared_ptr<DeviceEvent> EventAfterAll() = 0;
  // Copies back and waits. For printing, fetching and saving.
  virtual void CopyToHost(void* host, const void* device, size_t bytes) = 0;
};

// The host, or one device. Cheap to copy.
class Place {
 public:
  Place() = default;  // the host
  explicit Place(Device* device) : device_(device) {}
  // "CPU" or the name of a registered device such as "CUDA:0", in any case. Throws
  // kInvalidArgument with the names that there are.
  static Place Parse(const std::string& text);

  bool is_cpu() const { return device_ == nullptr; }
  Device* device() const { return device_; }  // null on the host; lives as long as the process
  std::string name() const { return is_cpu() ? "cpu" : device_->name(); }
  bool operator==(const Place& other) const { return device_ == other.device_; }
  bool operator!=(const Place& other) const { return device_ != other.device_; }

 private:
  Device* device_ = nullptr;
};

// Makes a device known by its name(). Takes ownership; the device lives until the process ends.
Device* RegisterDevice(std::unique_ptr<Device> device);
// Has `discover` called once, when a device is first asked for: looking for accelerators takes time
// that a program on the host need not spend. It returns the devices that it found.
bool RegisterDeviceDiscovery(std::vector<std::unique_ptr<Device>> (*discover)());
std::vector<std::string> DeviceNames();

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_MEMORY_PLACE_H_
