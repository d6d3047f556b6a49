// The table of devices: plausible figures for data sheets, in the order of release.
#include "mylos/kernels/rates/known_devices.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "mylos/base/errors/command_line.hpp"
#include "support/refusal.hpp"

namespace mylos::known_devices_test {

TEST(KnownDevices, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const KnownDevice& device : known_devices()) {
    EXPECT_TRUE(names.insert(device.name).second) << device.name;
    EXPECT_EQ(&known_device(device.name), &device);
    EXPECT_NE(known_device_names().find(device.name), std::string::npos) << device.name;
  }
}

TEST(KnownDevices, HaveFiguresThatADataSheetMayHave) {
  for (const KnownDevice& device : known_devices()) {
    SCOPED_TRACE(device.name);
    EXPECT_GE(device.bf16_tflops, device.fp32_tflops);
    EXPECT_GE(device.fp16_tflops, device.bf16_tflops);
    // Matrix units are 4 to 40 times as fast as plain float (AMD's also multiply float); with sparsity it
    // would be more.
    EXPECT_GE(device.fp16_tflops, 3.9 * device.fp32_tflops);
    EXPECT_LE(device.fp16_tflops, 40 * device.fp32_tflops);
    // Operations per byte of memory bandwidth: a wrong unit in either column would be far outside.
    const double balance = 1000 * device.fp16_tflops / device.gigabytes_per_s;
    EXPECT_GT(balance, 100);
    EXPECT_LT(balance, 400);
    // Memory delivers between a twentieth and all of its capacity in a hundredth of a second.
    const double share = device.gigabytes_per_s / 100 / static_cast<double>(device.gigabytes);
    EXPECT_GT(share, 0.05);
    EXPECT_LT(share, 1);
  }
}

TEST(KnownDevices, AreNoSlowerThanTheMakersEarlierOnes) {
  const std::vector<std::vector<std::string_view>> generations = {
      {"v100-16gb", "v100-32gb", "a100-40gb", "a100-80gb", "h100-sxm", "h200"},
      {"h100-pcie", "h100-sxm"},
      {"mi250x", "mi300x"}};
  for (const auto& names : generations) {
    for (std::size_t i = 1; i < names.size(); ++i) {
      SCOPED_TRACE(names[i]);
      const MachineRates before = known_device(names[i - 1]).peak_rates();
      const MachineRates after = known_device(names[i]).peak_rates();
      EXPECT_LE(before.fp32_flops, after.fp32_flops);
      EXPECT_LE(before.bf16_flops, after.bf16_flops);
      EXPECT_LE(before.fp16_flops, after.fp16_flops);
      EXPECT_LE(before.bytes, after.bytes);
    }
  }
}

TEST(KnownDevices, HaveRatesPerMillisecond) {
  const KnownDevice& device = known_device("a100-40gb");  // 19.5 and 312 TFLOP/s, 1555 GB/s, 40 GB
  EXPECT_DOUBLE_EQ(device.peak_rates().flops_in(DType::fp32), 19.5e12 / 1000);
  EXPECT_DOUBLE_EQ(device.peak_rates().flops_in(DType::bf16), 312e12 / 1000);
  EXPECT_DOUBLE_EQ(device.peak_rates().bytes, 1555e9 / 1000);
  EXPECT_EQ(device.bytes(), 40'000'000'000);
}

TEST(KnownDevices, WithoutBfloat16MultiplyItAsFloat) {
  const MachineRates rates = known_device("v100-32gb").peak_rates();
  EXPECT_EQ(rates.flops_in(DType::bf16), rates.flops_in(DType::fp32));
  EXPECT_GT(rates.flops_in(DType::fp16), rates.flops_in(DType::fp32));
}

TEST(KnownDevices, AreNamedToWhoeverAsksForAnotherOne) {
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_argument, {"'abacus'", "a100-80gb, h100-pcie"},
                            [] { static_cast<void>(known_device("abacus")); }));
}

}  // namespace mylos::known_devices_test
