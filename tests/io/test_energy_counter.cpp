// Energy counters as Linux presents them, in a folder of files whose numbers the test changes.
#include "mylos/io/system/energy_counter.hpp"

#include <gtest/gtest.h>

#include "support.hpp"

namespace mylos::energy_counter_test {

using testing_support::TemporaryFolder;
using testing_support::write_file;

constexpr std::int64_t range_uj = 262143328850;  // of an EPYC's package

class Powercap : public testing::Test {
 protected:
  void add(const std::string& zone, const std::string& name, std::int64_t energy_uj) {
    std::filesystem::create_directory(folder_ / zone);
    write_file(folder_ / zone + "/name", name + "\n");
    write_file(folder_ / zone + "/max_energy_range_uj", std::to_string(range_uj) + "\n");
    set_counter(zone, energy_uj);
  }
  void set_counter(const std::string& zone, std::int64_t energy_uj) {
    write_file(folder_ / zone + "/energy_uj", std::to_string(energy_uj) + "\n");
  }
  [[nodiscard]] EnergyCounter counter() const { return EnergyCounter(folder_.path(), false); }

  TemporaryFolder folder_;
};

TEST_F(Powercap, CountsTheJoulesOfAllPackages) {
  add("intel-rapl:0", "package-0", 7'000'000);
  add("intel-rapl:1", "package-1", 500);
  EnergyCounter energy = counter();
  EXPECT_EQ(energy.joules(), 0);
  set_counter("intel-rapl:0", 9'500'000);
  EXPECT_EQ(energy.joules(), 2.5);
  set_counter("intel-rapl:1", 1'000'500);
  EXPECT_EQ(energy.joules(), 3.5);
  EXPECT_EQ(energy.what(), "2 processors");
}

TEST_F(Powercap, GoesOnWhereACounterBeginsAnew) {
  add("intel-rapl:0", "package-0", range_uj - 1'000'000);
  EnergyCounter energy = counter();
  set_counter("intel-rapl:0", 2'000'000);
  EXPECT_EQ(energy.joules(), 3);
  set_counter("intel-rapl:0", range_uj - 1'000'000);
  ASSERT_TRUE(energy.joules());
  set_counter("intel-rapl:0", 0);
  EXPECT_DOUBLE_EQ(energy.joules().value(), 1e-6 * static_cast<double>(range_uj) + 1);
}

TEST_F(Powercap, CountsNothingTwice) {
  add("intel-rapl:0", "package-0", 0);
  for (const auto& [zone, name] : {std::pair{"intel-rapl:0:0", "core"},
                                   {"intel-rapl:1", "psys"},
                                   {"intel-rapl:0:1", "dram"},
                                   {"intel-rapl-mmio:0", "package-0"}}) {
    add(zone, name, 0);
  }
  EnergyCounter energy = counter();
  for (const auto* zone : {"intel-rapl:0:0", "intel-rapl:1", "intel-rapl:0:1", "intel-rapl-mmio:0"})
    set_counter(zone, 1'000'000);
  EXPECT_EQ(energy.joules(), 0);
}

TEST_F(Powercap, SaysNothingWhereAPackageCannotBeRead) {
  EXPECT_FALSE(counter().joules());
  EXPECT_EQ(counter().what(), "");
  EXPECT_FALSE(EnergyCounter(folder_ / "nowhere", false).joules());
  add("intel-rapl:0", "package-0", 0);
  EnergyCounter alone = counter();
  EXPECT_TRUE(alone.joules());
  add("intel-rapl:1", "package-1", 0);
  std::filesystem::remove(folder_ / "intel-rapl:1/energy_uj");
  EXPECT_FALSE(counter().joules()) << "one of two packages is not the energy of the node";
  std::filesystem::remove(folder_ / "intel-rapl:0/energy_uj");
  EXPECT_FALSE(alone.joules());
  set_counter("intel-rapl:0", 5);
  EXPECT_FALSE(alone.joules()) << "what was taken in between is not known";
}

}  // namespace mylos::energy_counter_test
