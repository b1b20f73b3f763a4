// SPDX-License-Identifier: Apache-2.0
#include "tests/operators/math/elementwise_checks.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/operators/run_op.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

struct Fit {
  Dims x, y;
  int32_t axis;
  size_t begin;  // the axis of X where Y's dims begin
};

const std::vector<Fit>& Fits() {
  static const auto* fits = new std::vector<Fit>{
      {{2, 3, 4}, {2, 3, 4}, -1, 0}, {{2, 3, 4}, {4}, -1, 2},       {{2, 3, 4}, {3, 4}, -1, 1},
      {{2, 3, 4}, {3}, 1, 1},        {{2, 3, 4}, {2}, 0, 0},        {{2, 3, 4}, {2, 3}, 0, 0},
      {{2, 3, 4}, {1}, -1, 2},       {{2, 3, 4}, {2, 3, 1}, -1, 0}, {{2, 3, 4}, {3, 1}, 1, 1},
  };
  return *fits;
}

// Values other than 0, so far from each other that numerical differences are exact enough.
std::vector<double> SomeValues(int64_t count, double first) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back((i % 2 == 0 ? 1 : -1) * (first + 0.37 * static_cast<double>(i * 5 % 7)));
  }
  return values;
}

// The index of the value of Y that belongs to value i of X, from the place of i along each axis of
// X.
int64_t PlaceInY(const Fit& fit, int64_t i) {
  std::vector<int64_t> places(fit.x.size());
  for (size_t axis = fit.x.size(); axis-- > 0; i /= fit.x[axis]) places[axis] = i % fit.x[axis];
  int64_t place = 0;
  for (size_t k = 0; k < fit.y.size(); ++k) {
    place = place * fit.y[k] + (fit.y[k] == 1 ? 0 : places[fit.begin + k]);
  }
  return place;
}

Attributes Axis(int32_t axis) { return {{"axis", axis}}; }

}  // namespace

