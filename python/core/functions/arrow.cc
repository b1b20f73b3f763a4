// SPDX-License-Identifier: Apache-2.0
#include "python/core/functions/arrow.h"

#include <pybind11/stl.h>

#include <string>
#include <vector>

#include "framework/base/error.h"
#include "readers/arrow/arrow_columns.h"
#include "readers/arrow/arrow_guess.h"
#include "readers/fields/chosen_fields.h"

namespace py = pybind11;

namespace millhopper {
namespace {

// The fields of the schema in a capsule, or of the stream in one, that entries choose, which may be
// names alone, or none for all.
std::vector<std::string> ChosenFields(const py::object& capsule,
                                      const std::vector<std::string>& entries) {
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
  return ChooseFields(entries, {}, FieldsFor(GuessArrowColumns(*schema, nullptr)));
}

}  // namespace

void DefineArrow(py::module_* module) {
  module->def("chosen_arrow_fields", &ChosenFields, py::arg("capsule"), py::arg("entries"));
}

}  // namespace millhopper
