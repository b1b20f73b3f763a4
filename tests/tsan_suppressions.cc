// SPDX-License-Identifier: Apache-2.0
// What tsan must not report, in any test. Only tsan calls this function.

// The reference count of a thrown exception lies in libstdc++.so, which is not instrumented. Two
// threads may hold one stored error; the last to release it destroys it. tsan does not see that
// this happens after the other thread has read the error.
extern "C" const char* __tsan_default_suppressions() {
  return "race:std::__exception_ptr::exception_ptr::_M_release\n"
         "race:__cxa_end_catch\n";
}
