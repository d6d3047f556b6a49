// [run]: name, length and reporting of a run.
#pragma once

#include <cstdint>
#include <string>

namespace mylos {

struct RunOptions {
  std::string name = "run";
  std::string folder;  // "runs/<name>" when the deck gives none
  std::uint64_t seed = 1;
  std::int64_t epochs = 0;  // exactly one of epochs and steps is > 0
  std::int64_t steps = 0;
  int threads = 0;                  // per rank; 0 = cores this rank may use / ranks that share them
  std::int64_t evaluate_every = 0;  // steps; 0 = each epoch
  std::int64_t log_every = 10;      // steps
  std::int64_t walltime_s = 0;      // that the job has, from the start of the program; 0 = no end
  bool reproducible = false;        // the same bits on every number of ranks that it allows
  double peak_flops = 0;            // FLOP/s of a rank; 0 = measured at the start

  bool operator==(const RunOptions&) const = default;
};

}  // namespace mylos
