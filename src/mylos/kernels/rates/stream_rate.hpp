// The rate at which a rank moves bytes between memory and its processor.
#pragma once

#include <cstddef>
#include <functional>

#include "mylos/kernels/rates/product_rate.hpp"

namespace mylos {

/// Bytes per second of STREAM's triad (McCalpin, "Memory bandwidth and machine balance in current high
/// performance computers", 1995) as a += b/2, which reads two floats and writes one: the median of a few
/// passes over arrays that no cache holds. They are its own, given back, and take 256 MiB on hosts, 1 GiB on
/// devices, or `max_bytes` where that is less, but at least 1 MiB. `clock`: seconds.
[[nodiscard]] double measure_stream_rate(const Execution& execution, std::size_t max_bytes,
                                         const std::function<double()>& clock = steady_seconds);

}  // namespace mylos
