// The rate at which a rank moves bytes between memory and its processor.
#pragma once

#include <cstddef>
#include <functional>

#include "mylos/kernels/rates/gemm_rate.hpp"

namespace mylos {

/// Returns the bytes per second of STREAM's triad (McCalpin, "Memory bandwidth and machine balance in current
/// high performance computers", 1995) in the form a += b/2, which reads two floats and writes one: the median
/// of a few passes over arrays that exceed the caches. The temporary arrays take 256 MiB on hosts, 1 GiB on
/// devices, or `max_bytes` if that is less, but at least 1 MiB. `clock`: seconds.
[[nodiscard]] double measure_stream_rate(const Execution& execution, std::size_t max_bytes,
                                         const std::function<double()>& clock = steady_seconds);

}  // namespace mylos
