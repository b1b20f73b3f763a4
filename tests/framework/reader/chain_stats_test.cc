// SPDX-License-Identifier: Apache-2.0
#include "framework/reader/chain_stats.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace millhopper {
namespace {

TEST(ShortBytes, HasTwoOrThreeDigitsAndAUnit) {
  EXPECT_EQ(ShortBytes(0), "0");
  EXPECT_EQ(ShortBytes(1), "1B");
  EXPECT_EQ(ShortBytes(999), "999B");
  EXPECT_EQ(ShortBytes(1000), "1.0kB");
  EXPECT_EQ(ShortBytes(1536), "1.5kB");
  EXPECT_EQ(ShortBytes(64000000), "64MB");
  EXPECT_EQ(ShortBytes(999600000), "1.0GB");
  EXPECT_EQ(ShortBytes(UINT64_MAX), "18EB");
}

TEST(ShortSeconds, HasThreeDigitsThatCount) {
  EXPECT_EQ(ShortSeconds(0), "0");
  EXPECT_EQ(ShortSeconds(1e-9), "0");
  EXPECT_EQ(ShortSeconds(2e-6), "0.000002");
  EXPECT_EQ(ShortSeconds(0.001234), "0.00123");
  EXPECT_EQ(ShortSeconds(0.25), "0.250");
  EXPECT_EQ(ShortSeconds(3.14159), "3.14");
  EXPECT_EQ(ShortSeconds(1234.5), "1234");
}

ChainStats Batches() {
  ChainStats files;
  files.kind = "open_files";
  files.name = "files";
  files.planned = 1100;
  files.elements = 1000;
  files.bytes_read = 64000000;
  files.load_seconds = 0.5;
  files.wait_seconds = 0.0125;
  files.in_store = 100;
  files.memory_bytes = 2500000;
  ChainStats batches;
  batches.kind = "create_batch_reader";
  batches.name = "batches";
  batches.planned = batches.elements = 10;
  batches.load_seconds = 1.25;
  batches.wait_seconds = 2;
  batches.below.push_back(files);
  return batches;
}

TEST(ToTable, HasALineForEachReader) {
  ChainStats unnamed;
  EXPECT_EQ(ToTable({Batches(), unnamed}),
            "reader                         elements  planned  bytes read  loading s  waited s  in "
            "store  "
            "memory\n"
            "batches (create_batch_reader)        10       10           0       1.25      2.00     "
            "    0  "
            "     0\n"
            "  files (open_files)               1000     1100        64MB      0.500    0.0125     "
            "  100  "
            " 2.5MB\n"
            "reader                                0        0           0          0         0     "
            "    0  "
            "     0\n");
}

TEST(ToTable, ShortensNamesOfManySteps) {
  ChainStats reader;
  reader.name = "files." + std::string(100, 'x') + ".normalize";
  const std::string row =
      "\nfiles." + std::string(24, 'x') + "..." + std::string(30, 'x') + ".normalize (reader) ";
  EXPECT_NE(ToTable({reader}).find(row), std::string::npos) << ToTable({reader});
}

TEST(ToTable, TellsHowFarLanesAreAndWhichIsSlow) {
  ChainStats batches = Batches();
  batches.lanes = {{512, 0.25}, {520, 1.5}, {500, 0.25}};
  const std::string table = ToTable({batches});
  EXPECT_EQ(
      table.substr(ToTable({Batches()}).size()),
      "batches (create_batch_reader): 3 lanes, which have planned 500 to 520 elements; lane 1 "
      "took 1.50 of 2.00 s\n");
  batches.Add(batches);
  EXPECT_EQ(batches.lanes[2].elements, 1000u);
}

TEST(ToTable, TellsWhatAShardThrowsAway) {
  ChainStats shard = Batches();
  shard.kind = "create_shard_reader";
  shard.planned = 300;
  EXPECT_NE(
      ToTable({shard}).find("\nbatches (create_shard_reader): of 1100 elements, which the "
                            "readers below it plan, and make if they look at elements (filter,"
                            " pack, ...), 800 are those of other processes; lanes"),
      std::string::npos)
      << ToTable({shard});
  shard.planned = 1000;  // of lanes, which are a little ahead
  EXPECT_EQ(ToTable({shard}).find("other processes"), std::string::npos);
  shard.planned = 300;
  shard.below[0].bytes_read = 0;  // what is in memory costs nothing
  EXPECT_EQ(ToTable({shard}).find("other processes"), std::string::npos);
}

TEST(ChainStats, AddsWhatWasCountedBefore) {
  ChainStats before = Batches();
  before.ClearPresent();
  EXPECT_EQ(before.below[0].in_store, 0u);
  EXPECT_EQ(before.below[0].memory_bytes, 0u);
  ChainStats now = Batches();
  now.Add(before);
  EXPECT_EQ(now.elements, 20u);
  EXPECT_EQ(now.wait_seconds, 4);
  EXPECT_EQ(now.below[0].planned, 2200u);
  EXPECT_EQ(now.below[0].elements, 2000u);
  EXPECT_EQ(now.below[0].bytes_read, 128000000u);
  EXPECT_EQ(now.below[0].load_seconds, 1);
  EXPECT_EQ(now.below[0].in_store, 100u) << "of this moment";
  EXPECT_EQ(now.below[0].memory_bytes, 2500000u);
}

}  // namespace
}  // namespace millhopper
