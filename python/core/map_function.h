// SPDX-License-Identifier: Apache-2.0
// Functions of Python that readers call for every element, on the core's threads.
#ifndef MILLHOPPER_PYTHON_CORE_MAP_FUNCTION_H_
#define MILLHOPPER_PYTHON_CORE_MAP_FUNCTION_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/record_id.h"
#include "framework/tensor/tensor.h"
#include "python/core/causes.h"
#include "python/core/kept_object.h"
#include "python/core/values.h"

namespace millhopper {

// A function and what it takes and yields. Programs name it by its number, which means something as
// long as somebody holds the function.
class PythonFunction {
 public:
  using Names = std::vector<std::string>;

  // `inputs` names the slots of what it takes; where they are not known, they are those that
  // `below` yields, if there is one. `form` is what it yields; without slots, they are learned.
  PythonFunction(const pybind11::object& function, std::optional<Names> inputs,
                 std::shared_ptr<const PythonFunction> below, ElementForm form);
  // The one of this number. Throws kInvalidArgument if there is none (any more).
  static std::shared_ptr<PythonFunction> Find(int64_t number);
  static void Register(const std::shared_ptr<PythonFunction>& function);

  int64_t number() const { return number_; }
  // The names of the slots that it yields, if they have any, or that were learned last.
  std::optional<Names> names() const;
  const ElementForm& form() const { return form_; }

  // Replaces *out by what the function makes of `in`, whose values it takes; current_record() tells
  // it the element's name. Any thread, without
  // the interpreter. What the function raises is thrown as an Error with the exception as its
  // cause; kCancelled when the interpreter exits. `reader` says who calls, as for PythonCall.
  void Call(const RecordId& id, std::vector<LoDTensor>* in, const ElementForm& form,
            std::vector<LoDTensor>* out, uint64_t reader) const;
  // Calls it for a first element to see what it yields: dtypes, ranks, levels of detail and names.
  ElementForm Learn(const RecordId& id, std::vector<LoDTensor>* in, uint64_t reader);

  // For LetCollectorSee: what holds the function may be held by it, and by what it raises. Behind
  // Forget, calls are kInvalidArgument.
  int Visit(visitproc visit, void* arg) const;
  void Forget();

 private:
  // With the interpreter, as all that follows.
  pybind11::object Result(std::vector<LoDTensor>* in) const;
  Names InputNames(size_t slots) const;

  const int64_t number_;
  KeptObject function_;          // guarded by the interpreter
  mutable RaisedErrors raised_;  // guarded by the interpreter
  const std::string title_;      // "function 'decode' (/home/me/train.py:12)"
  const std::optional<Names> inputs_;
  const std::shared_ptr<const PythonFunction> below_;
  const ElementForm form_;
  mutable std::mutex mutex_;  // guards learned_
  std::optional<Names> learned_;
};

void DefineFunction(pybind11::module_* module);

}  // namespace millhopper

#endif  // MILLHOPPER_PYTHON_CORE_MAP_FUNCTION_H_
