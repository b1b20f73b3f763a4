// SPDX-License-Identifier: Apache-2.0
// The watch over registrations that are made while a plugin is loaded.
#include "framework/base/registration.h"

#include <glog/logging.h>

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace millhopper {
namespace {

RegistrationWatch* active_watch = nullptr;

}  // namespace

RegistrationWatch::RegistrationWatch() {
  CHECK(active_watch == nullptr) << "plugins are loaded one at a time";
  active_watch = this;
}

RegistrationWatch::~RegistrationWatch() {
  active_watch = nullptr;
  for (auto undo = undo_.rbegin(); undo != undo_.rend(); ++undo) (*undo)();
}

void NoteRegistration(std::function<void()> undo) {
  if (active_watch != nullptr) active_watch->undo_.push_back(std::move(undo));
}

void RefuseRegistration(const std::string& what) {
  if (active_watch != nullptr) {
    active_watch->refused_.push_back(what);
    return;
  }
  std::fprintf(stderr, "%s is registered twice\n", what.c_str());
  std::abort();
}

}  // namespace millhopper
