// SPDX-License-Identifier: Apache-2.0
// create_python_arrow_reader reads the rows of a stream of Arrow's that an object of Python makes.
// Only this module has it.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "operators/readers/support/reader_creation.h"
#include "python/core/functions/arrow.h"
#include "python/core/functions/map_function.h"
#include "python/core/interpreter/python_call.h"
#include "readers/arrow/arrow_stream_reader.h"
#include "readers/fields/fields.h"

namespace py = pybind11;

namespace millhopper {
namespace {

OpSchema PythonArrowSchema() {
  return ReaderCreationSchema(
             "Yields the rows of a stream of Arrow's, which an object of Python makes for each "
             "pass.")
      .Attr(AttributeSchema("function", int64_t{},
                            "the number in this process of the function that makes the stream, "
                            "which millhopper.Reader.from_arrow gives it")
                .Required())
      .FedByProcess({"function"})
      .Attr({"title", "", "what to call the function; for whoever reads the program"})
      .Attr(FieldsAttribute("columns, \"user.age\" in a struct, or numbers of them, #3, #0.age"));
}

void CreatePythonArrowReader(OpContext& context) {
  const std::shared_ptr<const PythonFunction> function =
      PythonFunction::Find(context.Attr<int64_t>("function"));
  const uint64_t reader = OpensReader::Current();
  std::vector<Field> fields =
      ParseFields(context.Attr<std::vector<std::string>>("fields"), Lists::kOfLists);
  Require(!fields.empty(), "fields is empty: name the columns that become slots");
  StoreReader(context, std::make_unique<ArrowStreamReader>(
                           [function, reader](ArrowArrayStream* out) {
                             function->CallFor(reader, [out](const py::object& capsule) {
                               void* const stream =
                                   PyCapsule_GetPointer(capsule.ptr(), kArrowStreamCapsule);
                               if (stream == nullptr) throw py::error_already_set();
                               TakeArrow(stream, out);
                             });
                           },
                           std::move(fields)));
}

REGISTER_OPERATOR(create_python_arrow_reader, PythonArrowSchema, CreatePythonArrowReader);

}  // namespace
}  // namespace millhopper
