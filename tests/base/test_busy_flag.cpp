// An object in use refuses a second call, and only while the first one runs.
#include "mylos/base/device/busy_flag.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/calls.hpp"
#include "support/refusal.hpp"

namespace mylos::busy_flag_test {

TEST(BusyFlag, ASecondCallIsRefusedUntilTheFirstHasReturned) {
  BusyFlag flag;
  const auto call = [&] { const BusyCall second(flag, "Model::infer"); };
  {
    const BusyCall first(flag, "Model::infer");
    EXPECT_TRUE(flag.is_set());
    for (int i = 0; i < 2; ++i)
      EXPECT_TRUE(test::refuses(ExitCode::failed, errors::bad_call, {"Model::infer", "another call"}, call));
    EXPECT_TRUE(flag.is_set());
  }
  EXPECT_FALSE(flag.is_set());
  EXPECT_NO_THROW(call());
}

TEST(BusyFlag, OfSeveralCallsRefusesOneMoreAndAllWhileOneRuns) {
  BusyFlag flag(3);
  const auto refuses = [](auto&& call) {
    return test::refuses(ExitCode::failed, errors::bad_call, {"a"}, call);
  };
  {
    const BusyCall first(flag, "a");
    auto second = BusyCall::attempt(flag);
    EXPECT_TRUE(second.has_value());
    EXPECT_TRUE(refuses([&] { static_cast<void>(BusyCall::of_all(flag, "a")); }));
    const BusyCall third(flag, "a");
    EXPECT_FALSE(BusyCall::attempt(flag).has_value());
    EXPECT_TRUE(refuses([&] { const BusyCall fourth(flag, "a"); }));
    second.reset();
    EXPECT_TRUE(BusyCall::attempt(flag).has_value());
  }
  {
    const BusyCall all = BusyCall::of_all(flag, "a");
    EXPECT_FALSE(BusyCall::attempt(flag).has_value());
  }
  EXPECT_FALSE(flag.is_set());
}

TEST(BusyFlag, AMovedCallStillRuns) {
  BusyFlag flag;
  {
    BusyCall first(flag, "a");
    const BusyCall moved(std::move(first));
    EXPECT_TRUE(flag.is_set());
  }
  EXPECT_FALSE(flag.is_set());
}

}  // namespace mylos::busy_flag_test
