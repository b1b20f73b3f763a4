// SPDX-License-Identifier: Apache-2.0
// What the registries of operators and formats have in common: a name can be registered once, and
// the registrations of a plugin can be taken back.
#ifndef MILLHOPPER_FRAMEWORK_BASE_REGISTRATION_H_
#define MILLHOPPER_FRAMEWORK_BASE_REGISTRATION_H_

#include <functional>
#include <string>
#include <vector>

namespace millhopper {

// Watches what is registered while it exists: one at a time, on the thread that loads a plugin.
// Unless Keep is called, the destructor takes everything back.
class RegistrationWatch {
 public:
  RegistrationWatch();
  ~RegistrationWatch();
  RegistrationWatch(const RegistrationWatch&) = delete;
  RegistrationWatch& operator=(const RegistrationWatch&) = delete;

  void Keep() { undo_.clear(); }
  // What was refused because its name was taken: "operator 'read'".
  const std::vector<std::string>& refused() const { return refused_; }

 private:
  friend void NoteRegistration(std::function<void()> undo);
  friend void RefuseRegistration(const std::string& what);

  std::vector<std::function<void()>> undo_;
  std::vector<std::string> refused_;
};

// For registries: something was registered, and how to take it back.
void NoteRegistration(std::function<void()> undo);
// For registries: the name of `what` is taken. Notes it in the active watch. Without a watch, which
// means before main, an exception could not be caught, so the process ends with a message.
void RefuseRegistration(const std::string& what);

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_BASE_REGISTRATION_H_
