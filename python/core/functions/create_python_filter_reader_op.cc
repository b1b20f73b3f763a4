// SPDX-License-Identifier: Apache-2.0
// create_python_filter_reader asks a Python function about every element. Only this module has it.
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "operators/readers/support/reader_creation.h"
#include "python/core/functions/map_function.h"
#include "python/core/interpreter/python_call.h"
#include "readers/decorate/filter_reader.h"

namespace millhopper {
namespace {

OpSchema PythonFilterSchema() {
  return DecoratedReaderSchema(
             "Yields the elements of a reader for which a function of Python says true, in order.")
      .Attr(AttributeSchema("function", int64_t{},
                            "its number in this process, which millhopper.Reader.filter gives it")
                .Required())
      .FedByProcess({"function"})
      .Attr({"title", "", "what to call the function; for whoever reads the program"})
      .Infer(InferSameSlots);
}

void CreatePythonFilterReader(OpContext& context) {
  const std::shared_ptr<PythonFunction> function =
      PythonFunction::Find(context.Attr<int64_t>("function"));
  const uint64_t reader = OpensReader::Current();
  std::unique_ptr<ReaderBase> below = UnderlyingReader(context);
  const std::vector<SlotSpec> slots = below->slots();
  StoreReader(context,
              std::make_unique<FilterReader>(
                  std::move(below), [function, reader, slots](
                                        const RecordId& id, const std::vector<LoDTensor>& element) {
                    // The function gets the values, and the filter yields them unchanged: a
                    // function that writes to shared values writes to a copy.
                    std::vector<LoDTensor> in = element, out;
                    function->Call(id, slots, &in, function->form(), &out, reader);
                    return out[0].scalar<bool>();
                  }));
}

REGISTER_OPERATOR(create_python_filter_reader, PythonFilterSchema, CreatePythonFilterReader);

}  // namespace
}  // namespace millhopper
