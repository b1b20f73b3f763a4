// SPDX-License-Identifier: Apache-2.0
// create_python_array_reader reads the rows of arrays that Python holds. Only this module has it.
#include <cstdint>
#include <memory>
#include <optional>

#include "framework/base/error.h"
#include "operators/readers/support/reader_creation.h"
#include "python/core/values/python_arrays.h"
#include "readers/sources/array_reader.h"

namespace millhopper {
namespace {

OpSchema PythonArraySchema() {
  return ReaderCreationSchema("Yields the rows of arrays that Python holds.")
      .Attr(AttributeSchema("arrays", int64_t{},
                            "their number in this process, which millhopper.Reader.from_arrays "
                            "gives them")
                .Required())
      .FedByProcess({"arrays"})
      .Attr(AttributeSchema("count", int64_t{}, "how many rows they have").Required())
      .Attr({"shuffle_records", false,
             "in a random order, another one in each pass, without memory for those that wait"})
      .Attr({"seed", int64_t{0}, "decides the order together with --seed and the name of Out"})
      .Attr(ReshuffleAttribute())
      .Order([](const AttributeMap& attributes) {
        return attributes.Get<bool>("shuffle_records") ? ShuffledOrder(attributes) : PassOrder();
      });
}

void CreatePythonArrayReader(OpContext& context) {
  const std::shared_ptr<const PythonArrays> arrays =
      PythonArrays::Find(context.Attr<int64_t>("arrays"));
  const auto count = context.Attr<int64_t>("count");
  Require(static_cast<int64_t>(arrays->rows()) == count, "attribute 'count' is ", count,
          ", and the arrays have ", arrays->rows(), " rows");
  std::optional<RandomKey> key;
  if (context.Attr<bool>("shuffle_records")) key = OrderKeyOf(context);
  StoreReader(context, std::make_unique<ArrayReader>(arrays->columns(), arrays->rows(), key));
}

REGISTER_OPERATOR(create_python_array_reader, PythonArraySchema, CreatePythonArrayReader);

}  // namespace
}  // namespace millhopper
