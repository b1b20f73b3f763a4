// SPDX-License-Identifier: Apache-2.0
#include "tests/framework/checkpoint/saved_loop.h"

#include "framework/base/error.h"
#include "tests/framework/program/program_runner.h"

namespace millhopper {

std::string SavedLoopStartup(const std::string& folder, int window) {
  return BlockText(
      0, -1,
      {ReaderText("files", {{"FP32", {1, 2}}, {"INT64", {1, 1}}}), ReaderText("shuffled"),
       ReaderText("batches"), ReaderText("data"), TensorText("w", "FP32", {1}, 0, true),
       OpText("open_files", {}, {{"Out", {"files"}}},
              {{"file_names", StrCat("strings: \"", folder, "/numbers-*.recordio\"")}}),
       OpText("create_shuffle_reader", {{"UnderlyingReader", {"files"}}}, {{"Out", {"shuffled"}}},
              {{"buffer_size", StrCat("i: ", window)}}),
       OpText("create_batch_reader", {{"UnderlyingReader", {"shuffled"}}}, {{"Out", {"batches"}}},
              {{"batch_size", "i: 3"}}),
       OpText("create_double_buffer_reader", {{"UnderlyingReader", {"batches"}}},
              {{"Out", {"data"}}}),
       FillText("w", "FP32", 1), OpText("print", {{"In", {"w"}}}, {})});
}

std::vector<std::string> SavedLoopBefore(int passes) {
  return {TensorText("more", "BOOL", {1}),    TensorText("passes", "INT64", {1}),
          TensorText("limit", "INT64", {1}),  FillText("passes", "INT64", 0),
          FillText("limit", "INT64", passes), FillText("more", "BOOL", 1)};
}

std::string SavedLoopWhile(int block) {
  return OpText("while", {{"Condition", {"more"}}}, {},
                {{"sub_block", StrCat("block_idx: ", block)}});
}

std::string SavedLoopBody(int block, int parent, bool prints_all) {
  const std::string print = prints_all
                                ? OpText("print", {{"In", {"y"}}}, {}) +
                                      OpText("print", {{"In", {"w"}}}, {}, {{"first_n", "i: 4"}})
                                : "";
  return BlockText(block, parent,
                   {TensorText("has", "BOOL", {1}),
                    OpText("has_next", {{"Reader", {"data"}}}, {{"Out", {"has"}}}),
                    OpText("if_else", {{"Cond", {"has"}}}, {},
                           {{"true_block", StrCat("block_idx: ", block + 1)},
                            {"false_block", StrCat("block_idx: ", block + 2)}})}) +
         BlockText(block + 1, block,
                   {TensorText("x", "FP32", {-1, 2}), TensorText("y", "INT64", {-1, 1}),
                    TensorText("z", "FP32", {-1, 1}), TensorText("mean", "FP32", {1}),
                    OpText("read", {{"Reader", {"data"}}}, {{"Out", {"x", "y"}}}),
                    OpText("cast", {{"X", {"y"}}}, {{"Out", {"z"}}},
                           {{"in_dtype", "i: 3"}, {"out_dtype", "i: 5"}}),
                    OpText("mean", {{"X", {"z"}}}, {{"Out", {"mean"}}}),
                    OpText("scale", {{"X", {"w"}}}, {{"Out", {"w"}}}, {{"scale", "f: 0.99"}}),
                    OpText("elementwise_add", {{"X", {"w"}}, {"Y", {"mean"}}}, {{"Out", {"w"}}}),
                    print}) +
         BlockText(
             block + 2, block,
             {OpText("reset", {{"Reader", {"data"}}}, {}),
              OpText("increment", {{"X", {"passes"}}}, {{"Out", {"passes"}}}),
              OpText("print", {{"In", {"passes"}}}, {}), OpText("print", {{"In", {"w"}}}, {}),
              OpText("less_than", {{"X", {"passes"}}, {"Y", {"limit"}}}, {{"Out", {"more"}}})});
}

std::string SavedLoopMain(int passes, bool prints_all) {
  std::vector<std::string> parts = SavedLoopBefore(passes);
  parts.push_back(SavedLoopWhile(1));
  parts.push_back(OpText("print", {{"In", {"w"}}}, {}, {{"message", "s: \"end\""}}));
  return BlockText(0, -1, parts) + SavedLoopBody(1, 0, prints_all);
}

}  // namespace millhopper
