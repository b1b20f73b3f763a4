// SPDX-License-Identifier: Apache-2.0
// Variables, which hold values of any type under a name, and scopes, which hold variables.
#ifndef MILLHOPPER_FRAMEWORK_PROGRAM_SCOPE_H_
#define MILLHOPPER_FRAMEWORK_PROGRAM_SCOPE_H_

#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <typeinfo>
#include <vector>

#include "framework/base/error.h"
#include "framework/tensor/tensor.h"

namespace millhopper {

// A named value of any type: mostly a LoDTensor, which is a member, else a ReaderHolder, a list of
// tensors, or a type of a plugin. Not thread-safe. Those of a scope can be shared by code that
// reads one beyond the life of the scope.
class Variable : public std::enable_shared_from_this<Variable> {
 public:
  explicit Variable(std::string name) : name_(std::move(name)) {}
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  const std::string& name() const { return name_; }
  bool has_value() const { return holds_tensor_ || type_ != nullptr; }
  // The type of the value, as a person would write it in this namespace. There must be a value.
  std::string TypeName() const;

  template <typename T>
  bool Holds() const {
    if constexpr (std::is_same_v<T, LoDTensor>) {
      return holds_tensor_;
    } else {
      return type_ != nullptr && *type_ == typeid(T);
    }
  }
  // Throws kInvalidArgument if the variable has no value yet, or one of another type.
  template <typename T>
  const T& Get() const {
    if (__builtin_expect(!Holds<T>(), 0)) ThrowNotHeld(typeid(T));
    if constexpr (std::is_same_v<T, LoDTensor>) {
      return tensor_;
    } else {
      return *static_cast<const T*>(other_.get());
    }
  }
  // The value to write to. A value of another type is replaced by a default-constructed T. A tensor
  // keeps the memory that it had.
  template <typename T>
  T* GetMutable() {
    if constexpr (std::is_same_v<T, LoDTensor>) {
      if (type_ != nullptr) Drop();
      holds_tensor_ = true;
      return &tensor_;
    } else {
      if (!Holds<T>()) {
        Drop();
        other_ = std::make_shared<T>();
        type_ = &typeid(T);
      }
      return static_cast<T*>(other_.get());
    }
  }
  // Removes the value. A tensor's memory is kept for the next value, so that the steps of a loop
  // need not allocate.
  void Reset() {
    holds_tensor_ = false;
    if (type_ != nullptr) Drop();
  }
  // Removes the value and frees its memory.
  void Clear() {
    Reset();
    tensor_.Clear();
  }

 private:
  friend class OpContext;  // which keeps the addresses of tensors for operators in loops
  void Drop();
  [[noreturn]] void ThrowNotHeld(const std::type_info& wanted) const;

  const std::string name_;
  bool holds_tensor_ = false;
  LoDTensor tensor_;
  std::shared_ptr<void> other_;
  const std::type_info* type_ = nullptr;  // the type of other_; null if there is none
};

// Variables by name. Find looks in the parent for names that are not here. The address of a
// Variable stays valid as long as its scope. Not thread-safe.
class Scope {
 public:
  explicit Scope(Scope* parent = nullptr) : parent_(parent) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The variable of this scope itself; creates it if there is none.
  Variable* Var(const std::string& name);
  // The variable of this scope or of the nearest parent that has it; null if none has.
  Variable* Find(const std::string& name) const;
  Variable* FindLocal(const std::string& name) const;
  // The names of the variables of this scope itself, sorted.
  std::vector<std::string> LocalNames() const;
  // Resets all variables of this scope itself.
  void ResetVariables();
  Scope* parent() const { return parent_; }
  // The outermost scope, where persistable variables live.
  Scope* root() { return parent_ == nullptr ? this : parent_->root(); }

 private:
  Scope* const parent_;
  std::map<std::string, std::shared_ptr<Variable>> variables_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_FRAMEWORK_PROGRAM_SCOPE_H_
