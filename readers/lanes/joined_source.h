// SPDX-License-Identifier: Apache-2.0
// The source of lanes that each stand on lanes of several sources.
#ifndef MILLHOPPER_READERS_LANES_JOINED_SOURCE_H_
#define MILLHOPPER_READERS_LANES_JOINED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "framework/reader/lane_dealer.h"

namespace millhopper {

// What is saved, restarted and described of several sources, where lane v is a reader on lane v of
// each of them, such as one that zips or mixes these.
class JoinedSource final : public LaneSource {
 public:
  enum class Elements {
    kSideBySide,  // a lane has as many as the shortest one below it
    kInTurn,      // a lane has as many as those below it together
    kByTurns,     // how many a lane has is known to nobody but the lane
  };
  // `sources` are two or more, in the order of the lanes below.
  JoinedSource(std::vector<std::shared_ptr<LaneSource>> sources, Elements elements);

  std::optional<uint64_t> Total() const override;
  void MakeEqual() override;
  void AddStatsTo(ChainStats* lanes) const override;
  void BeginPass() override;
  bool BeginElement() override;
  void ExpectWindow() override;
  std::vector<ReaderBase*> Below() const override;
  void JoinRanks(std::vector<SavedRank>* ranks, Position* own) const override;
  void LoadRows(const Ticket* tickets, size_t n, Rows* rows) const override;

 private:
  void NameParts(const std::string& origin, const std::string& kind,
                 const std::string& name) override;
  void PlanNext(size_t n, TicketRun* run) override;
  void Rewind(uint64_t pass) override;
  void SaveState(ReaderState*) const override {}
  void RestoreState(const ReaderState&) override {}

  const std::vector<std::shared_ptr<LaneSource>> sources_;
  const Elements elements_;
};

}  // namespace millhopper

#endif  // MILLHOPPER_READERS_LANES_JOINED_SOURCE_H_
