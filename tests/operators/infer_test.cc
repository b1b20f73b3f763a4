// SPDX-License-Identifier: Apache-2.0
// Every operator says what it makes before it runs, and RunOp compares that with what it made. Here
// operators are run with tensors of many types; the test of each operator runs its other cases.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "framework/base/attribute.h"
#include "framework/base/error.h"
#include "framework/program/infer_context.h"
#include "framework/program/inference.h"
#include "framework/program/operator.h"
#include "framework/program/program.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "framework/tensor/tensor.h"
#include "operators/image/pixels/image.h"
#include "tests/files/encoded_images.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"
#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

using Ints = std::vector<int32_t>;
using Names = std::vector<std::string>;

struct Case {
  std::string type;
  SlotTensors inputs;
  Names outputs;
  Attributes attributes;
  RunOpOptions options = {};
};

// float32 [3, 2], of 2 sequences.
LoDTensor Matrix() {
  LoDTensor tensor = MakeTensor<float>({3, 2}, {0.5, 0.25, 0.125, 0.5, 0.75, 0.625});
  tensor.set_lod({{0, 1, 3}});
  return tensor;
}

LoDTensor Flat(const std::vector<float>& values) {
  const auto count = static_cast<int64_t>(values.size());
  return MakeTensor<float>({count}, values);
}

