// The devices that a build runs on, for the possible answers of a driver.
#include "mylos/base/device/devices.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"

namespace mylos::devices_test {

using testing::HasSubstr;

std::string refusal(const DeviceSurvey& survey) {
  try {
    require_devices(survey);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::bad_input);
    return error.what();
  }
  return "";
}

TEST(Devices, ANodeWithoutOneIsRefusedInTheDriversWords) {
  const std::string message = refusal({{9, 0}, {}, "no CUDA-capable device is detected"});
  EXPECT_THAT(message, HasSubstr("there is none here (no CUDA-capable device is detected)"));
  EXPECT_THAT(message, HasSubstr("CUDA_VISIBLE_DEVICES"));
}

TEST(Devices, OneThatIsOlderThanTheBuildIsRefusedByName) {
  const std::string message = refusal({{9, 0}, {{"NVIDIA H100", {9, 0}}, {"NVIDIA A100", {8, 0}}}, ""});
  EXPECT_THAT(
      message,
      HasSubstr("device 1 of this node (NVIDIA A100) has compute capability 8.0, and this build needs "
                "9.0 or newer"));
  EXPECT_THAT(message, HasSubstr("-DMylos_CUDA_ARCH"));
  EXPECT_NE(refusal({{9, 0}, {{"of 8.9", {8, 9}}}, ""}), "");
}

TEST(Devices, TheBuildsOwnAndNewerOnesAreTaken) {
  EXPECT_EQ(refusal({{9, 0}, {{"NVIDIA H200", {9, 0}}, {"NVIDIA B200", {10, 0}}}, ""}), "");
  EXPECT_EQ(refusal({{8, 0}, {{"of 8.6", {8, 6}}}, ""}), "");
}

TEST(Devices, AHostBuildAsksForNone) {
  if (!memory_is_host) GTEST_SKIP() << "this build is for devices";
  EXPECT_FALSE(survey_devices().has_value());
}

}  // namespace mylos::devices_test
