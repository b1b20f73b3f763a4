// SPDX-License-Identifier: Apache-2.0
// create_python_map_reader calls a Python function for every element. Only this module has it.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/reader/record_place.h"
#include "operators/readers/support/reader_creation.h"
#include "python/core/functions/map_function.h"
#include "python/core/interpreter/python_call.h"
#include "readers/decorate/map_reader.h"

namespace millhopper {
namespace {

OpSchema PythonMapSchema() {
  return DecoratedReaderSchema(
             "Calls a function of Python for every element of a reader, on the threads that load, "
             "in order.")
      .Attr(AttributeSchema("function", int64_t{},
                            "its number in this process, which millhopper.Reader.map gives it")
                .Required())
      .FedByProcess({"function"})
      .Attr({"title", "", "what to call the function; for whoever reads the program"});
}

// Learns what the function yields by calling it for the first element. Restarts the reader after
// that.
ElementForm Learn(PythonFunction* function, ReaderBase* below) {
  ElementForm form;
  below->ExpectSave();  // which PythonReader says, too, but then this has been read
  {
    TicketRun run;
    RecordPlace place;
    Require(below->Plan(1, &run) == 1, below->origin(),
            " has no element from which to learn what the function yields; say it with "
            "slots={\"x\": (\"float32\", [1])}");
    Rows rows(below->row_slots());
    below->Load(run.tickets.data(), 1, &rows);
    place.Stop();
    std::vector<LoDTensor> first;
    rows.MoveTo(&first);
    try {
      form =
          function->Learn(run.tickets.front().id, below->slots(), &first, OpensReader::Current());
    } catch (...) {
      throw place.Named(CurrentError());
    }
  }
  below->Restart(0);
  return form;
}

void CreatePythonMapReader(OpContext& context) {
  const std::shared_ptr<PythonFunction> function =
      PythonFunction::Find(context.Attr<int64_t>("function"));
  std::unique_ptr<ReaderBase> below = UnderlyingReader(context);
  const ElementForm form =
      function->form().slots.empty() ? Learn(function.get(), below.get()) : function->form();
  const uint64_t reader = OpensReader::Current();
  const std::vector<SlotSpec> slots = below->slots();
  StoreReader(context,
              std::make_unique<MapReader>(
                  std::move(below), form.slots,
                  [function, form, reader, slots](const RecordId& id, std::vector<LoDTensor>* in,
                                                  std::vector<LoDTensor>* out, Rows*) {
                    function->Call(id, slots, in, form, out, reader);
                  }));
}

REGISTER_OPERATOR(create_python_map_reader, PythonMapSchema, CreatePythonMapReader);

}  // namespace
}  // namespace millhopper