std::vector<Case> Cases() {
  const LoDTensor x = Matrix();
  const LoDTensor row = Flat({1, 2});
  const LoDTensor one = Flat({1});
  const LoDTensor yes = MakeTensor<bool>({2, 1}, {true, false});
  const LoDTensor labels = MakeTensor<int64_t>({3, 1}, {0, 1, 0});
  const LoDTensor column = MakeTensor<float>({3, 1}, {1, 2, 3});
  const LoDTensor image = MakeTensor<float>({1, 1, 2, 2}, {1, 2, 3, 4});
  const LoDTensor pixel = MakeTensor<float>({1, 1, 1, 1}, {1});
  const Attributes pooled = {{"pooling_type", std::string("max")}, {"ksize", Ints{2, 2}}};
  std::vector<Case> cases = {
      {"accuracy",
       {{"Out", x}, {"Indices", MakeTensor<int64_t>({3, 1}, {0, 1, 1})}, {"Label", labels}},
       {"Accuracy", "Correct", "Total"},
       {}},
      {"adam",
       {{"Param", x},
        {"Grad", x},
        {"LearningRate", one},
        {"Moment1", x},
        {"Moment2", x},
        {"Beta1Pow", Flat({0.9f})},
        {"Beta2Pow", Flat({0.9f})}},
       {"ParamOut", "Moment1Out", "Moment2Out"},
       {}},
      {"assign", {{"X", x}}, {"Out"}, {}},
      {"cast", {{"X", x}}, {"Out"}, {{"in_dtype", int32_t{5}}, {"out_dtype", int32_t{3}}}},
      {"conv2d", {{"Input", image}, {"Filter", image}}, {"Output"}, {}},
      {"conv2d_grad",
       {{"Input", image}, {"Filter", image}, {"Output@GRAD", pixel}},
       {"Input@GRAD", "Filter@GRAD"},
       {}},
      {"cross_entropy", {{"X", x}, {"Label", labels}}, {"Y"}, {}},
      {"cross_entropy_grad", {{"X", x}, {"Label", labels}, {"Y@GRAD", column}}, {"X@GRAD"}, {}},
      {"fill_constant", {}, {"Out"}, {{"shape", Ints{2, 3}}, {"dtype", int32_t{2}}}},
      {"gaussian_random", {}, {"Out"}, {{"shape", Ints{2}}, {"dtype", int32_t{6}}}},
      {"uniform_random", {}, {"Out"}, {{"shape", Ints{2, 1}}}},
      {"increment", {{"X", one}}, {"Out"}, {}},
      {"is_empty", {{"X", x}}, {"Out"}, {}},
      {"logical_not", {{"X", yes}}, {"Out"}, {}},
      {"mean", {{"X", x}}, {"Out"}, {}},
      {"mean_grad", {{"X", x}, {"Out@GRAD", one}}, {"X@GRAD"}, {}},
      {"momentum",
       {{"Param", x}, {"Grad", x}, {"LearningRate", one}, {"Velocity", x}},
       {"ParamOut", "VelocityOut"},
       {{"mu", 0.5f}}},
      {"mul", {{"X", x}, {"Y", MakeTensor<float>({2, 4}, std::vector<float>(8, 1))}}, {"Out"}, {}},
      {"mul_grad",
       {{"X", x},
        {"Y", MakeTensor<float>({2, 1}, {1, 2})},
        {"Out@GRAD", MakeTensor<float>({3, 1}, {1, 2, 3})}},
       {"X@GRAD", "Y@GRAD"},
       {}},
      {"pool2d", {{"X", image}}, {"Out"}, pooled},
      {"pool2d_grad", {{"X", image}, {"Out@GRAD", pixel}}, {"X@GRAD"}, pooled},
      {"print", {{"In", x}}, {"Out"}, {{"first_n", int32_t{0}}}},
      {"relu_grad", {{"Out", x}, {"Out@GRAD", x}}, {"X@GRAD"}, {}},
      {"reshape", {{"X", x}}, {"Out"}, {{"shape", Ints{2, -1}}}},
      {"reshape_grad", {{"X", x}, {"Out@GRAD", Flat({1, 2, 3, 4, 5, 6})}}, {"X@GRAD"}, {}},
      {"scale", {{"X", x}}, {"Out"}, {}},
      {"sgd", {{"Param", x}, {"Grad", x}, {"LearningRate", one}}, {"ParamOut"}, {}},
      {"sigmoid_grad", {{"Out", x}, {"Out@GRAD", x}}, {"X@GRAD"}, {}},
      {"softmax_grad", {{"Out", x}, {"Out@GRAD", x}}, {"X@GRAD"}, {}},
      {"softmax_with_cross_entropy", {{"Logits", x}, {"Label", labels}}, {"Softmax", "Loss"}, {}},
      {"softmax_with_cross_entropy_grad",
       {{"Label", labels}, {"Softmax", x}, {"Loss@GRAD", column}},
       {"Logits@GRAD"},
       {}},
      {"sum", {{"X", x}, {"X", x}}, {"Out"}, {}},
      {"tanh_grad", {{"Out", x}, {"Out@GRAD", x}}, {"X@GRAD"}, {}},
      {"top_k", {{"X", x}}, {"Out", "Indices"}, {{"k", int32_t{1}}}},
  };
  const LoDTensor photo = MakeTensor<uint8_t>({1, 2, 2, 3}, std::vector<uint8_t>(12, 7));
  for (const char* type :
       {"affine", "aug_mix", "autocontrast", "channel_permutation", "color_jitter", "cutout",
        "equalize", "flip", "gaussian_noise", "grayscale", "normalize", "perspective",
        "photometric_distort", "rand_augment", "solarize"}) {
    cases.push_back({type, {{"X", photo}}, {"Out"}, {}});
  }
  for (const char* type :
       {"center_crop", "crop", "five_crop", "random_crop", "random_resized_crop", "resize"}) {
    cases.push_back({type, {{"X", photo}}, {"Out"}, {{"size", Ints{2, 1}}}});
  }
  cases.push_back({"pad", {{"X", photo}}, {"Out"}, {{"padding", Ints{1, 2, 3, 4}}}});
  cases.push_back({"rotate", {{"X", photo}}, {"Out"}, {{"degrees", std::vector<float>{30}}}});
  cases.push_back({"jpeg", {{"X", photo}}, {"Out"}, {{"quality", Ints{50}}}});
  cases.push_back({"posterize", {{"X", photo}}, {"Out"}, {{"bits", int32_t{4}}}});
  cases.push_back({"adjust_sharpness", {{"X", photo}}, {"Out"}, {{"factor", 2.0f}}});
  cases.push_back({"gaussian_blur", {{"X", photo}}, {"Out"}, {{"kernel_size", Ints{3}}}});
  cases.push_back({"transpose", {{"X", photo}}, {"Out"}, {{"axis", Ints{0, 3, 1, 2}}}});
  for (const char* type : {"cutmix", "mixup"}) {
    cases.push_back({type,
                     {{"X", image}, {"Label", MakeTensor<int64_t>({1, 1}, {1})}},
                     {"Out", "LabelOut"},
                     {{"num_classes", int64_t{2}}}});
  }
  const ImageShape shape{3, 5, 3};
  const std::string jpeg = EncodeJpeg(SomePixels(shape), shape);
  RunOpOptions decoding;
  decoding.dims_by_values = true;
  cases.push_back({"decode_image",
                   {{"X", MakeTensor<uint8_t>({static_cast<int64_t>(jpeg.size())},
                                              {jpeg.begin(), jpeg.end()})}},
                   {"Out"},
                   {},
                   decoding});
  for (const char* type : {"relu", "sigmoid", "tanh", "softmax"}) {
    cases.push_back({type, {{"X", x}}, {"Out"}, {}});
  }
  const LoDTensor word = MakeTensor<uint8_t>({1}, {'a'});
  const std::string words = TempName("words");
  WriteFile(words, "a\n");
  cases.push_back({"tokenize", {{"X", word}}, {"Out"}, {}});
  cases.push_back({"lookup", {{"X", word}}, {"Out"}, {{"vocab", words}}});
  cases.push_back({"hash_bucket", {{"X", word}}, {"Out"}, {{"buckets", int64_t{9}}}});
  cases.push_back({"truncate", {{"X", row}}, {"Out"}, {{"length", int64_t{1}}}});
  cases.push_back({"pad_sequence", {{"X", row}}, {"Out", "Length"}, {{"length", int64_t{9}}}});
  cases.push_back({"bucketize", {{"X", x}}, {"Out"}, {{"boundaries", std::vector<double>{0}}}});
  cases.push_back({"one_hot", {{"X", labels}}, {"Out"}, {{"depth", int32_t{9}}}});
  cases.push_back({"sequence_mask", {{"X", labels}}, {"Y"}, {{"maxlen", int64_t{9}}}});
  for (const char* type : {"logical_and", "logical_or", "logical_xor"}) {
    cases.push_back({type, {{"X", yes}, {"Y", yes}}, {"Out"}, {}});
  }
  for (const char* type :
       {"elementwise_add", "elementwise_sub", "elementwise_mul", "elementwise_div", "equal",
        "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"}) {
    cases.push_back({type, {{"X", x}, {"Y", row}}, {"Out"}, {}});
  }
  for (const char* name : {"add", "sub", "mul", "div"}) {
    cases.push_back({"elementwise_" + std::string(name) + "_grad",
                     {{"X", x}, {"Y", row}, {"Out@GRAD", x}},
                     {"X@GRAD", "Y@GRAD"},
                     {}});
  }
  return cases;
}

