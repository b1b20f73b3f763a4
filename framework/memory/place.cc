// SPDX-License-Identifier: Apache-2.0
#include "framework/memory/place.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "framework/base/error.h"
#include "framework/base/mutex.h"
#include "framework/base/stop.h"

namespace millhopper {
namespace {

struct Devices {
  Mutex mutex;
  std::vector<std::unique_ptr<Device>> all GUARDED_BY(mutex);
  std::vector<std::vector<std::unique_ptr<Device>> (*)()> discoveries GUARDED_BY(mutex);

  void Discover() REQUIRES(mutex) {
    for (auto* discover : discoveries) {
      for (auto& device : discover()) all.push_back(std::move(device));
    }
    discoveries.clear();
  }
};

Devices& AllDevices() {
  static auto* devices = new Devices;
  return *devices;
}

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

void DeviceEvent::Wait() {
  constexpr std::chrono::milliseconds kStopCheck{10};
  while (!WaitFor(kStopCheck)) CheckWait();
}

Place Place::Parse(const std::string& text) {
  const std::string name = Lower(text);
  if (name == "cpu") return Place();
  std::string known = "cpu";
  Devices& devices = AllDevices();
  const MutexLock lock(&devices.mutex);
  devices.Discover();
  for (const auto& device : devices.all) {
    if (Lower(device->name()) == name) return Place(device.get());
    known += ", " + device->name();
  }
  Throw(ErrorCode::kInvalidArgument, "no place '", Escaped(text), "'; there are: ", known,
        name.rfind("cuda", 0) == 0 ? " (CUDA devices need a build with --config=cuda and a GPU)"
                                   : "");
}

Device* RegisterDevice(std::unique_ptr<Device> device) {
  Devices& devices = AllDevices();
  const MutexLock lock(&devices.mutex);
  devices.all.push_back(std::move(device));
  return devices.all.back().get();
}

bool RegisterDeviceDiscovery(std::vector<std::unique_ptr<Device>> (*discover)()) {
  Devices& devices = AllDevices();
  const MutexLock lock(&devices.mutex);
  devices.discoveries.push_back(discover);
  return true;
}

std::vector<std::string> DeviceNames() {
  Devices& devices = AllDevices();
  const MutexLock lock(&devices.mutex);
  devices.Discover();
  std::vector<std::string> names;
  for (const auto& device : devices.all) names.push_back(device->name());
  return names;
}

}  // namespace millhopper
