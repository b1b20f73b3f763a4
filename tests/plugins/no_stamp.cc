// SPDX-License-Identifier: Apache-2.0
// A shared library that is not a plugin.
extern "C" int NoStamp() { return 1; }
