// Finds ranks that share a device; NCCL refuses them before it starts.
#include "mylos/comm/ranks/shared_devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/error.hpp"

namespace mylos::shared_devices_test {

using testing::HasSubstr;

constexpr DeviceId first{1};
constexpr DeviceId second{2};

TEST(SharedDevices, ADevicePerRankIsTaken) {
  EXPECT_NO_THROW(require_a_device_per_rank({first}));
  EXPECT_NO_THROW(require_a_device_per_rank({first, second}));
}

TEST(SharedDevices, TwoRanksOnOneAreRefusedByNumber) {
  try {
    require_a_device_per_rank({first, second, second});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    EXPECT_THAT(error.what(), HasSubstr("ranks 1 and 2 share a device"));
    EXPECT_THAT(error.what(), HasSubstr("3 ranks have 2 devices in all"));
    EXPECT_THAT(error.what(), HasSubstr("communication.backend = \"mpi\""));
  }
}

TEST(SharedDevices, RanksOfADeviceAreCounted) {
  EXPECT_EQ(ranks_on_device({first, second, first}, 0), 2);
  EXPECT_EQ(ranks_on_device({first, second, first}, 1), 1);
}

}  // namespace mylos::shared_devices_test
