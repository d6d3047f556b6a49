// Finds ranks that share a device; NCCL refuses them before it starts.
#include "mylos/comm/ranks/shared_devices.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/machine.hpp"
#include "support/refusal.hpp"

namespace mylos::shared_devices_test {

constexpr DeviceId first{1};
constexpr DeviceId second{2};

constexpr GpuOfRank gpu{0, {0, 0x1b, 0}};
constexpr GpuOfRank other_gpu{0, {0, 0x3a, 0}};
constexpr GpuOfRank same_address_on_another_node{2, {0, 0x1b, 0}};

TEST(SharedDevices, ADevicePerRankIsTaken) {
  EXPECT_NO_THROW(require_a_gpu_per_rank({first}, {gpu}));
  EXPECT_NO_THROW(require_a_gpu_per_rank({first, second}, {gpu, other_gpu}));
  EXPECT_NO_THROW(require_a_gpu_per_rank({first, second}, {gpu, same_address_on_another_node}));
}

TEST(SharedDevices, TwoRanksOnOneAreRefusedByNumber) {
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::device_shared,
                            {"ranks 1 and 2", "3 ranks", "2 devices", "communication.backend = \"mpi\""}, [] {
                              require_a_gpu_per_rank({first, second, second}, {other_gpu, gpu, gpu});
                            }));
}

TEST(SharedDevices, TwoInstancesOfAGpuAreDifferentDevicesThatNcclRefuses) {
  EXPECT_EQ(ranks_on_device({first, second}, 0), 1);
  EXPECT_TRUE(
      test::refuses(ExitCode::bad_input, errors::device_shared,
                    {"ranks 0 and 1", "instances (MIG) of one GPU", "communication.backend = \"mpi\""}, [] {
                      require_a_gpu_per_rank({first, second}, {gpu, gpu});
                    }));
}

TEST(SharedDevices, RanksOfADeviceAreCounted) {
  EXPECT_EQ(ranks_on_device({first, second, first}, 0), 2);
  EXPECT_EQ(ranks_on_device({first, second, first}, 1), 1);
}

}  // namespace mylos::shared_devices_test
