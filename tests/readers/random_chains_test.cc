// SPDX-License-Identifier: Apache-2.0
// Random chains of readers against a model that knows nothing of Plan and Load. A failure prints
// the seed and the chain. MILLRACE_CHAIN_CASES sets how many are drawn, MILLRACE_CHAIN_SEED the
// first.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/error.h"
#include "framework/random.h"
#include "framework/reader_holder.h"
#include "readers/batch_reader.h"
#include "readers/double_buffer_reader.h"
#include "readers/map_reader.h"
#include "readers/multi_pass_reader.h"
#include "readers/shuffle_reader.h"
#include "tests/fake_device.h"
#include "tests/sources.h"
#include "tests/testing.h"

namespace millrace {
namespace {

#ifdef __SANITIZE_THREAD__
constexpr uint64_t kCases = 300;
#else
constexpr uint64_t kCases = 3000;
#endif

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

enum class Kind { kShuffle, kBatch, kStack, kMultiPass, kDoubleBuffer, kToDevice, kMap, kHandle };

struct Stage {
  Kind kind;
  int64_t number;  // window, batch size, passes or depth
  bool discard;    // of a batch
};

struct Chain {
  SourceSpec source;
  bool sequential = false;
  std::vector<Stage> stages;
};

std::string ToString(const Chain& chain) {
  const SourceSpec& source = chain.source;
  std::string text =
      StrCat(chain.sequential ? "sequential" : "planned", source.ragged ? " ragged" : "",
             source.jitter != 0 ? " jitter" : "", " source of ", source.records);
  if (source.plan_error >= 0) text += StrCat(", plan error at ", source.plan_error);
  if (source.load_error >= 0) text += StrCat(", load error at ", source.load_error);
  const char* const names[] = {"shuffle",       "batch",     "stack", "multi_pass",
                               "double_buffer", "to_device", "map",   "handle"};
  for (const Stage& stage : chain.stages) {
    text += StrCat(" > ", names[static_cast<int>(stage.kind)], "(", stage.number,
                   stage.discard ? ", discard)" : ")");
  }
  return text;
}

// ---- The model: what a chain yields, as rulings 1 to 6 of the design say. ----

struct ModelElement {
  std::vector<int64_t> dims;
  std::vector<uint64_t> offsets;  // of the level of detail; empty without
  std::vector<int64_t> values;
  std::string error;  // what loading it throws, or ""
};

struct ModelStream {
  std::vector<ModelElement> elements;
  std::string error;  // behind them, or "" for the end
};

RandomKey KeyOf(const Stage& stage) {
  return RandomKey(7, static_cast<uint64_t>(stage.number), "shuffled");
}

ModelStream ModelOfSource(const SourceSpec& source) {
  ModelStream stream;
  for (int64_t i = 0; i < source.records && stream.error.empty(); ++i) {
    if (i == source.plan_error) {
      stream.error = StrCat("record ", i, " cannot be planned");
      break;
    }
    ModelElement element;
    const int64_t length = source.ragged ? i % 4 : 1;
    element.dims = {length, 1};
    if (source.ragged) element.offsets = {0, static_cast<uint64_t>(length)};
    element.values.assign(static_cast<size_t>(length), i);
    if (i == source.load_error) element.error = StrCat("record ", i, " cannot be loaded");
    stream.elements.push_back(element);
  }
  return stream;
}

ModelElement Joined(const std::vector<ModelElement>& parts, bool stack) {
  ModelElement whole = parts[0];
  for (size_t i = 1; i < parts.size(); ++i) {
    const ModelElement& part = parts[i];
    whole.dims[0] += part.dims[0];
    const uint64_t base = whole.offsets.empty() ? 0 : whole.offsets.back();
    for (size_t k = 1; k < part.offsets.size(); ++k) {
      whole.offsets.push_back(base + part.offsets[k]);
    }
    whole.values.insert(whole.values.end(), part.values.begin(), part.values.end());
    if (whole.error.empty()) whole.error = part.error;
  }
  if (stack) {
    whole.dims[0] = parts[0].dims[0];
    whole.dims.insert(whole.dims.begin(), static_cast<int64_t>(parts.size()));
  }
  return whole;
}

ModelStream Model(const Chain& chain, size_t depth, uint64_t pass) {
  if (depth == 0) return ModelOfSource(chain.source);
  const Stage& stage = chain.stages[depth - 1];
  ModelStream out;
  if (stage.kind == Kind::kMultiPass) {
    const auto passes = static_cast<uint64_t>(stage.number);
    for (uint64_t k = 0; k < passes && out.error.empty(); ++k) {
      const ModelStream in = Model(chain, depth - 1, pass * passes + k);
      out.elements.insert(out.elements.end(), in.elements.begin(), in.elements.end());
      out.error = in.error;
    }
    return out;
  }
  const ModelStream in = Model(chain, depth - 1, pass);
  if (stage.kind == Kind::kBatch || stage.kind == Kind::kStack) {
    std::vector<ModelElement> parts;
    for (const ModelElement& element : in.elements) {
      parts.push_back(element);
      if (parts.size() < static_cast<size_t>(stage.number)) continue;
      out.elements.push_back(Joined(parts, stage.kind == Kind::kStack));
      parts.clear();
    }
    out.error = in.error;
    if (parts.empty()) return out;
    const ModelElement leftover = Joined(parts, stage.kind == Kind::kStack);
    if (in.error.empty() && !stage.discard) out.elements.push_back(leftover);
    if (!in.error.empty() && !leftover.error.empty()) out.error = leftover.error;
    return out;
  }
  if (stage.kind == Kind::kShuffle) {
    const RandomKey key = KeyOf(stage);
    std::vector<ModelElement> window;
    size_t next = 0;
    while (next < in.elements.size() && window.size() < static_cast<size_t>(stage.number)) {
      window.push_back(in.elements[next++]);
    }
    for (uint64_t drawn = 0; !window.empty(); ++drawn) {
      ModelElement& place = window[key.Below(window.size(), pass, drawn)];
      out.elements.push_back(place);
      if (next < in.elements.size()) {
        place = in.elements[next++];
      } else {
        place = window.back();
        window.pop_back();
      }
    }
    out.error = in.error;
    return out;
  }
  out = in;
  if (stage.kind == Kind::kMap) {
    for (ModelElement& element : out.elements) {
      for (int64_t& value : element.values) value += 1000;
    }
  }
  return out;
}

ElementValue Expected(const ModelElement& element) {
  SlotValue slot{DataType::kInt64, element.dims, {}, {}};
  if (!element.offsets.empty()) slot.lod = {element.offsets};
  slot.bytes.assign(reinterpret_cast<const char*>(element.values.data()),
                    8 * element.values.size());
  return {slot};
}

// ---- The chain itself. ----

// A handle of a reader that nobody else has a handle of.
std::unique_ptr<ReaderBase> OnlyHandle(std::unique_ptr<ReaderBase> reader) {
  ReaderHolder holder;
  holder.Reset(std::move(reader));
  return holder.NewHandle();
}

std::unique_ptr<ReaderBase> AddThousand(std::unique_ptr<ReaderBase> reader) {
  const std::vector<SlotSpec> slots = reader->slots();
  return std::make_unique<MapReader>(std::move(reader), slots,
                                     [](std::vector<LoDTensor>* in, std::vector<LoDTensor>* out) {
                                       *out = std::move(*in);
                                       int64_t* values = (*out)[0].mutable_data<int64_t>();
                                       for (int64_t i = 0; i < (*out)[0].numel(); ++i)
                                         values[i] += 1000;
                                     });
}

std::unique_ptr<ReaderBase> Build(const Chain& chain) {
  std::unique_ptr<ReaderBase> reader =
      chain.sequential ? MakeSequentialSource(chain.source) : MakePlannedSource(chain.source);
  for (const Stage& stage : chain.stages) {
    switch (stage.kind) {
      case Kind::kShuffle:
        reader = std::make_unique<ShuffleReader>(std::move(reader), stage.number, KeyOf(stage));
        break;
      case Kind::kBatch:
      case Kind::kStack:
        reader = std::make_unique<BatchReader>(
            std::move(reader), stage.number, stage.discard,
            stage.kind == Kind::kStack ? BatchMode::kStack : BatchMode::kConcat);
        break;
      case Kind::kMultiPass:
        reader = std::make_unique<MultiPassReader>(std::move(reader), stage.number);
        break;
      case Kind::kDoubleBuffer:
        reader = std::make_unique<DoubleBufferReader>(std::move(reader), Place(), stage.number);
        break;
      case Kind::kToDevice:
        reader = std::make_unique<DoubleBufferReader>(std::move(reader), Place(FakeDevice::Get()),
                                                      stage.number);
        break;
      case Kind::kMap:
        reader = AddThousand(std::move(reader));
        break;
      case Kind::kHandle:
        reader = OnlyHandle(std::move(reader));
        break;
    }
  }
  return reader;
}

// ---- Drawing. ----

class Dice {
 public:
  explicit Dice(uint64_t seed) : bits_(seed) {}
  int64_t Between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits_() % static_cast<uint64_t>(high - low + 1));
  }
  bool OneIn(int64_t n) { return Between(1, n) == 1; }

