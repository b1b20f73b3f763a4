// SPDX-License-Identifier: Apache-2.0
// A chain of readers that is built in C++, and a loop of one's own over its batches.
//   loop numbers.csv...
#include <cstdio>
#include <string>
#include <vector>

#include "framework/base/error.h"
#include "framework/base/thread_pool.h"
#include "operators/fluent/reader.h"

namespace {

using millhopper::Reader;

void Run(const std::vector<std::string>& files) {
  millhopper::ThreadPool::Get().SetSize(2);  // threads that load, beside this one
  Reader::OpenFilesOptions table;
  table.attributes["fields"] = std::vector<std::string>{"x float32[]"};
  Reader::ShuffleOptions order;
  order.seed = 1;
  millhopper::ReaderLoop batches =
      Reader::OpenFiles(files, table).Shuffle(1000, order).Batch(2).Open();
  double total = 0;
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const std::vector<millhopper::LoDTensor>& batch : batches) {  // a tensor for each slot
      const auto* const values = batch[0].data<float>();  // throws if they are no float32
      std::printf("batch of %lld begins with %g\n", static_cast<long long>(batch[0].numel()),
                  static_cast<double>(values[0]));
      for (int64_t i = 0; i < batch[0].numel(); ++i) total += static_cast<double>(values[i]);
    }
  }
  std::printf("total %g\n", total);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: loop FILE...\n");
    return 2;
  }
  try {
    Run({argv + 1, argv + argc});
  } catch (const millhopper::Error& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
