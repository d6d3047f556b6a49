// MachineRates: how fast a rank multiplies numbers of each type and moves bytes. Times that were not measured
// are modelled with these rates.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/base/memory_is_host.hpp"
#include "mylos/kernels/rates/gemm_rate.hpp"

namespace mylos {

/// Rates per millisecond. Only their ratios affect a plan. The defaults are a node of two host cores that
/// converts 16-bit numbers to float before it multiplies them, and a device of the class of NVIDIA's H100.
struct MachineRates {
  double fp32_flops = memory_is_host ? 4e8 : 5e10;
  double bf16_flops = memory_is_host ? 4e8 : 4e11;
  double fp16_flops = memory_is_host ? 4e8 : 4e11;
  double bytes = memory_is_host ? 3e7 : 3e9;

  /// Returns the rate of GEMMs in `type`: fp32, bf16 or fp16.
  [[nodiscard]] double flops_in(DType type) const;

  bool operator==(const MachineRates&) const = default;
};

/// Returns rates without measuring: the defaults, but 16-bit GEMMs are twice as fast as float's on a host
/// that multiplies the type natively, and no faster on a device that does not. Depends on the instructions in
/// use; on hosts Kokkos must be initialised.
[[nodiscard]] MachineRates fixed_rates();

/// Returns fixed_rates() with measured rates of memory and of `gemm` in `types`. Takes some tenths of a
/// second for each, and memory like measure_gemm_rate() and measure_stream_rate(). `clock`: seconds.
[[nodiscard]] MachineRates measure_rates(const Execution& execution, GemmEngine& gemm,
                                         const std::vector<DType>& types, std::size_t max_bytes,
                                         const std::function<double()>& clock = steady_seconds);

/// The rates that times were modelled with.
struct StatedRates {
  MachineRates rates;
  std::vector<DType> types;  // the types whose GEMM rates are stated
  bool measured = false;
  std::string device = {};  // the device of known_devices.hpp with these peaks; empty: this machine
};

/// Returns "GEMMs at 394 GFLOP/s in fp32, 862 GFLOP/s in bf16, memory at 31 GB/s, measured here and now".
[[nodiscard]] std::string describe(const StatedRates& stated);

}  // namespace mylos
