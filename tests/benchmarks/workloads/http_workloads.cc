// SPDX-License-Identifier: Apache-2.0
// Files on an HTTP server that is far away: it answers late, and its link has a limit.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "framework/base/error.h"
#include "framework/io/file.h"
#include "tests/benchmarks/usage.h"
#include "tests/benchmarks/workload.h"
#include "tests/fakes/http_server.h"

namespace millhopper {
namespace {

constexpr std::chrono::milliseconds kLatency{50};
constexpr uint64_t kLinkBytes = 200'000'000;  // a second
constexpr size_t kPiece = size_t{1} << 20;
constexpr size_t kPieces = 512;

// Reads a file from its beginning to its end; returns the seconds that it takes.
double SecondsToRead(const std::string& url, const std::string& content) {
  std::string piece(kPiece, '\0');
  const double begin = WallSeconds();
  const std::unique_ptr<const File> file = File::Open(url);
  for (size_t i = 0; i < kPieces; ++i) {
    file->Read(i * kPiece, piece.data(), kPiece);
    Require(content.compare(i * kPiece, kPiece, piece) == 0, "piece ", i, " is wrong");
  }
  return WallSeconds() - begin;
}

// The rates are of MiB.
Measured MeasureFarAway() {
  std::string content(kPiece * kPieces, '\0');
  for (size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * i >> 7);
  HttpServer server;
  server.Put("/object", content);
  server.set_latency(kLatency);
  server.set_bytes_per_second(kLinkBytes);
  Measured measured;
  measured.records = kPieces;
  Usage used;
  for (int round = 0; round < Options().rounds; ++round) {
    const Usage before = Usage::Now();
    const double seconds = SecondsToRead(server.Url("/object"), content);
    measured.rates.push_back(kPieces / seconds);
    measured.limits.push_back(static_cast<double>(kLinkBytes) / static_cast<double>(kPiece));
    used += Usage::Now() - before;
  }
  measured.foreign_share = used.foreign_share();
  measured.note = StrCat(server.most_at_once(), " requests at once");
  return measured;
}

}  // namespace

void AddHttpWorkloads(Workloads* workloads) {
  Workload workload;
  workload.name = "http_far_away";
  workload.what = "MiB";
  workload.measure = MeasureFarAway;
  AimAtRatio(0.8, &workload);
  workloads->push_back(std::move(workload));
}

}  // namespace millhopper
