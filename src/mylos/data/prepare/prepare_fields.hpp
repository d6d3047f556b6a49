// `mylos prepare fields --out FILE`: made-up fields with an answer that is known, for surrogates on grids.
//
// Inputs are random sources f on the periodic unit square, sums of Fourier modes (k, l) with normal
// amplitudes that fall as 1 / |(k, l)|; targets are the solutions of -Laplace u = f, whose modes are those of
// f divided by 4 pi^2 (k^2 + l^2), times 4 pi^2: both of the size of 1. A point [i, j] lies at (i, j) / size.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

struct PrepareFields {
  std::string out;  // the dataset file to make: [samples, size * size] inputs and targets
  std::int64_t samples = 1024;
  std::int64_t size = 64;  // points along both axes
  std::int64_t modes = 8;  // the largest |k| and |l|; below size / 2
  std::uint64_t seed = 1;  // the same numbers, whatever the machine's threads; its libm rounds the last bits
};

/// Throws Error: bad_input where sizes are out of range, failed when `out` cannot be written. Holds one
/// sample at a time.
void prepare(const PrepareFields& job);

}  // namespace mylos
