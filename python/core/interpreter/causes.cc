// SPDX-License-Identifier: Apache-2.0
#include "python/core/interpreter/causes.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "python/core/interpreter/imports.h"
#include "python/core/interpreter/interrupt.h"
#include "python/core/interpreter/python_ref.h"
#include "python/core/interpreter/text.h"

namespace py = pybind11;

namespace millhopper {
namespace {

class ExceptionCause final : public ErrorCause {
 public:
  explicit ExceptionCause(const py::object& exception) : exception_(exception) {}
  // None if it was forgotten.
  py::object exception() const {
    const py::object exception = exception_.get();
    return exception ? exception : py::object(py::none());
  }
  int Visit(visitproc visit, void* arg) const { return exception_.Visit(visit, arg); }
  void Forget() const { exception_.Clear(); }

 private:
  mutable PythonRef exception_;  // an error may be dropped by any thread
};

const ExceptionCause* From(const std::shared_ptr<const ErrorCause>& cause) {
  return dynamic_cast<const ExceptionCause*>(cause.get());
}

std::string OneLine(const py::object& exception) {
  std::string text = Py_TYPE(exception.ptr())->tp_name;
  try {
    const std::string what = FromText(exception);
    if (!what.empty()) text += ": " + what;
  } catch (py::error_already_set&) {  // its own __str__ fails, so the class must do
  }
  return text;
}

ErrorCode CodeOf(const py::object& exception) {
  if (py::isinstance(exception, py::handle(PyExc_OSError))) return ErrorCode::kIo;
  if (!py::isinstance(exception, Imported().error)) {
    return ErrorCode::kInvalidArgument;
  }
  const std::string name = FromText(exception.attr("code"));
  for (const ErrorCode code : {ErrorCode::kDataLoss, ErrorCode::kIo, ErrorCode::kResourceLimit,
                               ErrorCode::kPlugin, ErrorCode::kInternal, ErrorCode::kCancelled}) {
    if (name == ToString(code)) return code;
  }
  return ErrorCode::kInvalidArgument;
}

}  // namespace

Error ErrorOfException(const std::string& who, const py::object& exception) {
  ErrorCode code = ErrorCode::kInvalidArgument;
  try {
    code = CodeOf(exception);
  } catch (py::error_already_set&) {  // its class defines `code`, and reading it fails
  }
  return Error(code, StrCat(who, " has raised ", OneLine(exception)))
      .WithCause(std::make_shared<ExceptionCause>(exception));
}

Error ErrorOfException(const std::string& who, py::error_already_set* raised) {
  if (IsInterruptOfWork(*raised)) return Error(ErrorCode::kCancelled, "stopped on request");
  const py::object& exception = raised->value();
  if (raised->trace()) PyException_SetTraceback(exception.ptr(), raised->trace().ptr());
  return ErrorOfException(who, exception);
}

py::object ExceptionOf(const Error& error) {
  const ExceptionCause* const cause = From(error.cause());
  return cause == nullptr ? py::object(py::none()) : cause->exception();
}

Error RaisedErrors::Keep(const Error& error) {
  const auto gone = [](const auto& cause) { return cause.expired(); };
  causes_.erase(std::remove_if(causes_.begin(), causes_.end(), gone), causes_.end());
  if (From(error.cause()) != nullptr) causes_.push_back(error.cause());
  return error;
}

int RaisedErrors::Visit(visitproc visit, void* arg) const {
  for (const auto& cause : causes_) {
    const std::shared_ptr<const ErrorCause> kept = cause.lock();
    if (kept == nullptr) continue;
    if (const int status = From(kept)->Visit(visit, arg)) return status;
  }
  return 0;
}

void RaisedErrors::Forget() {
  for (const auto& cause : std::exchange(causes_, {})) {
    if (const std::shared_ptr<const ErrorCause> kept = cause.lock()) From(kept)->Forget();
  }
}

}  // namespace millhopper
