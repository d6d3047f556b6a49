// The devices that a build runs on, for the possible answers of a driver.
#include "mylos/base/device/devices.hpp"

#include <gtest/gtest.h>

#include "mylos/base/errors/machine.hpp"
#include "mylos/base/memory_is_host.hpp"
#include "support/refusal.hpp"

namespace mylos::devices_test {

using test::refuses;

TEST(Devices, ANodeWithoutOneIsRefusedInTheDriversWords) {
  EXPECT_TRUE(refuses(ExitCode::bad_input, errors::no_device,
                      {"(no CUDA-capable device is detected)", "CUDA_VISIBLE_DEVICES"}, [] {
                        require_devices({{9, 0}, {}, "no CUDA-capable device is detected"});
                      }));
}

TEST(Devices, OneThatIsOlderThanTheBuildIsRefusedByName) {
  EXPECT_TRUE(refuses(
      ExitCode::bad_input, errors::device_too_old,
      {"device 1 ", "NVIDIA A100", "compute capability 8.0", "9.0 or newer", "-DMylos_CUDA_ARCH"}, [] {
        require_devices({{9, 0}, {{"NVIDIA H100", {9, 0}}, {"NVIDIA A100", {8, 0}}}, ""});
      }));
  EXPECT_TRUE(refuses(errors::device_too_old, {"of 8.9"}, [] {
    require_devices({{9, 0}, {{"of 8.9", {8, 9}}}, ""});
  }));
}

TEST(Devices, OneThatCudaNoLongerCompilesForIsRefusedWithTheLastCudaThatDoes) {
  EXPECT_TRUE(refuses(ExitCode::bad_input, errors::device_too_old,
                      {"device 0 ", "Tesla V100", "compute capability 7.0", "7.5 and newer", "CUDA 12"}, [] {
                        require_devices({{9, 0}, {{"Tesla V100-SXM2-32GB", {7, 0}}}, "", {7, 5}});
                      }));
  EXPECT_TRUE(refuses(errors::device_too_old, {"Tesla V100", "-DMylos_CUDA_ARCH"}, [] {
    require_devices({{9, 0}, {{"Tesla V100-SXM2-32GB", {7, 0}}}, "", {5, 0}});
  }));
}

TEST(Devices, TheBuildsOwnAndNewerOnesAreTaken) {
  EXPECT_NO_THROW(require_devices({{9, 0}, {{"NVIDIA H200", {9, 0}}, {"NVIDIA B200", {10, 0}}}, ""}));
  EXPECT_NO_THROW(require_devices({{8, 0}, {{"of 8.6", {8, 6}}}, ""}));
}

DeviceSurvey survey_of_amd(std::vector<FoundDevice> devices) {
  DeviceSurvey survey{
      .built_for = {}, .devices = std::move(devices), .driver_says = "no ROCm-capable device is detected"};
  survey.vendor = amd;
  survey.architecture = "gfx90a";
  return survey;
}

TEST(Devices, ABuildForAmdOnANodeWithoutOneNamesItsOwnWords) {
  EXPECT_TRUE(refuses(ExitCode::bad_input, errors::no_device,
                      {"an AMD device", "(no ROCm-capable device is detected)", "ROCR_VISIBLE_DEVICES"},
                      [] { require_devices(survey_of_amd({})); }));
}

TEST(Devices, OfAmdRunTheCodeOfTheirOwnArchitectureAlone) {
  EXPECT_NO_THROW(require_devices(survey_of_amd({{"AMD Instinct MI250X", {9, 0}, {}, "gfx90a"}})));
  for (const char* other : {"gfx908", "gfx942"}) {
    EXPECT_TRUE(refuses(
        ExitCode::bad_input, errors::device_too_old,
        {"device 0 ", std::string("architecture ") + other, "needs gfx90a", "--hip=ARCH", "-DMylos_HIP_ARCH"},
        [&] {
          require_devices(survey_of_amd({{"AMD", {9, 4}, {}, other}}));
        }));
  }
}

TEST(Devices, AHostBuildAsksForNone) {
  if (!memory_is_host) GTEST_SKIP() << "this build is for devices";
  EXPECT_FALSE(survey_devices().has_value());
  EXPECT_EQ(device_vendor(), "");
}

}  // namespace mylos::devices_test
