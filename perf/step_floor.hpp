// The floor of a training step: the time of its work without any overhead between its parts.
//
// It has three terms, measured alone and with warm caches: every GEMM at the speed of the fastest engine and
// layout, other arithmetic at the rate of all those GEMMs, and the bytes that the gradient check and the
// AdamW update must move at the best of a streaming copy and a triad.
#pragma once

#include <vector>

#include "library_layouts.hpp"
#include "mylos/base/device/arena.hpp"

namespace mylos {

/// The work of a step, independent of the implementation.
struct StepWork {
  struct Gemm {
    std::string name;
    GemmProblem problem;
    int count = 1;  // of GEMMs of this shape
  };

  DType type = DType::fp32;
  std::vector<Gemm> gemms;
  double other_flops = 0;    // of GEMMs that no engine computes: attention's
  std::int64_t weights = 0;  // parameters that the optimizer updates

  /// The GEMMs of `count` layers y = x·Wᵀ.
  void add_linear(const std::string& name, std::int64_t rows, std::int64_t inputs, std::int64_t outputs,
                  bool input_gradient, int count = 1);
};

/// Milliseconds.
struct FloorTimes {
  double gemms = 0;
  double other = 0;
  double passes = 0;
  [[nodiscard]] double total() const { return gemms + other + passes; }
};

class StepFloor {
 public:
  explicit StepFloor(const StepWork& work);

  /// Measures everything again. The first call tries all candidates, later calls only those close to the
  /// best.
  FloorTimes measure();

  /// The results of the last measure(): one line for each GEMM, one for other arithmetic and one for the
  /// passes.
  [[nodiscard]] std::string describe() const;

 private:
  struct MeasuredGemm {
    StepWork::Gemm work;
    std::vector<GemmCandidate> candidates;
    std::vector<double> times;  // of the candidates, in ms
  };
  void add_gemm(const StepWork::Gemm& work);
  static void drop_hopeless(MeasuredGemm& gemm);
  [[nodiscard]] double fastest_stream_bytes_per_ms() const;

  std::vector<std::shared_ptr<GemmEngine>> engines_;
  std::vector<MeasuredGemm> gemms_;
  double other_flops_ = 0;
  std::size_t pass_bytes_ = 0;
  Arena arrays_;  // two, that are streamed
  double flops_per_ms_ = 0;
  double bytes_per_ms_ = 0;
};

}  // namespace mylos
