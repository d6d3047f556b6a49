#include "mylos/io/system/system_memory.hpp"

#include <gtest/gtest.h>
#include <sys/sysinfo.h>

namespace mylos::system_memory_test {

TEST(SystemMemory, WhatIsAvailableIsLessThanWhatIsThere) {
  struct sysinfo system {};
  ASSERT_EQ(sysinfo(&system), 0);
  EXPECT_GT(available_host_memory(), std::int64_t{1} << 20);
  EXPECT_LT(available_host_memory(), static_cast<std::int64_t>(system.totalram * system.mem_unit));
}

}  // namespace mylos::system_memory_test
