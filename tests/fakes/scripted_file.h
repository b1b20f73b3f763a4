// SPDX-License-Identifier: Apache-2.0
// A file in chunks that does what a test says: how many records, which errors, when it continues.
#ifndef MILLHOPPER_TESTS_FAKES_SCRIPTED_FILE_H_
#define MILLHOPPER_TESTS_FAKES_SCRIPTED_FILE_H_

#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "framework/base/error.h"
#include "framework/memory/memory.h"
#include "framework/reader/file_format.h"
#include "tests/gate.h"

namespace millhopper {

struct ScriptedChunk {
  int64_t records = 0;
  std::string claim_error = "";  // thrown by Claim after it has listed the records
  std::string fetch_error = "";  // thrown by Fetch after it has listed the records
  Gate* claim_begun = nullptr;   // opened by Claim,
  Gate* claim_gate = nullptr;    // which then waits here
  Gate* fetch_begun = nullptr;   // the same for Fetch
  Gate* fetch_gate = nullptr;
  Gate* fetch_stalls = nullptr;  // the same, but a thread may leave (CancelScope)
  uint64_t length = 8;
  bool tells = true;     // Claim says how many records the chunk has
  bool is_part = false;  // it is a part of what the next chunk gives out
};

// What happened to several files, in order: "claim a0", "fetch a0", "end a". Any thread.
class Script {
 public:
  void Add(const std::string& event) {
    std::lock_guard<std::mutex> lock(mutex_);
    events_.push_back(event);
  }
  std::vector<std::string> events() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return events_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> events_;
};

// Records are the numbers 0, 1, 2 ... as int64, eight bytes each.
class ScriptedFile final : public FileSource {
 public:
  ScriptedFile(std::string name, std::vector<ScriptedChunk> chunks, Script* script = nullptr)
      : name_(std::move(name)), chunks_(std::move(chunks)), script_(script) {}

  bool Claim(Chunk* chunk) override {
    if (next_ == chunks_.size()) {
      Tell("end", "");
      return false;
    }
    const ScriptedChunk& scripted = chunks_[next_];
    Tell("claim", std::to_string(next_));
    Meet(scripted.claim_begun, scripted.claim_gate);
    chunk->offset = next_++;
    chunk->length = scripted.length;
    chunk->claimed = records_;
    chunk->is_part = scripted.is_part;
    if (scripted.tells) chunk->records = static_cast<uint64_t>(scripted.records);
    records_ += scripted.records;
    if (scripted.claim_error.empty()) return true;
    List(chunk);
    throw Error(ErrorCode::kDataLoss, scripted.claim_error);
  }

  void Fetch(Chunk* chunk) const override {
    const ScriptedChunk& scripted = chunks_[chunk->offset];
    Tell("fetch", std::to_string(chunk->offset));
    Meet(scripted.fetch_begun, scripted.fetch_gate);
    if (scripted.fetch_stalls != nullptr) scripted.fetch_stalls->WaitOrLeave();
    List(chunk);
    if (!scripted.fetch_error.empty()) throw Error(ErrorCode::kDataLoss, scripted.fetch_error);
  }

 private:
  void Tell(const char* what, const std::string& chunk) const {
    if (script_ != nullptr) script_->Add(StrCat(what, " ", name_, chunk));
  }

  static void Meet(Gate* begun, Gate* gate) {
    if (begun != nullptr) begun->Open();
    if (gate != nullptr) gate->Wait();
  }

  void List(Chunk* chunk) const {
    const int64_t records = chunks_[chunk->offset].records;
    chunk->bytes = BufferPool::At(Place()).Take(8 * static_cast<size_t>(records));
    for (int64_t i = 0; i < records; ++i) {
      const int64_t number = std::any_cast<int64_t>(chunk->claimed) + i;
      __builtin_memcpy(chunk->bytes->data() + 8 * i, &number, 8);
      chunk->pieces.push_back({static_cast<uint32_t>(8 * i), 8});
    }
  }

  const std::string name_;
  const std::vector<ScriptedChunk> chunks_;
  Script* const script_;
  size_t next_ = 0;
  int64_t records_ = 0;
};

// The number that a ticket of such a file points to.
inline int64_t NumberOf(const Ticket& ticket) {
  int64_t number;
  __builtin_memcpy(&number, ticket.bytes, sizeof(number));
  return number;
}

}  // namespace millhopper

#endif  // MILLHOPPER_TESTS_FAKES_SCRIPTED_FILE_H_
