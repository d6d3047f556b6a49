// The floor of a training step: the time that its work would take if nothing stood between its parts.
//
// Two terms, measured alone and hot: every product at the speed of the fastest engine and layout, and the
// bytes that the gradient check and the AdamW update must move at the best of a streaming copy and a triad.
#pragma once

#include <vector>

#include "library_layouts.hpp"
#include "mylos/base/arena.hpp"

namespace mylos {

/// Milliseconds.
struct FloorTimes {
  double products = 0;
  double passes = 0;
  [[nodiscard]] double total() const { return products + passes; }
};

class StepFloor {
 public:
  /// An MLP with these widths, input first, at `batch` samples per step, computed in `type`.
  StepFloor(std::int64_t batch, const std::vector<std::int64_t>& widths, DType type);

  /// Measures everything again. The first call tries all candidates, later ones those that came near the
  /// best.
  FloorTimes measure();

  /// What the last measure() saw, one line for each product and one for the passes.
  [[nodiscard]] std::string describe() const;

 private:
  struct Product {
    std::string name;
    GemmProblem problem;
    std::vector<ProductCandidate> candidates;
    std::vector<double> times;  // of the candidates, in ms
  };
  void add_product(const std::string& name, const GemmProblem& problem);
  static void drop_hopeless(Product& product);
  [[nodiscard]] double fastest_stream_bytes_per_ms() const;

  std::vector<std::shared_ptr<GemmEngine>> engines_;
  std::vector<Product> products_;
  std::size_t pass_bytes_ = 0;
  Arena arrays_;  // as large as what the update touches
  double bytes_per_ms_ = 0;
};

}  // namespace mylos
