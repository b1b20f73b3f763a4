// SPDX-License-Identifier: Apache-2.0
// The operator create_double_buffer_reader.
#include <gtest/gtest.h>

#include "tests/fakes/fake_device.h"
#include "tests/fakes/sources.h"
#include "tests/framework/program/program_runner.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

std::unique_ptr<ReaderBase> Numbers() {
  SourceSpec spec;
  spec.records = 20;
  return MakePlannedSource(spec);
}

std::string Buffer(const AttributeTexts& attributes = {}) {
  return DecoratorProgram("create_double_buffer_reader", attributes);
}

// The place of the elements that the reader yields to an executor at `place`. Expects the elements
// to be those of the source.
Place PlaceOf(const AttributeTexts& attributes, Place place) {
  RunState run;
  run.place = place;
  ProgramRunner runner({}, run);
  runner.Reader("source").Reset(Numbers());
  runner.Startup(Buffer(attributes));
  const std::vector<ElementValue> expected = ReadAll(Numbers().get());
  Place found;
  std::vector<LoDTensor> element;
  for (const ElementValue& value : expected) {
    runner.Reader("out").ReadNext(&element);
    found = element[0].place();
    EXPECT_EQ(ValueOf({element[0].OnHost()}), value);
  }
  EXPECT_FALSE(runner.Reader("out").HasNext());
  return found;
}

TEST(CreateDoubleBufferReaderOp, YieldsElementsWhereTheyAreWanted) {
  const Place device(FakeDevice::Get());
  EXPECT_EQ(PlaceOf({}, Place()), Place());
  EXPECT_EQ(PlaceOf({}, device), device);
  EXPECT_EQ(PlaceOf({{"place", "s: \"AUTO\""}, {"depth", "i: 1"}}, device), device);
  EXPECT_EQ(PlaceOf({{"place", "s: \"CPU\""}}, device), Place());
  EXPECT_EQ(PlaceOf({{"place", "s: \"FAKE:0\""}, {"depth", "i: 5"}}, Place()), device);
}

TEST(CreateDoubleBufferReaderOp, NamesTheReaderByVariableOperatorAndLine) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.Startup(Buffer());
  EXPECT_EQ(runner.Reader("out").origin(),
            "reader 'out' (create_double_buffer_reader, startup.pbtxt:6)");
}

TEST(CreateDoubleBufferReaderOp, RefusesWrongAttributesWhenChecked) {
  ProgramRunner runner;
  runner.Reader("source").Reset(Numbers());
  runner.ExpectProblem(Buffer({{"depth", "i: 0"}}),
                       "attribute 'depth' is 0; it must be at least 1");
  runner.ExpectProblem(Buffer({{"depth", "i: -1"}}), "attribute 'depth' is -1");
  runner.ExpectProblem(Buffer({{"place", "s: \"GPU:9\""}}), "no place 'GPU:9'");
}

}  // namespace
}  // namespace millhopper