void CheckBinaryOperator(const std::string& type, double (*function)(double, double)) {
  for (const Fit& fit : Fits()) {
    SCOPED_TRACE(StrCat(ToString(fit.x), " and ", ToString(fit.y), " at ", fit.axis));
    const std::vector<double> x = SomeValues(Product(fit.x), 0.5);
    const std::vector<double> y = SomeValues(Product(fit.y), 1.25);
    const LoDTensor out = RunOp(type, {{"X", MakeTensor(fit.x, x)}, {"Y", MakeTensor(fit.y, y)}},
                                {"Out"}, Axis(fit.axis))
                              .at("Out");
    EXPECT_EQ(out.dims(), fit.x);
    const std::vector<double> values = ValuesOf<double>(out);
    for (size_t i = 0; i < values.size(); ++i) {
      const double expected = function(x[i], y[PlaceInY(fit, static_cast<int64_t>(i))]);
      EXPECT_DOUBLE_EQ(values[i], expected) << "value " << i;
    }
  }

  const LoDTensor ints = MakeTensor<int32_t>({2, 1}, {7, -9}, {{0, 2}});
  const LoDTensor two = MakeTensor<int32_t>({1}, {2});
  const LoDTensor int_out = RunOp(type, {{"X", ints}, {"Y", two}}, {"Out"}).at("Out");
  EXPECT_EQ(ValuesOf<int32_t>(int_out),
            (std::vector<int32_t>{static_cast<int32_t>(function(7, 2)),
                                  static_cast<int32_t>(function(-9, 2))}));
  EXPECT_EQ(int_out.lod(), ints.lod());
  const LoDTensor longs = MakeTensor<int64_t>({1}, {int64_t{3} << 20});
  EXPECT_EQ(ValuesOf<int64_t>(RunOp(type, {{"X", longs}, {"Y", longs}}, {"Out"}).at("Out"))[0],
            static_cast<int64_t>(function(3 << 20, 3 << 20)));
  const LoDTensor floats = MakeTensor<float>({2}, {1.5f, -3.0f});
  const LoDTensor divisor = MakeTensor<float>({1}, {2.0f});
  EXPECT_EQ(ValuesOf<float>(RunOp(type, {{"X", floats}, {"Y", divisor}}, {"Out"}).at("Out"))[1],
            static_cast<float>(function(-3, 2)));

  // The output takes the place of X, of Y with X's dims, or of Y with fewer. The inputs stay as
  // they were.
  for (const char* slot : {"X", "Y"}) {
    for (const Dims& dims : {Dims{2, 3}, Dims{3}}) {
      SCOPED_TRACE(StrCat("in the place of ", slot, ", Y is ", ToString(dims)));
      const SlotTensors inputs = {{"X", MakeTensor({2, 3}, SomeValues(6, 0.5))},
                                  {"Y", MakeTensor(dims, SomeValues(Product(dims), 1.25))}};
      const auto expected = ValuesOf<double>(RunOp(type, inputs, {"Out"}).at("Out"));
      const LoDTensor out = RunOp(type, inputs, {"Out"}, {}, {{{"Out", slot}}, 0}).at("Out");
      EXPECT_EQ(ValuesOf<double>(out), expected);
      EXPECT_EQ(ValuesOf<double>(inputs[0].second), SomeValues(6, 0.5));
    }
  }

  const LoDTensor none = MakeTensor<float>({0, 3}, {});
  const LoDTensor row = MakeTensor<float>({3}, {1, 2, 3});
  EXPECT_EQ(RunOp(type, {{"X", none}, {"Y", row}}, {"Out"}).at("Out").dims(), (Dims{0, 3}));

  const auto refused = [&](const LoDTensor& x, const LoDTensor& y, int32_t axis,
                           const std::string& words) {
    ExpectRefused(words, type, {{"X", x}, {"Y", y}}, {"Out"}, Axis(axis));
  };
  const LoDTensor matrix = MakeTensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  refused(
      matrix, floats, -1,
      "input 'Y' (variable 'y_variable') is float32 [2]; its dims must be those of 'X', [2, 3], "
      "or a part of them that begins at axis 1");
  refused(floats, matrix, -1, "input 'Y' (variable 'y_variable') is float32 [2, 3]");
  refused(matrix, row, 2, "begins at axis 2");
  refused(matrix, row, -2, "attribute 'axis' is -2; it must be at least -1");
  refused(matrix, ints, -1, "'y_variable') is int32 [2, 1]; float32 is needed");
  const LoDTensor bytes = MakeTensor<uint8_t>({1}, {1});
  refused(bytes, bytes, -1,
          "input 'X' (variable 'x_variable') is uint8 [1]; the types taken are float32, float64, "
          "int32, int64");
}

void CheckBinaryGradient(const std::string& type) {
  for (const Fit& fit : Fits()) {
    SCOPED_TRACE(StrCat(ToString(fit.x), " and ", ToString(fit.y), " at ", fit.axis));
    ExpectGradients({type,
                     {{"X", MakeTensor(fit.x, SomeValues(Product(fit.x), 0.5), {{0, 1, 2}})},
                      {"Y", MakeTensor(fit.y, SomeValues(Product(fit.y), 1.25))}},
                     {"Out"},
                     "Out",
                     {"X", "Y", "Out"},
                     {"X", "Y"},
                     Axis(fit.axis)});
  }

  // A gradient that is computed alone, in the place of Out@GRAD, is the same.
  const LoDTensor x = MakeTensor({2, 3}, SomeValues(6, 0.5));
  const LoDTensor y = MakeTensor({3}, SomeValues(3, 1.25));
  const LoDTensor dout = MakeTensor({2, 3}, SomeValues(6, 0.75));
  const SlotTensors inputs = {{"X", x}, {"Y", y}, {"Out@GRAD", dout}};
  const auto both = RunOp(type + "_grad", inputs, {"X@GRAD", "Y@GRAD"});
  for (const char* slot : {"X@GRAD", "Y@GRAD"}) {
    const LoDTensor one =
        RunOp(type + "_grad", inputs, {slot}, {}, {{{slot, "Out@GRAD"}}, 0}).at(slot);
    EXPECT_EQ(ValuesOf<double>(one), ValuesOf<double>(both.at(slot)));
  }
  ExpectRefused(
      "input 'Out@GRAD' (variable 'out@grad_variable') is float64 [3]; float64 [2, 3] is "
      "needed, as 'X' is",
      type + "_grad", {{"X", x}, {"Y", y}, {"Out@GRAD", y}}, {"X@GRAD"});
}

}  // namespace millhopper
