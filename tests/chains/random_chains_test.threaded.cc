// SPDX-License-Identifier: Apache-2.0
// Random chains of readers, built by programs, against a model that knows nothing of Plan and Load.
//
// A failure prints a program text. MILLHOPPER_CHAIN_PROGRAM=FILE runs a text again, with the calls
// that its first line names. MILLHOPPER_CHAIN_FOLDER keeps the files that the program reads, so
// that `peek --set folder=...` can show the chain, unless its source is a number source.
// MILLHOPPER_CHAIN_CASES sets the number of cases, MILLHOPPER_CHAIN_SEED the first seed. F23 and
// F34 are entries in tests/faults.md.
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

#include "framework/memory/memory.h"
#include "framework/memory/memory_limit.h"
#include "tests/chains/chain_generator.h"
#include "tests/chains/chain_model.h"
#include "tests/chains/chain_runner.h"
#include "tests/chains/schedule.h"
#include "tests/fakes/fake_device.h"
#include "tests/fakes/sources.h"
#include "tests/testing.h"

namespace millhopper {
namespace {

// F23 and F34: any sequence of calls, on any number of workers and cores.
class RandomChains : public ::testing::TestWithParam<Schedule> {
 protected:
  void TearDown() override {
    EXPECT_EQ(LiveSourceBlocks(), 0);
    EXPECT_EQ(FakeDevice::Get()->TakeViolations(), std::vector<std::string>{});
  }
  const ScheduleInForce schedule_{GetParam()};
};

// Every schedule has its own cases; together they are twenty thousand.
TEST_P(RandomChains, YieldWhatTheModelYields) {
  const uint64_t cases = NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / kSchedules.size();
  const uint64_t first =
      NumberFromEnvironment("MILLHOPPER_CHAIN_SEED", 1) + GetParam().index * cases;
  for (uint64_t seed = first; seed < first + cases && !HasFailure(); ++seed) {
    RunChain(DrawChain(seed), seed);
  }
}

// Nearly all memory for work ahead of need is taken, so that only a few records have room. Now and
// then planning or loading ahead is refused, and the work is done again.
TEST_P(RandomChains, YieldTheSameWhereMemoryIsShort) {
  constexpr size_t kLimit = size_t{256} << 20;
  const uint64_t cases =
      NumberFromEnvironment("MILLHOPPER_CHAIN_CASES", 20000) / 10 / kSchedules.size();
  const uint64_t first = 1000000 + GetParam().index * cases;
  const LimitInForce limit(kLimit);
  for (uint64_t seed = first; seed < first + cases && !HasFailure(); ++seed) {
    const LittleRoomAhead little((seed % 8) * 512);
    RunChain(DrawChain(seed), seed);
  }
}

INSTANTIATE_TEST_SUITE_P(Under, RandomChains, ::testing::ValuesIn(kSchedules), NameOfSchedule);

TEST(RandomChain, MayHaveAnythingInIt) {
  std::string all;
  for (uint64_t seed = 1; seed <= 2000; ++seed) all += DrawChain(seed);
  for (const char* words : {"create_number_source",
                            "\"sequential\" b: true",
                            "\"ragged\" b: true",
                            "plan_error",
                            "load_error",
                            "jitter",
                            "create_random_data_generator",
                            "create_lanes_reader",
                            "\"lanes\" i: 5",
                            "\"stripe\" i: 3",
                            "create_recordio_file_reader",
                            "create_idx_file_reader",
                            "create_text_file_reader",
                            "create_fixed_file_reader",
                            "create_csv_file_reader",
                            "create_tsv_file_reader",
                            "create_jsonl_file_reader",
                            "create_libsvm_file_reader",
                            "create_multislot_file_reader",
                            "create_ctr_svm_file_reader",
                            "create_tfrecord_file_reader",
                            "create_mxnet_file_reader",
                            "create_tar_file_reader",
                            "create_npz_file_reader",
                            "create_mds_file_reader",
                            "create_columns_file_reader",
                            "missing=skip",
                            ".tar.gz",
                            "open_files",
                            "label_filename",
                            "label_file_names",
                            "shuffle_files",
                            "shuffle_chunks",
                            "shuffle_records",
                            "\"reshuffle\" b: false",
                            "\"deterministic\" b: false",
                            "_fluid_none",
                            "_fluid_snappy",
                            "_fluid_gzip",
                            "_go_none",
                            "_go_snappy",
                            "_go_gzip",
                            "_crc32c_none",
                            "_crc32c_snappy",
                            "_crc32c_gzip",
                            "_bad_",
                            "_odd_",
                            "_lf.txt",
                            "_crlf.txt",
                            "_open.txt",
                            ".txt.gz",
                            ".idx.gz",
                            ".fixed.gz",
                            "create_cache_reader",
                            "${folder}/cache",
                            "create_dedupe_reader",
                            "create_shuffle_reader",
                            "create_multi_pass_reader",
                            "create_custom_reader",
                            "create_shard_reader",
                            "create_filter_reader",
                            "create_unbatch_reader",
                            "create_take_reader",
                            "create_skip_reader",
                            "create_fake_reader",
                            "create_concat_reader",
                            "create_zip_reader",
                            "\"check_alignment\" b: true",
                            "create_mix_reader",
                            "\"stop\"",
                            "\"continue\"",
                            "\"repeat\"",
                            "\"steps\" longs: 0 longs: ",
                            "\"by\" s: \"bytes\"",
                            "\"by\" s: \"slot\"",
                            "create_bucket_reader",
                            "create_padded_batch_reader",
                            "create_token_batch_reader",
                            "\"sum\"",
                            "\"padded\"",
                            "create_window_reader",
                            "create_pack_reader",
                            "\"first_fit\"",
                            "\"best_fit\"",
                            "\"concat_then_split\"",
                            "\"truncate\"",
                            "\"split\"",
                            "\"is_empty\"",
                            "\"mean\"",
                            "\"scale\"",
                            "\"cast\"",
                            "\"concat\"",
                            "\"stack\"",
                            "\"discard_leftover\" b: true",
                            "\"CPU\"",
                            "\"fake:0\""}) {
    EXPECT_NE(all.find(words), std::string::npos) << words;
  }
}

// The operators that make the readers at the top of the programs in which several readers share
// one, and those below that one.
TEST(RandomChain, HasReadersOfEveryKindAboveAndBelowASharedOne) {
  std::set<std::string> above, below;
  for (uint64_t seed = 1; seed <= 6000; ++seed) {
    const auto program = Program::FromString(DrawChain(seed), "startup.pbtxt", ChainSettings());
    const std::string shared = ChainModel(program->desc()).Shared();
    bool behind = false;
    for (const proto::OpDesc& op : program->desc().blocks(0).ops()) {
      if (!shared.empty()) (behind ? above : below).insert(op.type());
      behind = behind || op.outputs(0).arguments(0) == shared;
    }
  }
  for (const char* type : {"shuffle", "batch", "double_buffer", "custom", "unbatch", "bucket",
                           "padded_batch", "token_batch", "window", "pack"}) {
    EXPECT_EQ(above.count(StrCat("create_", type, "_reader")), 1u) << type;
    EXPECT_EQ(below.count(StrCat("create_", type, "_reader")), 1u) << type;
  }
  for (const char* type : {"multi_pass", "shard", "filter", "take", "skip", "fake", "concat", "zip",
                           "mix", "cache", "dedupe"}) {
    EXPECT_EQ(below.count(StrCat("create_", type, "_reader")), 1u) << type;
  }
}

TEST(RandomChain, IsRunAgainFromWhatAFailurePrints) {
  const char* path = std::getenv("MILLHOPPER_CHAIN_PROGRAM");
  const std::string mark = "# calls: ";
  const std::string text = path == nullptr ? mark + "1\n" + DrawChain(1) : ReadFile(path);
  const size_t calls = text.find(mark);
  ASSERT_NE(calls, std::string::npos) << "no line begins with '" << mark << "'";
  for (const Schedule& schedule : kSchedules) {
    const ScheduleInForce in_force(schedule);
    RunChain(text, std::strtoull(text.c_str() + calls + mark.size(), nullptr, 10));
  }
}

}  // namespace
}  // namespace millhopper
