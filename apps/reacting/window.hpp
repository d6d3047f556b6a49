// The window of samples: the last ones that this rank has measured. Training batches are drawn from it at
// random, so a state that the flow visits seldom is replayed.
#pragma once

#include <cstdint>
#include <vector>

#include "encoding.hpp"

namespace reacting {

/// A row per sample, as OnlineTrainer takes them.
using Rows = Kokkos::View<float**, Kokkos::LayoutRight>;

class Window {
 public:
  /// Holds `capacity` samples; a batch has at most `batch`.
  Window(int capacity, int batch);

  /// Appends the first `count` rows; the oldest are replaced.
  void append(const Rows& inputs, const Rows& targets, int count);

  /// Draws a batch into batch_inputs() and batch_targets(), which have no rows while the window is empty.
  /// `stream` selects the random numbers: another one for each batch.
  void draw(std::uint64_t stream);
  [[nodiscard]] const Rows& batch_inputs() const { return batch_inputs_; }
  [[nodiscard]] const Rows& batch_targets() const { return batch_targets_; }

  /// Number of samples appended so far.
  std::int64_t appended = 0;
  /// [capacity, inputs and target]: for restarts.
  Rows rows;

 private:
  int batch_;
  Rows all_inputs_, all_targets_;
  Rows batch_inputs_, batch_targets_;
};

}  // namespace reacting
