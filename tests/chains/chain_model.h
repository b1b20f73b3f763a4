// SPDX-License-Identifier: Apache-2.0
// What the readers of a startup program yield, element by element, as the rulings of the design
// say. The model knows no tickets, chunks or threads.
#ifndef MILLHOPPER_TESTS_CHAINS_CHAIN_MODEL_H_
#define MILLHOPPER_TESTS_CHAINS_CHAIN_MODEL_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/program/program.h"
#include "tests/chains/combine_model.h"
#include "tests/chains/expected_stream.h"
#include "tests/chains/named_files.h"

namespace millhopper {

// Models programs that chain_generator.h draws, run with seed 0. The program must outlive the
// model.
class ChainModel {
 public:
  explicit ChainModel(const proto::ProgramDesc& program) : program_(program) {}

  // What this reader yields in pass number `pass`.
  ExpectedStream Pass(const std::string& reader, uint64_t pass) const;

  // The readers that no other reader reads.
  std::vector<std::string> Tops() const;
  // The reader that several others read, or "" if there is none.
  std::string Shared() const;
  // False if timing may decide the order of elements.
  bool Ordered() const;
  // The files that the program reads.
  std::vector<std::string> Files() const;

 private:
  struct Lanes {
    std::vector<ExpectedStream> lanes;
    size_t stripe;
  };

  // What each lane of a reader yields, if it has lanes.
  std::optional<Lanes> LanesOf(const std::string& reader, uint64_t pass) const;
  // What a decorated reader makes of what the reader below yields, in lane number `lane` of them.
  ExpectedStream Decorated(const proto::OpDesc& op, ExpectedStream in, uint64_t pass,
                           size_t lane = 0, size_t lanes = 1) const;
  const proto::OpDesc& Creator(const std::string& reader) const;
  ExpectedStream Files(const proto::OpDesc& op, uint64_t pass) const;
  // The content of each file of an operator, in chunks or whole.
  std::vector<std::vector<ExpectedStream>> PartsOfFiles(const proto::OpDesc& op,
                                                        bool by_chunks) const;
  // The chunks of all files in the order in which lanes get them.
  std::vector<ExpectedChunk> ChunksInTurn(const proto::OpDesc& op, uint64_t pass) const;
  ExpectedStream Map(const proto::OpDesc& op, ExpectedStream in) const;
  ExpectedStream Combined(const proto::OpDesc& op, uint64_t pass) const;
  // What combines the readers that yield these, in lane number `lane` of them.
  ExpectedStream Combined(const proto::OpDesc& op, uint64_t pass, const PassOf& pass_of,
                          size_t lane = 0, size_t lanes = 1) const;
  MixRules RulesOf(const proto::OpDesc& op, uint64_t pass, size_t lane, size_t lanes) const;
  // How many lanes a reader has, and their stripe, if it has any.
  std::optional<std::pair<int64_t, int64_t>> LaneNumbers(const std::string& reader) const;
  // How many elements of a mix at a time are one of a reader on it, or kAnyRun of MixRules where
  // nobody can tell; nothing if it does not stand on the mix.
  std::optional<size_t> RunIn(const std::string& mix, const std::string& reader) const;
  // The lanes of readers that are combined lane by lane.
  std::optional<Lanes> CombinedLanes(const proto::OpDesc& op, uint64_t pass) const;
  ExpectedStream Filtered(const proto::OpDesc& op, const ExpectedStream& in) const;

  const proto::ProgramDesc& program_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_CHAINS_CHAIN_MODEL_H_
