// SPDX-License-Identifier: Apache-2.0
// A parser plugin for tests: each record names the way in which the parser misbehaves. The record
// "good" and every other one that names no way becomes a float32 [1, 2] and a sequence of bools.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "framework/parser/millhopper_parser.h"

namespace {

const std::vector<int64_t> kNumbers = {1, 2};
const std::vector<int64_t> kFlags = {-1};
const MillhopperSlot kSlots[] = {{MILLHOPPER_FP32, 0, 2, kNumbers.data()},
                                 {MILLHOPPER_BOOL, 1, 1, kFlags.data()}};

// What a call gives the parser, and what lives until the next call.
struct Call {
  const char* record;
  size_t size;
  MillhopperTensor* tensors;
  char* error;
  size_t error_size;
  int32_t result = 2;
};
struct State {
  float numbers[2] = {0.5F, 1.5F};
  char flags[3] = {1, 0, 1};
  int64_t dims[2] = {1, 2};
  int64_t flag_dims[1] = {3};
  uint64_t ends[4] = {0, 3, 0, 0};
  MillhopperLevel levels[32] = {{ends, 2}};
  const char* earlier = nullptr;
  bool has_failed = false;
};

// Recurses until the stack is full. The volatile pointer hides from compiler and optimizer that it
// never returns.
int Recurse(int depth);
int (*volatile recurse)(int) = Recurse;
int Recurse(int depth) {
  volatile char frame[4096];
  frame[0] = static_cast<char>(depth);
  return recurse(depth + 1) + frame[0];
}

using Way = std::function<void(Call*, State*)>;

int32_t Refuse(Call* call, const char* text) {
  std::snprintf(call->error, call->error_size, "%s", text);
  return -1;
}

const std::map<std::string, Way>& Ways() {
  static const auto* const ways = new std::map<std::string, Way>{
      {"refuse", [](Call* call, State*) { call->result = Refuse(call, "no \x01number"); }},
      {"refuse_silently", [](Call* call, State*) { call->result = -7; }},
      {"few", [](Call* call, State*) { call->result = 1; }},
      {"many", [](Call* call, State*) { call->result = 3; }},
      {"unfilled", [](Call* call, State*) { call->tensors[1] = {}; }},
      {"write_behind", [](Call* call, State*) { call->tensors[2].rank = 1; }},
      {"long_error",
       [](Call* call, State*) { std::memset(call->error, 'x', call->error_size + 1); }},
      {"rank_0", [](Call* call, State*) { call->tensors[0].rank = 0; }},
      {"rank_1000", [](Call* call, State*) { call->tensors[0].rank = 1000; }},
      {"no_type", [](Call* call, State*) { call->tensors[0].dtype = 99; }},
      {"other_type", [](Call* call, State*) { call->tensors[0].dtype = MILLHOPPER_INT64; }},
      {"other_dims", [](Call*, State* state) { state->dims[1] = 3; }},
      {"negative_dims", [](Call*, State* state) { state->dims[1] = -2; }},
      {"huge_dims", [](Call*, State* state) { state->flag_dims[0] = INT64_MAX; }},
      {"short_data", [](Call* call, State*) { call->tensors[0].data_size = 4; }},
      {"null_data", [](Call* call, State*) { call->tensors[0].data = nullptr; }},
      {"no_levels", [](Call* call, State*) { call->tensors[1].level_count = 0; }},
      {"many_levels", [](Call* call, State*) { call->tensors[1].level_count = 32; }},
      {"null_levels", [](Call* call, State*) { call->tensors[1].levels = nullptr; }},
      {"null_offsets", [](Call*, State* state) { state->levels[0].offsets = nullptr; }},
      {"no_offsets", [](Call*, State* state) { state->levels[0].count = 0; }},
      {"descends",
       [](Call*, State* state) {
         state->levels[0] = {state->ends, 3};
       }},
      {"ends_early", [](Call*, State* state) { state->ends[1] = 2; }},
      {"no_bool", [](Call*, State* state) { state->flags[1] = 7; }},
      {"throw", [](Call*, State*) { throw std::runtime_error("no such word"); }},
      {"throw_number", [](Call*, State*) { throw 7; }},
      {"earlier",
       [](Call* call, State* state) {
         call->tensors[1].data = state->earlier;
         state->flag_dims[0] = 1;
         state->ends[1] = 1;
         call->tensors[1].data_size = 1;
       }},
      {"behind", [](Call* call, State*) { call->tensors[1].data = call->record + call->size; }},
      {"sometimes",
       [](Call* call, State* state) {
         if (!state->has_failed) call->result = 1;
         state->has_failed = true;
       }},
      {"segfault", [](Call*, State*) { raise(SIGSEGV); }},
      {"wild_data",
       [](Call* call, State*) { call->tensors[0].data = reinterpret_cast<const void*>(16); }},
      {"wild_levels",
       [](Call*, State* state) {
         state->levels[0] = {reinterpret_cast<const uint64_t*>(16), size_t{1} << 20};
       }},
      {"abort", [](Call*, State*) { std::abort(); }},
      {"exit", [](Call*, State*) { std::exit(0); }},
      {"leave_thread", [](Call*, State*) { pthread_exit(nullptr); }},
      {"overflow", [](Call*, State*) { recurse(0); }},
      {"slow",
       [](Call*, State*) {
         std::fputs("at work\n", stderr);
         std::fflush(stderr);
         sleep(60);
       }},
  };
  return *ways;
}

bool Told(const char* what) {
  const char* const told = std::getenv("MISBEHAVE");
  return told != nullptr && std::strcmp(told, what) == 0;
}

void* Create(char* error, size_t error_size) {
  if (Told("create_crash")) raise(SIGSEGV);
  if (Told("create_throw")) throw std::runtime_error("no word list");
  if (Told("create_null")) return nullptr;
  if (Told("create_fail")) {
    std::snprintf(error, error_size, "%s", "cannot open its word list");
    return nullptr;
  }
  return new State;
}

void Destroy(void* state) {
  delete static_cast<State*>(state);
  if (Told("destroy_throw")) throw std::runtime_error("too late");
  if (Told("destroy_crash")) raise(SIGSEGV);
}

int32_t Parse(void* state, const char* record, size_t size, MillhopperTensor* tensors, char* error,
              size_t error_size) {
  auto* const own = static_cast<State*>(state);
  const bool has_failed = own->has_failed;
  const char* const earlier = own->earlier;
  *own = State();
  own->levels[0] = {own->ends, 2};  // and not those of what was copied
  own->has_failed = has_failed;
  own->earlier = earlier;
  tensors[0] = {MILLHOPPER_FP32, 2, own->dims, own->numbers, sizeof(own->numbers), nullptr, 0};
  tensors[1] = {MILLHOPPER_BOOL, 1, own->flag_dims, own->flags, sizeof(own->flags), own->levels, 1};
  Call call{record, size, tensors, error, error_size};
  const auto way = Ways().find(std::string(record, size));
  if (way != Ways().end()) way->second(&call, own);
  own->earlier = record;
  return call.result;
}

}  // namespace

const MillhopperParser* millhopper_parser(uint32_t abi_version) {
  static const MillhopperParser parser = {MILLHOPPER_PARSER_ABI, 2, kSlots, Create, Destroy, Parse};
  if (Told("no_parser")) return nullptr;
  return abi_version == MILLHOPPER_PARSER_ABI ? &parser : nullptr;
}
