#include "mylos/kernels/rates/machine_rates.hpp"

#include <fmt/format.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/kernels/gemm/gemm_support.hpp"
#include "mylos/kernels/rates/stream_rate.hpp"

namespace mylos {
namespace {

double& flops_of(MachineRates& rates, DType type) {
  switch (type) {
    case DType::fp32:
      return rates.fp32_flops;
    case DType::bf16:
      return rates.bf16_flops;
    case DType::fp16:
      return rates.fp16_flops;
    default:
      break;
  }
  fail_run(errors::internal, "there are no GEMMs in {}", name_of(type));
}

/// Formats operations per millisecond.
std::string in_flops_per_s(double flops) {
  constexpr double giga_per_s = 1e6;
  constexpr double max_giga = 1e4;
  const double giga = flops / giga_per_s;
  return giga < max_giga ? fmt::format("{:.0f} GFLOP/s", giga) : fmt::format("{:.1f} TFLOP/s", giga / 1000);
}

std::string origin_of(const StatedRates& stated) {
  if (!stated.device.empty()) return "the peaks of " + stated.device;
  return stated.measured ? "measured here and now" : "of a small node, not measured";
}

}  // namespace

double MachineRates::flops_in(DType type) const {
  MachineRates copy = *this;
  return flops_of(copy, type);
}

MachineRates fixed_rates() {
  MachineRates rates;
  for (const DType type : {DType::bf16, DType::fp16}) {
    const std::optional<bool> native = gemm_support(type).native;
    double& flops = flops_of(rates, type);
    if (memory_is_host && native.value_or(false)) flops = 2 * rates.fp32_flops;
    if (!memory_is_host && !native.value_or(true)) flops = rates.fp32_flops;
  }
  return rates;
}

MachineRates measure_rates(const Execution& execution, GemmEngine& gemm, const std::vector<DType>& types,
                           std::size_t max_bytes, const std::function<double()>& clock) {
  constexpr double milliseconds_per_second = 1000;
  MachineRates rates = fixed_rates();
  for (const DType type : types) {
    flops_of(rates, type) =
        measure_gemm_rate(execution, gemm, type, max_bytes, clock) / milliseconds_per_second;
  }
  rates.bytes = measure_stream_rate(execution, max_bytes, clock) / milliseconds_per_second;
  return rates;
}

std::string describe(const StatedRates& stated) {
  constexpr double giga_per_s = 1e6;  // from bytes per millisecond
  std::string text = "GEMMs at";
  for (const DType type : stated.types) {
    text += fmt::format(" {} in {},", in_flops_per_s(stated.rates.flops_in(type)), name_of(type));
  }
  return text + fmt::format(" memory at {:.0f} GB/s, {}", stated.rates.bytes / giga_per_s, origin_of(stated));
}

}  // namespace mylos
