// SPDX-License-Identifier: Apache-2.0
#include "python/core/functions/arrow.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "framework/base/error.h"
#include "readers/arrow/arrow_columns.h"
#include "readers/arrow/arrow_guess.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// Fields that fit the schema in a capsule, or that of the stream in one.
std::vector<std::string> GuessFields(const py::object& capsule) {
  ArrowOwned<ArrowSchema> schema;
  if (PyCapsule_IsValid(capsule.ptr(), kArrowSchemaCapsule) != 0) {
    TakeArrow(PyCapsule_GetPointer(capsule.ptr(), kArrowSchemaCapsule), schema.out());
  } else {
    void* const content = PyCapsule_GetPointer(capsule.ptr(), kArrowStreamCapsule);
    if (content == nullptr) throw py::error_already_set();
    auto* const stream = static_cast<ArrowArrayStream*>(content);
    Require(stream->release != nullptr && stream->get_schema(stream, schema.out()) == 0,
            "the stream gives no schema");
  }
  Require(schema->release != nullptr, "the schema has been taken already");
  const FittingFields fields = FieldsFor(GuessArrowColumns(*schema, nullptr));
  Require(fields.left_out.empty(),
          "not all columns can be read: ", fields.left_out.empty() ? "" : fields.left_out[0]);
  return fields.entries;
}

}  // namespace

void DefineArrow(py::module_* module) {
  module->def("guess_arrow_fields", &GuessFields, py::arg("capsule"));
}

}  // namespace millhopper