 private:
  std::mt19937_64 bits_;
};

int64_t DrawSize(Dice* dice) {
  return dice->OneIn(8) ? dice->Between(60, 300) : dice->Between(1, 17);
}

Chain DrawChain(uint64_t seed) {
  Dice dice(seed);
  Chain chain;
  chain.sequential = dice.OneIn(4);
  int multi_passes = 0;
  bool batched = false;
  bool on_device = false;
  chain.source.ragged = dice.OneIn(3);
  for (int64_t depth = dice.Between(0, 6); depth > 0; --depth) {
    Stage stage{static_cast<Kind>(dice.Between(0, 7)), DrawSize(&dice), dice.OneIn(2)};
    if (on_device) {  // what is on a device can only be passed on
      const Kind kinds[] = {Kind::kShuffle, Kind::kMultiPass, Kind::kHandle};
      stage.kind = kinds[dice.Between(0, 2)];
    }
    if (stage.kind == Kind::kMultiPass && ++multi_passes > 2) stage.kind = Kind::kShuffle;
    if (stage.kind == Kind::kStack && (batched || chain.source.ragged)) stage.kind = Kind::kBatch;
    const bool batch = stage.kind == Kind::kBatch || stage.kind == Kind::kStack;
    if (!batch) stage.discard = false;
    if (stage.kind == Kind::kMultiPass) stage.number = dice.Between(1, 3);
    if (stage.kind == Kind::kDoubleBuffer || stage.kind == Kind::kToDevice) {
      stage.number = dice.Between(1, 4);
    }
    batched |= batch;
    on_device |= stage.kind == Kind::kToDevice;
    chain.stages.push_back(stage);
  }
  // Counts lie around what can go wrong: nothing, one, a size of the chain, a block of the source.
  switch (dice.Between(0, 4)) {
    case 0:
      chain.source.records = dice.Between(0, 1);
      break;
    case 1:
      chain.source.records = 16 * dice.Between(1, 3) + dice.Between(-1, 1);
      break;
    case 2:
      if (!chain.stages.empty()) {
        chain.source.records = chain.stages[0].number * dice.Between(1, 2) + dice.Between(-1, 1);
        break;
      }
      [[fallthrough]];
    case 3:
      chain.source.records = dice.Between(0, 60);
      break;
    default:
      chain.source.records = dice.Between(200, 520);
  }
  const int64_t last = chain.source.records;
  if (last > 0 && dice.OneIn(4)) chain.source.plan_error = dice.Between(0, last - 1);
  if (last > 0 && dice.OneIn(4) && !chain.sequential) {
    chain.source.load_error = dice.Between(0, last - 1);
  }
  if (dice.OneIn(10)) chain.source.jitter = seed + 1;
  return chain;
}

