// SPDX-License-Identifier: Apache-2.0
// create_python_iterable_reader reads the items of an iterable of Python, which a thread of Python
// asks for ahead of the reader. Only this module has it.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/forks.h"
#include "operators/readers/support/reader_creation.h"
#include "python/core/functions/map_function.h"
#include "python/core/interpreter/python_call.h"
#include "python/core/interpreter/python_ref.h"
#include "python/core/queue.h"
#include "readers/sources/queue_reader.h"

namespace py = pybind11;

namespace millhopper {
namespace {

OpSchema PythonIterableSchema() {
  return ReaderCreationSchema(
             "Yields the items of an iterable of Python, for which a thread asks ahead.")
      .Attr(AttributeSchema("function", int64_t{},
                            "the number in this process of the function that makes a "
                            "millhopper.process.fed_queue.FedQueue of them, which "
                            "millhopper.Reader.from_iterable gives it")
                .Required())
      .FedByProcess({"function"})
      .Attr({"title", "", "what to call the function; for whoever reads the program"});
}

// A FedQueue whose provider starts when the first element is asked for, and stops with the reader.
class IterableReader final : public QueueReader {
 public:
  // `feed` is the FedQueue. The caller holds the interpreter.
  IterableReader(const FedElements& fed, const py::object& feed, uint64_t reader)
      : QueueReader(fed.queue, fed.form.slots), feed_(feed), reader_(reader) {}
  ~IterableReader() override {
    if (process_.IsThis()) queue().Detach();  // its thread does not wait for Python to run
  }

 private:
  bool ReadNextImpl(std::vector<LoDTensor>* out) override {
    if (!started_) Start();
    return QueueReader::ReadNextImpl(out);
  }

  void Start() {
    const PythonCall call(reader_);
    try {
      feed_.get().attr("start")();
    } catch (py::error_already_set& raised) {
      throw ErrorOfException("the start of its thread", &raised);
    }
    started_ = true;
  }

  const PythonRef feed_;
  const uint64_t reader_;  // its number, as in PythonCall
  const OwnProcess process_;
  bool started_ = false;
};

void CreatePythonIterableReader(OpContext& context) {
  const std::shared_ptr<PythonFunction> function =
      PythonFunction::Find(context.Attr<int64_t>("function"));
  const uint64_t reader = OpensReader::Current();
  std::unique_ptr<IterableReader> made;
  try {
    function->CallFor(reader, [&](const py::object& feed) {
      const FedElements fed = FedBy(feed.attr("queue"), reader);
      function->SetNames(fed.form.names);
      made = std::make_unique<IterableReader>(fed, feed, reader);
    });
  } catch (const Error& error) {
    throw error.WithContext("while taking its first item, to learn what it yields");
  }
  StoreReader(context, std::move(made));
}

REGISTER_OPERATOR(create_python_iterable_reader, PythonIterableSchema, CreatePythonIterableReader);

}  // namespace
}  // namespace millhopper
