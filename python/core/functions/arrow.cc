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

// What the batches of a stream have, and so where nulls are.
ArrowGuesses ColumnsOf(const ArrowSchema& schema, ArrowArrayStream* stream) {
  ArrowGuesses columns = GuessArrowColumns(schema, nullptr);
  while (true) {
    ArrowOwned<ArrowArray> batch;
    if (stream->get_next(stream, batch.out()) != 0) {
      const char* const problem = stream->get_last_error(stream);
      Throw(ErrorCode::kIo,
            "the stream failed: ", problem == nullptr ? "it says not why" : problem);
    }
    if (batch->release == nullptr) return columns;
    AddArrowColumns(GuessArrowColumns(schema, &*batch), "a batch", &columns);
  }
}

// The fields of the schema in a capsule, or of the stream in one, that entries choose, which may be
// names alone, or none for all. If `looks_for_nulls`, it is a stream, whose batches tell of them.
std::vector<std::string> ChosenFields(const py::object& capsule,
                                      const std::vector<std::string>& entries,
                                      bool looks_for_nulls) {
  ArrowOwned<ArrowSchema> schema;
  ArrowArrayStream* stream = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), kArrowSchemaCapsule) != 0) {
    TakeArrow(PyCapsule_GetPointer(capsule.ptr(), kArrowSchemaCapsule), schema.out());
  } else {
    void* const content = PyCapsule_GetPointer(capsule.ptr(), kArrowStreamCapsule);
    if (content == nullptr) throw py::error_already_set();
    stream = static_cast<ArrowArrayStream*>(content);
    Require(stream->release != nullptr && stream->get_schema(stream, schema.out()) == 0,
            "the stream gives no schema");
  }
  Require(schema->release != nullptr, "the schema has been taken already");
  const bool looks = looks_for_nulls && stream != nullptr;
  return ChooseFields(
      entries, {},
      FieldsFor(looks ? ColumnsOf(*schema, stream) : GuessArrowColumns(*schema, nullptr)));
}

}  // namespace

void DefineArrow(py::module_* module) {
  module->def("chosen_arrow_fields", &ChosenFields, py::arg("capsule"), py::arg("entries"),
              py::arg("looks_for_nulls"));
}

}  // namespace millhopper
