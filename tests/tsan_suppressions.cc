// SPDX-License-Identifier: Apache-2.0
// What tsan is not to report, in every test. Without tsan nobody calls this.

// The count of references to a thrown exception lies in libstdc++.so, which is not instrumented:
// tsan does not see that the last of two threads to let go of a stored error, which destroys it,
// is ordered after what the other read of it.
extern "C" const char* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\n"
         "race:__cxa_end_catch\n";
}
