// `mylos prepare fields --out FILE`: synthetic fields with known solutions, for surrogate models on grids.
//
// Inputs are random sources f on the periodic unit square: sums of Fourier modes (k, l) with normal
// amplitudes that decay as 1 / |(k, l)|. Targets are 4 pi^2 times the solutions of -Laplace u = f; their
// modes are those of f divided by (k^2 + l^2). Both are of order 1. A point [i, j] lies at (i, j) / size.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

struct PrepareFields {
  std::string out;  // the dataset file to make: [samples, size * size] inputs and targets
  std::int64_t samples = 1024;
  std::int64_t size = 64;  // points along both axes
  std::int64_t modes = 8;  // maximum |k| and |l|; below size / 2
  std::uint64_t seed = 1;  // independent of threads; the machine's libm may change the last bits
};

/// Throws Error: bad_input if sizes are out of range, failed if `out` cannot be written. Holds one sample at
/// a time in memory.
void prepare(const PrepareFields& job);

}  // namespace mylos
