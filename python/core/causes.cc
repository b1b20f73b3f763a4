// SPDX-License-Identifier: Apache-2.0
#include "python/core/causes.h"

#include <memory>
#include <utility>

#include "python/core/kept_object.h"

namespace py = pybind11;

namespace millrace {
namespace {

class ExceptionCause final : public ErrorCause {
 public:
  explicit ExceptionCause(const py::object& exception) : exception_(exception) {}
  py::object exception() const { return exception_.get(); }

 private:
  const KeptObject exception_;  // an error may be dropped by any thread
};

std::string OneLine(const py::object& exception) {
  std::string text = py::str(py::type::of(exception).attr("__name__"));
  try {
    const std::string what = py::str(exception);
    if (!what.empty()) text += ": " + what;
  } catch (py::error_already_set&) {  // its own __str__ fails; the class is told
  }
  return text;
}

ErrorCode CodeOf(const py::object& exception) {
  if (py::isinstance(exception, py::handle(PyExc_OSError))) return ErrorCode::kIo;
  if (!py::isinstance(exception, py::module_::import("millrace.errors").attr("Error"))) {
    return ErrorCode::kInvalidArgument;
  }
  const std::string name = py::str(exception.attr("code"));
  for (const ErrorCode code : {ErrorCode::kDataLoss, ErrorCode::kIo, ErrorCode::kResourceLimit,
                               ErrorCode::kPlugin, ErrorCode::kInternal, ErrorCode::kCancelled}) {
    if (name == ToString(code)) return code;
  }
  return ErrorCode::kInvalidArgument;
}

}  // namespace

Error ErrorOfException(const std::string& who, const py::object& exception) {
  return Error(CodeOf(exception), StrCat(who, " has raised ", OneLine(exception)))
      .WithCause(std::make_shared<ExceptionCause>(exception));
}

Error ErrorOfException(const std::string& who, py::error_already_set* raised) {
  const py::object& exception = raised->value();
  if (raised->trace()) PyException_SetTraceback(exception.ptr(), raised->trace().ptr());
  return ErrorOfException(who, exception);
}

py::object ExceptionOf(const Error& error) {
  const auto* const cause = dynamic_cast<const ExceptionCause*>(error.cause().get());
  return cause == nullptr ? py::object(py::none()) : cause->exception();
}

}  // namespace millrace
