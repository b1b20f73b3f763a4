// SPDX-License-Identifier: Apache-2.0
// A plugin for tests of loading: its initialiser does what the environment variable INITIALISER
// says.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>

#include "framework/plugin.h"

namespace millhopper {
namespace {

[[maybe_unused]] const bool initialised = [] {
  const char* const value = std::getenv("INITIALISER");
  const std::string way = value == nullptr ? "" : value;
  if (way == "exit") std::exit(0);
  if (way == "quick_exit") std::quick_exit(0);
  if (way == "exit_of_a_thread") std::thread([] { std::exit(0); }).join();
  if (way == "segfault") raise(SIGSEGV);
  if (way == "abort") std::abort();
  if (way == "terminate") std::terminate();
  if (way == "throw") throw std::runtime_error("nobody catches this");
  if (way == "wait") {
    std::fputs("at work\n", stderr);
    for (;;) pause();
  }
  return true;
}();

MILLHOPPER_PLUGIN;

}  // namespace
}  // namespace millhopper
