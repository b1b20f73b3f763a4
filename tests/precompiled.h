// SPDX-License-Identifier: Apache-2.0
// What nearly every test includes, to be precompiled (tools/bazel/precompiled.bzl).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <random>
#include <thread>

#include "framework/base/error.h"
#include "framework/base/memory_limit.h"
#include "framework/reader/reader.h"
#include "framework/tensor/tensor.h"
