// SPDX-License-Identifier: Apache-2.0
// A loop of one's own in C++ over the batches of a reader that a startup program creates.
//   loop startup.pbtxt READER
#include <cstdio>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "framework/program/executor.h"
#include "framework/program/program.h"
#include "framework/program/scope.h"
#include "framework/reader/reader_holder.h"
#include "framework/tensor/tensor.h"

namespace {

void Run(const std::string& startup, const std::string& name) {
  millhopper::ThreadPool::Get().SetSize(2);  // threads that load, beside this one
  millhopper::Scope scope;
  millhopper::Executor().Run(millhopper::Program::FromFile(startup),
                             millhopper::ProgramRole::kStartup, &scope);
  millhopper::Variable* const variable = scope.Find(name);
  millhopper::Require(variable != nullptr && variable->Holds<millhopper::ReaderHolder>(), startup,
                      " creates no reader '", name, "'");
  auto* const reader = variable->GetMutable<millhopper::ReaderHolder>();
  double total = 0;
  for (int pass = 0; pass < 2; ++pass) {
    if (pass > 0) reader->ReInit();
    std::vector<millhopper::LoDTensor> batch;  // a tensor for each slot
    while (reader->HasNext()) {
      reader->ReadNext(&batch);
      const auto* const values = batch[0].data<float>();  // throws if they are no float32
      for (int64_t i = 0; i < batch[0].numel(); ++i) total += static_cast<double>(values[i]);
    }
  }
  std::printf("total %g\n", total);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: loop STARTUP READER\n");
    return 2;
  }
  try {
    Run(argv[1], argv[2]);
  } catch (const millhopper::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
