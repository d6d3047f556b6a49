// Finds ranks that share a device; NCCL refuses them before it starts.
#include "mylos/comm/ranks/shared_devices.hpp"

#include <gtest/gtest.h>

#include "support/refusal.hpp"

namespace mylos::shared_devices_test {

constexpr DeviceId first{1};
constexpr DeviceId second{2};

TEST(SharedDevices, ADevicePerRankIsTaken) {
  EXPECT_NO_THROW(require_a_device_per_rank({first}));
  EXPECT_NO_THROW(require_a_device_per_rank({first, second}));
}

TEST(SharedDevices, TwoRanksOnOneAreRefusedByNumber) {
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, ErrorId::device_shared,
                            {"ranks 1 and 2", "3 ranks", "2 devices", "communication.backend = \"mpi\""}, [] {
                              require_a_device_per_rank({first, second, second});
                            }));
}

TEST(SharedDevices, RanksOfADeviceAreCounted) {
  EXPECT_EQ(ranks_on_device({first, second, first}, 0), 2);
  EXPECT_EQ(ranks_on_device({first, second, first}, 1), 1);
}

}  // namespace mylos::shared_devices_test
