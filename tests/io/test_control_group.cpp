// Limits of control groups, as Linux shows them.
#include "mylos/io/system/control_group.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace mylos::control_group_test {

class ControlGroupTest : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ + "/" + name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  [[nodiscard]] int cores() const { return quota_cores(folder_ + "/list", folder_ + "/root"); }

  std::string folder_ = ::testing::TempDir() + "/control-groups-" +
                        ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(ControlGroupTest, OfVersion2LimitAGroupAndAllBelow) {
  write("list", "0::/job/step\n");
  EXPECT_EQ(cores(), 0);
  write("root/job/step/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), 0);
  write("root/job/cpu.max", "450000 100000\n");
  EXPECT_EQ(cores(), 4);
  write("root/job/step/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2);
  write("root/cpu.max", "50000 100000\n");
  EXPECT_EQ(cores(), 1) << "half a core";
}

TEST_F(ControlGroupTest, OfVersion1AreThoseOfTheControllerOfThisName) {
  write("list", "5:cpuset:/other\n4:cpuacct,cpu:/job\n1:name=systemd:/cpu\n0::/\n");
  write("root/cpu/job/cpu.cfs_quota_us", "-1\n");
  write("root/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 0);
  write("root/cpu/cpu.cfs_quota_us", "600000\n");
  write("root/cpu/cpu.cfs_period_us", "200000\n");
  EXPECT_EQ(cores(), 3);
  write("root/cpu/other/cpu.cfs_quota_us", "100000\n");
  write("root/cpu/other/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(cores(), 3) << "of another group";
}

/// A container lists the path on its host, and mounts its own group as the root.
TEST_F(ControlGroupTest, OfAContainerAreAtTheRoot) {
  write("list", "0::/docker/0123456789ab\n");
  write("root/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2);
  std::filesystem::remove(folder_ + "/list");
  EXPECT_EQ(cores(), 2);
  write("root/cpu.max", "nonsense");
  EXPECT_EQ(cores(), 0);
}

}  // namespace mylos::control_group_test
