// SPDX-License-Identifier: Apache-2.0
#include "framework/base/ref_counted.h"

#include <gtest/gtest.h>

#include <utility>

namespace millhopper {
namespace {

class Counted final : public RefCounted {
 public:
  explicit Counted(int* alive) : alive_(alive) { ++*alive_; }

 private:
  ~Counted() override { --*alive_; }
  int* const alive_;
};

TEST(Ref, KeepsAsLongAsOneIsLeft) {
  int alive = 0;
  Ref<Counted> first(new Counted(&alive));
  EXPECT_TRUE(first->HasOneReference());
  Ref<Counted> second = first;
  EXPECT_FALSE(first->HasOneReference());
  first = Ref<Counted>();
  EXPECT_EQ(alive, 1);
  EXPECT_TRUE(second->HasOneReference());
  Ref<Counted> third = std::move(second);
  EXPECT_FALSE(second);  // NOLINT(bugprone-use-after-move): a moved-from Ref is empty
  EXPECT_TRUE(third->HasOneReference());
  third = Ref<Counted>();
  EXPECT_EQ(alive, 0);
}

TEST(Ref, MayBeAssignedToItself) {
  int alive = 0;
  Ref<Counted> ref(new Counted(&alive));
  const Ref<Counted>& same = ref;
  ref = same;
  EXPECT_EQ(alive, 1);
  EXPECT_TRUE(ref->HasOneReference());
}

class Pooled final : public RefCounted {
 public:
  int value = 0;

 private:
  void Dispose() override {
    value = 0;
    Pool<Pooled>::Give(this);
  }
};

TEST(Pool, UsesObjectsAgain) {
  const size_t before = Pool<Pooled>::in_use();
  Ref<Pooled> first = Pool<Pooled>::Take();
  Ref<Pooled> second = Pool<Pooled>::Take();
  EXPECT_NE(first.get(), second.get());
  EXPECT_EQ(Pool<Pooled>::in_use(), before + 2);
  first->value = 7;
  const Pooled* const address = first.get();
  first = Ref<Pooled>();
  EXPECT_EQ(Pool<Pooled>::in_use(), before + 1);
  first = Pool<Pooled>::Take();
  EXPECT_EQ(first.get(), address);
  EXPECT_EQ(first->value, 0);
  EXPECT_TRUE(first->HasOneReference());
}

}  // namespace
}  // namespace millhopper