// The operators that make no tensor, or one that only a file or the caller knows.
const std::set<std::string>& WithoutRule() {
  static const std::set<std::string> types = {
      "checkpoint", "conditional_block", "feed", "fetch",        "if_else", "load", "load_combine",
      "reset",      "restore",           "save", "save_combine", "while"};
  return types;
}

TEST(Infer, SaysWhatEachOperatorMakes) {
  for (const Case& one : Cases()) {
    SCOPED_TRACE(one.type);
    RunOp(one.type, one.inputs, one.outputs, one.attributes, one.options);
  }
}

TEST(Infer, IsKnownToEveryOperator) {
  for (const std::string& type : OperatorTypes()) {
    EXPECT_EQ(FindOperator(type)->schema.infer == nullptr, WithoutRule().count(type) > 0)
        << type << ": give its schema a rule (Infer)";
  }
}

// A tensor like another, with another type and values of 0.
LoDTensor Like(const LoDTensor& other, DataType dtype) {
  LoDTensor tensor;
  tensor.Allocate(dtype, other.dims());
  std::memset(tensor.mutable_raw_data(), 0, tensor.bytes());
  tensor.set_lod(other.lod());
  return tensor;
}

// Runs the case with these of its inputs (all, if it is negative) of an unsigned type. Returns
// whether the operator takes it; expects it to say that it does not.
bool TakesUnsigned(Case one, int input, DataType dtype) {
  for (size_t i = 0; i < one.inputs.size(); ++i) {
    if (input >= 0 && static_cast<int>(i) != input) continue;
    one.inputs[i].second = Like(one.inputs[i].second, dtype);
  }
  if (one.type == "cast") one.attributes[0].second = static_cast<int32_t>(dtype);
  SCOPED_TRACE(StrCat(one.type, ", input ", input, " of ", ToString(dtype)));
  try {
    RunOp(one.type, one.inputs, one.outputs, one.attributes, one.options);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
    EXPECT_NE(error.message().find(ToString(dtype)), std::string::npos) << error.what();
    return false;
  }
}

// Operators move values of uint16, uint32 and uint64, and none computes with them, so that no
// result depends on what would become of a carry or a sign; but for images of 16 bits.
TEST(Infer, SaysWhichOperatorsTakeUnsignedValues) {
  const std::set<std::string> moving = {"assign",       "cast",      "is_empty",
                                        "pad_sequence", "print",     "reshape",
                                        "reshape_grad", "transpose", "truncate"};
  const std::set<std::string> moving_alone = {"accuracy.Out", "assign.X",    "cast.X",
                                              "is_empty.X",   "print.In",    "pad_sequence.X",
                                              "reshape.X",    "transpose.X", "truncate.X"};
  const std::set<std::string> of_images = {
      "center_crop", "channel_permutation", "crop", "cutout",      "five_crop",
      "flip",        "normalize",           "pad",  "random_crop", "random_resized_crop",
      "resize"};
  for (const DataType dtype : {DataType::kUint16, DataType::kUint32, DataType::kUint64}) {
    SCOPED_TRACE(ToString(dtype));
    std::set<std::string> expected = moving, expected_alone = moving_alone;
    if (dtype == DataType::kUint16) {
      expected.insert(of_images.begin(), of_images.end());
      expected_alone.insert("cutmix.X");
      for (const std::string& type : of_images) expected_alone.insert(type + ".X");
    }
    std::set<std::string> alone, together;
    for (const Case& one : Cases()) {
      const int inputs = static_cast<int>(one.inputs.size());
      for (int input = inputs == 0 ? 0 : -1; input < inputs; ++input) {
        if (!TakesUnsigned(one, input, dtype)) continue;
        (input < 0 ? together : alone)
            .insert(input < 0 ? one.type : one.type + "." + one.inputs[input].first);
      }
    }
    EXPECT_EQ(together, expected);
    EXPECT_EQ(alone, expected_alone);
  }
}

