// The devices that a build runs on, for the possible answers of a driver.
#include "mylos/base/device/devices.hpp"

#include <gtest/gtest.h>

#include "mylos/base/execution.hpp"
#include "support/refusal.hpp"

namespace mylos::devices_test {

using test::refuses;

TEST(Devices, ANodeWithoutOneIsRefusedInTheDriversWords) {
  EXPECT_TRUE(refuses(ExitCode::bad_input, ErrorId::no_device,
                      {"(no CUDA-capable device is detected)", "CUDA_VISIBLE_DEVICES"}, [] {
                        require_devices({{9, 0}, {}, "no CUDA-capable device is detected"});
                      }));
}

TEST(Devices, OneThatIsOlderThanTheBuildIsRefusedByName) {
  EXPECT_TRUE(refuses(
      ExitCode::bad_input, ErrorId::device_too_old,
      {"device 1 ", "NVIDIA A100", "compute capability 8.0", "9.0 or newer", "-DMylos_CUDA_ARCH"}, [] {
        require_devices({{9, 0}, {{"NVIDIA H100", {9, 0}}, {"NVIDIA A100", {8, 0}}}, ""});
      }));
  EXPECT_TRUE(refuses(ErrorId::device_too_old, {"of 8.9"}, [] {
    require_devices({{9, 0}, {{"of 8.9", {8, 9}}}, ""});
  }));
}

TEST(Devices, OneThatCudaNoLongerCompilesForIsRefusedWithTheLastCudaThatDoes) {
  EXPECT_TRUE(refuses(ExitCode::bad_input, ErrorId::device_too_old,
                      {"device 0 ", "Tesla V100", "compute capability 7.0", "7.5 and newer", "CUDA 12"}, [] {
                        require_devices({{9, 0}, {{"Tesla V100-SXM2-32GB", {7, 0}}}, "", {7, 5}});
                      }));
  EXPECT_TRUE(refuses(ErrorId::device_too_old, {"Tesla V100", "-DMylos_CUDA_ARCH"}, [] {
    require_devices({{9, 0}, {{"Tesla V100-SXM2-32GB", {7, 0}}}, "", {5, 0}});
  }));
}

TEST(Devices, TheBuildsOwnAndNewerOnesAreTaken) {
  EXPECT_NO_THROW(require_devices({{9, 0}, {{"NVIDIA H200", {9, 0}}, {"NVIDIA B200", {10, 0}}}, ""}));
  EXPECT_NO_THROW(require_devices({{8, 0}, {{"of 8.6", {8, 6}}}, ""}));
}

TEST(Devices, AHostBuildAsksForNone) {
  if (!memory_is_host) GTEST_SKIP() << "this build is for devices";
  EXPECT_FALSE(survey_devices().has_value());
}

}  // namespace mylos::devices_test
