// MachineRates: how fast a rank multiplies numbers of each type and moves bytes. Times that nobody has
// measured are modelled by them.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/kernels/rates/product_rate.hpp"

namespace mylos {

/// Per millisecond. Only their ratios change a plan. The defaults are a node of two host cores that makes
/// floats of 16-bit numbers before it multiplies them, and a device of the class of NVIDIA's H100.
struct MachineRates {
  double fp32_flops = memory_is_host ? 4e8 : 5e10;
  double bf16_flops = memory_is_host ? 4e8 : 4e11;
  double fp16_flops = memory_is_host ? 4e8 : 4e11;
  double bytes = memory_is_host ? 3e7 : 3e9;

  /// Of products in `type`: fp32, bf16 or fp16.
  [[nodiscard]] double flops_in(DType type) const;

  bool operator==(const MachineRates&) const = default;
};

/// Without a clock: the defaults, where 16-bit products are twice as fast as float's on a host that
/// multiplies the type natively, and no faster on a device that does not. By the instructions in use; on
/// hosts Kokkos must be up.
[[nodiscard]] MachineRates fixed_rates();

/// fixed_rates(), with those of products in `types` by `gemm`, and of memory, measured here and now. Takes
/// some tenths of a second for each, and memory as measure_product_rate() and measure_stream_rate() do.
/// `clock`: seconds.
[[nodiscard]] MachineRates measure_rates(const Execution& execution, GemmEngine& gemm,
                                         const std::vector<DType>& types, std::size_t max_bytes,
                                         const std::function<double()>& clock = steady_seconds);

/// What times were modelled by.
struct StatedRates {
  MachineRates rates;
  std::vector<DType> types;  // whose products there are
  bool measured = false;
  std::string device = {};  // whose peaks they are, of known_devices.hpp; empty: this machine's
};

/// "products at 394 GFLOP/s in fp32, 862 GFLOP/s in bf16, memory at 31 GB/s, measured here and now".
[[nodiscard]] std::string describe(const StatedRates& stated);

}  // namespace mylos