std::string Undeclared(const std::string& name) {
  return "vars { name: '" + name + "' type { type: LOD_TENSOR } }\n";
}

// A reader and the operator that creates it.
std::string Reader(const std::string& type, const std::string& name, const std::string& below,
                   const AttributeTexts& attributes) {
  SlotTexts inputs;
  if (!below.empty()) inputs.push_back({"UnderlyingReader", {below}});
  return ReaderText(name) + OpText(type, inputs, {{"Out", {name}}}, attributes);
}

AttributeTexts With(AttributeTexts attributes, const std::string& name, const std::string& value) {
  attributes.emplace_back(name, value);
  return attributes;
}

// What is inferred of readers before the startup program runs is what they have afterwards.
TEST(Infer, SaysTheSlotsOfReaders) {
  const std::string folder = NewFolder("infer");
  WriteNumbers(folder, 1, 4);
  const std::string file = "'" + folder + "/numbers-0.recordio'";
  const AttributeTexts numbers = {{"shape_concat", "ints: [1, 2, 1, 1]"},
                                  {"ranks", "ints: [2, 2]"},
                                  {"dtypes", "ints: [5, 3]"}};
  const std::string startup =
      BlockText(0, -1,
                {Reader("create_recordio_file_reader", "file", "",
                        With(numbers, "filename", "s: " + file)),
                 Reader("open_files", "files", "", With(numbers, "file_names", "strings: " + file)),
                 Reader("create_random_data_generator", "random", "",
                        {{"shape_concat", "ints: [1, 5]"}, {"ranks", "ints: 2"}}),
                 Reader("create_shuffle_reader", "shuffled", "files", {{"buffer_size", "i: 2"}}),
                 Reader("create_shard_reader", "shard", "file",
                        {{"num_shards", "i: 2"}, {"index", "i: 1"}}),
                 Reader("create_multi_pass_reader", "passes", "shuffled", {{"pass_num", "i: 2"}}),
                 Reader("create_batch_reader", "batches", "passes", {{"batch_size", "i: 2"}}),
                 Reader("create_batch_reader", "stacks", "shard",
                        {{"batch_size", "i: 2"}, {"mode", "s: 'stack'"}}),
                 Reader("create_unbatch_reader", "instances", "stacks", {{"mode", "s: 'stack'"}}),
                 Reader("create_unbatch_reader", "rows", "batches", {}),
                 Reader("create_filter_reader", "kept", "instances",
                        {{"sub_block", "block_idx: 2"},
                         {"source_var_names", "strings: ['x', 'n']"},
                         {"sink_var_names", "strings: 'keep'"}}),
                 Reader("create_double_buffer_reader", "ready", "batches", {}),
                 Reader("create_custom_reader", "halves", "ready",
                        {{"sub_block", "block_idx: 1"},
                         {"source_var_names", "strings: ['x', 'n']"},
                         {"sink_var_names", "strings: ['half', 'n']"}})}) +
      BlockText(1, 0,
                {Undeclared("x"), Undeclared("n"), Undeclared("half"),
                 OpText("scale", {{"X", {"x"}}}, {{"Out", {"half"}}}, {{"scale", "f: 0.5"}})}) +
      BlockText(2, 0,
                {Undeclared("x"), Undeclared("n"), Undeclared("keep"),
                 OpText("less_equal", {{"X", {"n"}}, {"Y", {"n"}}}, {{"Out", {"keep"}}})});
  const auto program = Program::FromString(startup, "startup");
  ProgramInference inference(
      *program, 0, [](const std::string&) { return VariableSpec(); },
      [](int, int, const std::string& problem) { ADD_FAILURE() << problem; });
  inference.Follow(0);
  ProgramRunner runner;
  runner.Startup(startup);
  for (const char* name : {"file", "files", "random", "shuffled", "shard", "passes", "batches",
                           "stacks", "instances", "rows", "kept", "ready", "halves"}) {
    SCOPED_TRACE(name);
    const std::vector<SlotSpec>& slots = runner.Reader(name).slots();
    const auto said = inference.Find(0, name).slots;
    ASSERT_TRUE(said.has_value());
    ASSERT_EQ(said->size(), slots.size());
    for (size_t i = 0; i < slots.size(); ++i) EXPECT_EQ(SlotOf((*said)[i]), slots[i]) << i;
  }
}

}  // namespace
}  // namespace millhopper
