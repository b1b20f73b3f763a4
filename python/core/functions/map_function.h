// SPDX-License-Identifier: Apache-2.0
// Python functions that readers call for every element, on the threads of the core.
#ifndef MILLHOPPER_PYTHON_CORE_FUNCTIONS_MAP_FUNCTION_H_
#define MILLHOPPER_PYTHON_CORE_FUNCTIONS_MAP_FUNCTION_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "framework/base/record_id.h"
#include "framework/tensor/tensor.h"
#include "python/core/interpreter/causes.h"
#include "python/core/interpreter/python_ref.h"
#include "python/core/values/values.h"

namespace millhopper {

// A function and what it takes and yields. Programs name it by its number, which is valid while
// some code holds the PythonFunction.
class PythonFunction {
 public:
  using Names = std::vector<std::string>;

  // `inputs` names the slots of its input. Without them, the names are those that `below` yields,
  // if there is one. `form` describes what the function yields; a form without slots is learned
  // from the first element.
  PythonFunction(const pybind11::object& function, std::optional<Names> inputs,
                 std::shared_ptr<const PythonFunction> below, ElementForm form);
  // Returns the function with this number. Throws kInvalidArgument if it does not exist or is gone.
  static std::shared_ptr<PythonFunction> Find(int64_t number);
  static void Register(const std::shared_ptr<PythonFunction>& function);

  int64_t number() const { return number_; }
  // The names of the slots that it yields: the declared ones, or else those learned last.
  std::optional<Names> names() const;
  const ElementForm& form() const { return form_; }

  // Calls the function for `in`, values of `slots` which it takes, and stores the result in *out.
  // current_record() returns `id` meanwhile. Any thread may call this, without the interpreter.
  // What the function raises is thrown as an Error with the exception as its cause; kCancelled is
  // thrown when the interpreter exits. `reader` is the number of the calling reader, as in
  // PythonCall.
  void Call(const RecordId& id, const std::vector<SlotSpec>& slots, std::vector<LoDTensor>* in,
            const ElementForm& form, std::vector<LoDTensor>* out, uint64_t reader) const;
  // Calls the function without arguments, for a reader as above, and gives what it returns to
  // `take`, which has the interpreter.
  void CallFor(uint64_t reader, const std::function<void(const pybind11::object&)>& take) const;
  // Calls the function for a first element to learn the dtypes, ranks, levels of detail and names
  // of what it yields.
  ElementForm Learn(const RecordId& id, const std::vector<SlotSpec>& slots,
                    std::vector<LoDTensor>* in, uint64_t reader);
  // The names of the slots, of a function that tells them in another way.
  void SetNames(const Names& names);

  // For LetCollectorSee: the function, and the exceptions it raises, may refer to the object that
  // holds this one. After Forget, calls throw kInvalidArgument.
  int Visit(visitproc visit, void* arg) const;
  void Forget();

 private:
  // The caller holds the interpreter here and below.
  pybind11::object Result(const std::vector<SlotSpec>& slots, std::vector<LoDTensor>* in) const;
  Names InputNames(size_t slots) const;

  const int64_t number_;
  PythonRef function_;           // guarded by the interpreter
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

#endif  // MILLHOPPER_PYTHON_CORE_FUNCTIONS_MAP_FUNCTION_H_