// ---- Comparing. ----

// "" if the function does not throw, else the first line of the text.
template <typename F>
std::string TextOf(const F& function) {
  try {
    function();
  } catch (const EndOfData&) {
    return "end of data";
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

void ReadPass(ReaderBase* reader, const ModelStream& want, int64_t stop, Dice* dice) {
  std::vector<LoDTensor> element;
  for (size_t i = 0;; ++i) {
    if (stop >= 0 && i == static_cast<size_t>(stop)) {
      if (dice->OneIn(2)) TextOf([&] { reader->HasNext(); });  // planned, never read
      return;
    }
    SCOPED_TRACE(StrCat("element ", i));
    const bool behind = i == want.elements.size();
    const std::string error = behind ? want.error : want.elements[i].error;
    bool has_next = false;
    for (int64_t asked = dice->Between(0, 2); asked > 0; --asked) {
      const std::string thrown = TextOf([&] { has_next = reader->HasNext(); });
      ASSERT_EQ(thrown, behind ? want.error : "");
      ASSERT_EQ(has_next, !behind);
    }
    const std::string thrown = TextOf([&] { reader->ReadNext(&element); });
    if (behind && error.empty()) {
      ASSERT_EQ(thrown, "end of data");
      ASSERT_EQ(TextOf([&] { reader->ReadNext(&element); }), "end of data");
      ASSERT_EQ(TextOf([&] { has_next = reader->HasNext(); }), "");
      ASSERT_FALSE(has_next);
      return;
    }
    ASSERT_EQ(thrown, error);
    if (!error.empty()) {
      ASSERT_EQ(TextOf([&] { reader->HasNext(); }), error);
      ASSERT_EQ(TextOf([&] { reader->ReadNext(&element); }), error);
      ASSERT_EQ(TextOf([&] { reader->HasNext(); }), error);
      return;
    }
    ASSERT_EQ(ValueOf(element), Expected(want.elements[i]));
  }
}

void RunChain(uint64_t seed) {
  const Chain chain = DrawChain(seed);
  SCOPED_TRACE(StrCat("seed ", seed, ": ", ToString(chain)));
  Dice dice(seed ^ 0x5eed);
  const std::unique_ptr<ReaderBase> reader = Build(chain);
  for (uint64_t pass = 0; pass < 4; ++pass) {
    SCOPED_TRACE(StrCat("pass ", pass));
    const ModelStream want = Model(chain, chain.stages.size(), pass);
    const int64_t stop = dice.OneIn(3) ? dice.Between(0, 10) : -1;
    ReadPass(reader.get(), want, stop, &dice);
    if (::testing::Test::HasFatalFailure()) return;
    if (dice.OneIn(8)) return;  // destroyed wherever it is
    reader->ReInit();
  }
}

// Several readers on one source, each on its own thread: together they get each record once.
void RunShared(uint64_t seed) {
  Dice dice(seed);
  SourceSpec source;
  source.records = dice.Between(0, 300);
  source.jitter = dice.OneIn(10) ? seed + 1 : 0;
  source.ledger = std::make_shared<Ledger>(source.records);
  ReaderHolder holder;
  holder.Reset(MakePlannedSource(source));
  const auto count = static_cast<size_t>(dice.Between(2, 3));
  SCOPED_TRACE(StrCat("seed ", seed, ": ", count, " readers on ", source.records, " records"));
  std::vector<std::unique_ptr<ReaderBase>> readers;
  for (size_t k = 0; k < count; ++k) {
    std::unique_ptr<ReaderBase> reader = holder.NewHandle();
    if (dice.OneIn(2)) {
      reader = std::make_unique<ShuffleReader>(std::move(reader), DrawSize(&dice),
                                               RandomKey(0, k, "shared"));
    }
    reader = std::make_unique<BatchReader>(std::move(reader), dice.Between(1, 9), false,
                                           BatchMode::kConcat);
    if (dice.OneIn(2)) {
      reader = std::make_unique<DoubleBufferReader>(std::move(reader), Place(), dice.Between(1, 3));
    }
    readers.push_back(std::move(reader));
  }
  for (int pass = 1; pass <= 3; ++pass) {
    std::vector<std::thread> threads;
    threads.reserve(readers.size());
    for (const auto& reader : readers) threads.emplace_back([&reader] { ReadAll(reader.get()); });
    for (std::thread& thread : threads) thread.join();
    for (int64_t i = 0; i < source.records; ++i) {
      ASSERT_EQ(source.ledger->loads(i), pass) << "record " << i;
    }
    for (const auto& reader : readers) reader->ReInit();
  }
}

class RandomChains : public ::testing::TestWithParam<int> {
 protected:
  void TearDown() override {
    EXPECT_EQ(LiveSourceBlocks(), 0);
    EXPECT_EQ(FakeDevice::Get()->TakeViolations(), std::vector<std::string>{});
  }
  const PoolSize pool_{GetParam()};
  const uint64_t cases_ = NumberFromEnvironment("MILLRACE_CHAIN_CASES", kCases);
  const uint64_t first_ = NumberFromEnvironment("MILLRACE_CHAIN_SEED", 1);
};

TEST_P(RandomChains, YieldWhatTheModelYields) {
  for (uint64_t i = 0; i < cases_ && !HasFatalFailure(); ++i) RunChain(first_ + i);
}

TEST_P(RandomChains, YieldEachRecordOfASharedSourceOnce) {
  for (uint64_t i = 0; i < cases_ / 10 && !HasFatalFailure(); ++i) RunShared(first_ + i);
}

INSTANTIATE_TEST_SUITE_P(Workers, RandomChains, ::testing::Values(0, 1, 2, 7),
                         ::testing::PrintToStringParamName());

}  // namespace
}  // namespace millrace
