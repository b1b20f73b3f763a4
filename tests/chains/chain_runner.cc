// SPDX-License-Identifier: Apache-2.0
#include "tests/chains/chain_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include "framework/base/error.h"
#include "framework/base/stop.h"
#include "framework/reader/position.h"
#include "framework/reader/reader.h"
#include "framework/reader/reader_holder.h"
#include "tests/chains/chain_generator.h"
#include "tests/chains/chain_model.h"
#include "tests/chains/dice.h"
#include "tests/chains/named_files.h"
#include "tests/fakes/fake_device.h"
#include "tests/files/record_files.h"
#include "tests/framework/program/program_runner.h"

namespace millhopper {
namespace {

constexpr uint64_t kPasses = 3;

// The text of what a function throws, "end of data", or "" if it throws nothing.
template <typename F>
std::string TextOf(const F& function) {
  try {
    function();
  } catch (const EndOfData&) {
    return "end of data";
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Expects an error with these words, or no error if there are no words.
::testing::AssertionResult Has(const std::string& thrown, const std::string& words) {
  if (words.empty() ? thrown.empty() : thrown.find(words) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "thrown: " << thrown << "\nwanted: " << words;
}

// If the pass comes to its end, what the reader says of its length must be right.
void CheckLength(ReaderHolder* reader, const ExpectedStream& want) {
  const bool whole =
      want.error.empty() && std::all_of(want.elements.begin(), want.elements.end(),
                                        [](const ExpectedElement& e) { return e.error.empty(); });
  if (!whole) return;
  const size_t length = want.elements.size();
  ASSERT_EQ(reader->PassLength().value_or(length), length);
}

// Asks for the next element as a thread does that leaves its waits for others, again and again, and
// then continues.
bool HasNextLeaving(ReaderHolder* reader, Dice* dice) {
  constexpr int64_t kMost = int64_t{1} << 40;  // a thread that asks so often waits for ever
  for (int64_t most = 1;; most *= 2) {
    std::atomic<int64_t> patience{dice->Between(0, most)};
    const auto is_over = [&patience] { return patience-- <= 0; };
    try {
      const HelpScope scope(is_over);
      return reader->HasNext();
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kCancelled || most > kMost) throw;
    }
  }
}

void ReadPass(ReaderHolder* reader, const ExpectedStream& want, int64_t stop, Dice* dice) {
  const bool leaves = dice->OneIn(4);
  ASSERT_NO_FATAL_FAILURE(CheckLength(reader, want));
  std::vector<LoDTensor> element;
  for (size_t i = 0;; ++i) {
    if (stop >= 0 && i == static_cast<size_t>(stop)) {
      if (dice->OneIn(2)) TextOf([&] { reader->HasNext(); });  // plans one that is never read
      return;
    }
    const bool behind = i == want.elements.size();
    const std::string& error = behind ? want.error : want.elements[i].error;
    bool has_next = false;
    for (int64_t asked = dice->Between(0, 2); asked > 0; --asked) {
      const std::string thrown =
          TextOf([&] { has_next = leaves ? HasNextLeaving(reader, dice) : reader->HasNext(); });
      ASSERT_TRUE(Has(thrown, behind ? want.error : "")) << "HasNext at element " << i;
      ASSERT_EQ(has_next, !behind) << "at element " << i;
    }
    const std::string thrown = TextOf([&] { reader->ReadNext(&element); });
    if (behind && error.empty()) {
      ASSERT_EQ(thrown, "end of data") << "at element " << i;
      ASSERT_EQ(TextOf([&] { reader->ReadNext(&element); }), thrown);
      ASSERT_EQ(TextOf([&] { has_next = reader->HasNext(); }), "");
      ASSERT_FALSE(has_next);
      return;
    }
    ASSERT_TRUE(Has(thrown, error)) << "at element " << i;
    if (!error.empty()) {
      ASSERT_EQ(TextOf([&] { reader->HasNext(); }), thrown);
      ASSERT_EQ(TextOf([&] { reader->ReadNext(&element); }), thrown);
      return;
    }
    ASSERT_EQ(ValueOf(element), want.elements[i].value) << "at element " << i;
  }
}

void RunOrdered(ReaderHolder* reader, const ChainModel& model, const std::string& top, Dice* dice) {
  for (uint64_t pass = 0; pass < kPasses; ++pass) {
    const int64_t stop = dice->OneIn(3) ? dice->Between(0, 10) : -1;
    ReadPass(reader, model.Pass(top, pass), stop, dice);
    if (::testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "in pass " << pass;
      return;
    }
    if (dice->OneIn(8)) return;  // the reader is destroyed in the middle
    reader->ReInit();
    if (!dice->OneIn(8)) continue;
    reader->ReInit();  // leaves out a pass
    ++pass;
  }
}

// How often each value occurs; types are counted apart.
using Values = std::map<std::string, int64_t>;

// A value of the type, as bytes.
std::string BytesOf(DataType dtype, int value) {
  const auto as = [value](auto zero) {
    const auto same = static_cast<decltype(zero)>(value);
    return std::string(reinterpret_cast<const char*>(&same), sizeof(same));
  };
  switch (dtype) {
    case DataType::kUint8:
      return as(uint8_t{});
    case DataType::kInt16:
      return as(int16_t{});
    case DataType::kInt64:
      return as(int64_t{});
    default:
      Require(dtype == DataType::kFp32, "no program of these has such a slot");
      return as(float{});
  }
}

// How much is padded, and the numbers that packing adds (int32), depend on the order of elements.
void Count(const ElementValue& element, Values* values) {
  for (const SlotValue& slot : element) {
    if (slot.dtype == DataType::kInt32) continue;
    const size_t size = SizeOf(slot.dtype);
    const std::string padding =
        BytesOf(slot.dtype, slot.dtype == DataType::kUint8 ? kPaddingOfText : kPadding);
    for (size_t i = 0; i < slot.bytes.size(); i += size) {
      const std::string value = slot.bytes.substr(i, size);
      if (value != padding) ++(*values)[value];
    }
  }
}

// Reads up to `most` elements.
void ReadInto(ReaderHolder* reader, int64_t most, Values* values) {
  std::vector<LoDTensor> element;
  for (; most > 0 && reader->HasNext(); --most) {
    reader->ReadNext(&element);
    Count(ValueOf(element), values);
  }
}

void RunUnordered(const std::vector<ReaderHolder*>& readers, const ChainModel& model,
                  const std::string& source, Dice* dice) {
  for (uint64_t pass = 0; pass < kPasses; ++pass) {
    Values want;
    for (const ExpectedElement& element : model.Pass(source, pass).elements) {
      Count(element.value, &want);
    }
    const bool early = dice->OneIn(3);
    std::vector<Values> got(readers.size());
    if (dice->OneIn(2)) {  // each reader on its own thread
      std::vector<std::thread> threads;
      threads.reserve(readers.size());
      for (size_t k = 0; k < readers.size(); ++k) {
        const int64_t most = early ? dice->Between(0, 10) : INT64_MAX;
        threads.emplace_back([&, k, most] { ReadInto(readers[k], most, &got[k]); });
      }
      for (std::thread& thread : threads) thread.join();
    } else {  // by turns
      for (int64_t turn = early ? dice->Between(0, 20) : 300; turn > 0; --turn) {
        const auto k = static_cast<size_t>(dice->Between(0, static_cast<int64_t>(got.size()) - 1));
        ReadInto(readers[k], dice->Between(0, 3), &got[k]);
      }
      for (size_t k = 0; !early && k < got.size(); ++k) ReadInto(readers[k], INT64_MAX, &got[k]);
    }
    Values all;
    for (const Values& values : got) {
      for (const auto& [value, count] : values) all[value] += count;
    }
    for (const auto& [value, count] : all) ASSERT_LE(count, want[value]) << "in pass " << pass;
    if (!early) {
      ASSERT_EQ(all, want) << "in pass " << pass;
    }
    if (dice->OneIn(8)) return;
    for (ReaderHolder* reader : readers) reader->ReInit();
  }
}

}  // namespace

Settings ChainSettings() {
  static const auto* folder = new std::string([] {
    FakeDevice::Get();  // registers the device that programs name
    const char* kept = std::getenv("MILLHOPPER_CHAIN_FOLDER");
    return kept == nullptr ? NewFolder("chains") : std::string(kept);
  }());
  return {{"folder", *folder}};
}

std::shared_ptr<const Program> LoadChain(const std::string& text) {
  std::shared_ptr<const Program> program =
      Program::FromString(text, "startup.pbtxt", ChainSettings());
  for (const std::string& file : ChainModel(program->desc()).Files()) MakeNamedFile(file);
  return program;
}

void RunChain(const std::string& text, uint64_t calls) {
  SCOPED_TRACE("# calls: " + std::to_string(calls) + "\n" + text);
  const std::shared_ptr<const Program> program = LoadChain(text);
  const ChainModel model(program->desc());
  Dice dice(calls);
  Scope scope;
  try {
    Executor().Run(program, ProgramRole::kStartup, &scope);
    std::vector<ReaderHolder*> readers;
    for (const std::string& top : model.Tops()) {
      readers.push_back(scope.Var(top)->GetMutable<ReaderHolder>());
    }
    if (model.Ordered()) {
      RunOrdered(readers[0], model, model.Tops()[0], &dice);
    } else {
      const std::string shared = model.Shared();
      RunUnordered(readers, model, shared.empty() ? model.Tops()[0] : shared, &dice);
    }
  } catch (const std::exception& error) {
    FAIL() << error.what();
  }
}

std::vector<std::string> OutcomeOf(const std::string& text, uint64_t passes) {
  const std::shared_ptr<const Program> program = LoadChain(text);
  Scope scope;
  Executor().Run(program, ProgramRole::kStartup, &scope);
  auto* reader = scope.Var(ChainModel(program->desc()).Tops()[0])->GetMutable<ReaderHolder>();
  std::vector<std::string> outcome;
  std::vector<LoDTensor> element;
  for (uint64_t pass = 0; pass < passes; ++pass) {
    for (std::string thrown; thrown.empty();) {
      thrown = TextOf([&] { reader->ReadNext(&element); });
      outcome.push_back(thrown.empty() ? DigestOf(ValueOf(element)) : thrown);
    }
    reader->ReInit();
  }
  return outcome;
}

std::vector<std::string> ResumedOutcomeOf(const std::string& text, uint64_t passes, uint64_t seed) {
  constexpr int kWorkers[] = {0, 1, 2, 7};
  const std::shared_ptr<const Program> program = LoadChain(text);
  const std::string top = ChainModel(program->desc()).Tops()[0];
  Dice dice(seed);
  std::optional<PoolSize> pool;
  std::unique_ptr<Scope> scope;
  ReaderHolder* reader = nullptr;
  const auto make = [&](const std::string& position) {
    scope.reset();
    pool.reset();
    pool.emplace(kWorkers[dice.Between(0, 3)]);
    scope = std::make_unique<Scope>();
    Executor().Run(program, ProgramRole::kStartup, scope.get());
    reader = scope->Var(top)->GetMutable<ReaderHolder>();
    if (position.empty()) {
      reader->ExpectSave();
    } else {
      reader->Restore(Position::Parse(position));
    }
  };
  make("");
  std::vector<std::string> outcome;
  std::vector<LoDTensor> element;
  for (uint64_t pass = 0; pass < passes; ++pass) {
    for (std::string thrown; thrown.empty();) {
      if (dice.OneIn(4)) {
        if (dice.OneIn(2)) TextOf([&] { reader->HasNext(); });
        make(reader->Save().Serialize());
      }
      thrown = TextOf([&] { reader->ReadNext(&element); });
      outcome.push_back(thrown.empty() ? DigestOf(ValueOf(element)) : thrown);
    }
    if (dice.OneIn(4)) make(reader->Save().Serialize());
    reader->ReInit();
  }
  return outcome;
}

void ResumeShared(const std::string& text, uint64_t seed) {
  constexpr int kWorkers[] = {0, 1, 2, 7};
  const std::shared_ptr<const Program> program = LoadChain(text);
  const ChainModel model(program->desc());
  Dice dice(seed);
  std::optional<PoolSize> pool;
  std::unique_ptr<Scope> scope;
  ReaderHolder::ReadersByName readers;
  const auto make = [&] {
    scope.reset();
    pool.reset();
    pool.emplace(kWorkers[dice.Between(0, 3)]);
    scope = std::make_unique<Scope>();
    Executor().Run(program, ProgramRole::kStartup, scope.get());
    for (const std::string& top : model.Tops()) {
      readers[top] = scope->Var(top)->GetMutable<ReaderHolder>();
    }
  };
  make();
  ReaderHolder::ExpectSaveOfAll(readers);
  for (uint64_t pass = 0; pass < kPasses; ++pass) {
    Values want, got;
    for (const ExpectedElement& element : model.Pass(model.Shared(), pass).elements) {
      Count(element.value, &want);
    }
    for (bool more = true; more;) {
      more = false;
      for (const auto& [name, reader] : readers) {
        ReadInto(reader, dice.Between(0, 4), &got);
        more = reader->HasNext() || more;
      }
      if (!dice.OneIn(3)) continue;
      ReaderHolder::PositionsByName saved;
      for (const auto& [name, position] : ReaderHolder::SaveAll(readers)) {
        saved.emplace(name, Position::Parse(position.Serialize()));
      }
      make();
      ReaderHolder::RestoreAll(readers, saved);
    }
    EXPECT_EQ(got, want) << "in pass " << pass;
    for (const auto& entry : readers) entry.second->ReInit();
  }
}

}  // namespace millhopper
