// SPDX-License-Identifier: Apache-2.0
// restore: sets tensors and readers to what `checkpoint` has written.
#include <utility>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/checkpoint/checkpoint.h"
#include "framework/io/file_system.h"
#include "framework/program/operator.h"
#include "framework/program/scope.h"
#include "operators/readers/support/reader_variable.h"

namespace millhopper {
namespace {

OpSchema RestoreSchema() {
  return OpSchema(
             "Goes on from what `checkpoint` has written: sets tensors and lets readers go to "
             "where they stood. Without the file it changes nothing, but prepares the readers for "
             "`checkpoint`, so that it belongs before the first read in any case.")
      .Inputs("Readers", "the readers that `checkpoint` saves")
      .Reader()
      .Outputs("Out", "the tensors that `checkpoint` saves, on the CPU")
      .OptionalOutput("Found", "bool [1]: whether the file was there")
      .Attr(AttributeSchema("file_path", "", "the file").Required())
      .Attr({"required", false, "true: it is an error if there is no file"})
      .SideEffects();
}

void ReadValues(OpContext& context) {
  const std::string& path = context.Attr<std::string>("file_path");
  const bool found = context.Attr<bool>("required") ||
                     FileSystemOf(path).Stat(path).kind != FileStatus::Kind::kMissing;
  if (context.OutCount("Found") > 0) *context.Out("Found")->Allocate<bool>({1}) = found;
  const ReaderHolder::ReadersByName readers = ReadersOf(context, "Readers");
  if (!found) {
    ReaderHolder::ExpectSaveOfAll(readers);
    return;
  }
  Checkpoint checkpoint = ReadCheckpoint(path);
  try {
    Require(checkpoint.tensors.size() == context.OutCount("Out"), "the checkpoint has ",
            checkpoint.tensors.size(), " tensors, but ", context.OutCount("Out"),
            " are to be restored");
    for (size_t i = 0; i < context.OutCount("Out"); ++i) {
      const std::string& name = context.OutVar("Out", i).name();
      Require(checkpoint.tensors.count(name) > 0, "the checkpoint has no tensor '", Escaped(name),
              "'");
    }
    ReaderHolder::RestoreAll(readers, checkpoint.positions);
  } catch (const Error& error) {
    throw error.WithContext(StrCat("while restoring checkpoint ", Escaped(path)));
  }
  for (size_t i = 0; i < context.OutCount("Out"); ++i) {
    *context.Out("Out", i) = std::move(checkpoint.tensors[context.OutVar("Out", i).name()]);
  }
}

REGISTER_OPERATOR(restore, RestoreSchema, ReadValues);

}  // namespace
}  // namespace millhopper
