// PoolStages: a pool as passes along one axis after the other, and the buffers between them.
#pragma once

#include <algorithm>
#include <array>

#include "mylos/kernels/grid/pool_line.hpp"
#include "mylos/kernels/grid/pooling.hpp"

namespace mylos {

/// The tap of a window's maximum, numbered row-major over the window.
using Tap = std::int32_t;
inline constexpr std::int64_t max_taps = 2147483647;

/// The pooled axes. Each stage reads the output of the previous one. The outermost axis is first, because it
/// has the longest vectors and reduces what the others read.
class PoolStages {
 public:
  explicit PoolStages(const PoolShape& shape);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const PoolLine& operator[](std::size_t stage) const { return lines_[stage]; }
  /// Returns the distance between neighbouring taps along the stage's axis in the numbering of taps.
  [[nodiscard]] std::int64_t pitch(std::size_t stage) const { return pitches_[stage]; }
  /// Returns the output elements of a stage per sample.
  [[nodiscard]] std::int64_t outputs(std::size_t stage) const {
    return lines_[stage].lines * lines_[stage].outputs();
  }

 private:
  std::array<PoolLine, 3> lines_;
  std::array<std::int64_t, 3> pitches_ = {};
  std::size_t count_ = 0;
};

/// The buffers that a pass needs between its stages.
struct PoolNeeds {
  std::size_t value_bytes = 0;  // of an element between stages; 0: none are stored
  bool gradients = false;
  bool taps = false;  // of each stage's output

  [[nodiscard]] static PoolNeeds max_forward(DType type) { return {.value_bytes = size_of(type)}; }
  [[nodiscard]] static PoolNeeds max_backward(DType type) {
    return {.value_bytes = size_of(type), .gradients = true, .taps = true};
  }
  [[nodiscard]] static PoolNeeds average_forward() { return {.value_bytes = sizeof(float)}; }
  [[nodiscard]] static PoolNeeds average_backward() { return {.gradients = true}; }
};

/// The workspace of the samples that are pooled together.
struct PoolBuffers {
  PoolBuffers(const PoolStages& stages, const PoolNeeds& needs, std::int64_t samples, void* workspace);

  std::array<std::byte*, 2> values = {};  // between stages
  std::array<float*, 2> gradients = {};   // of these values
  std::array<Tap*, 3> taps = {};          // of each stage's output
  std::size_t bytes = 0;
};

[[nodiscard]] PoolAxis pool_axis(const PoolShape& shape, std::size_t axis);

/// Returns true if every point lies in a window.
[[nodiscard]] bool all_points_seen(const PoolShape& shape);

/// Returns true if the backward pass of a maximum is computed window by window: windows do not overlap, and
/// points have sufficient channels for vectors. Then it needs no workspace.
[[nodiscard]] bool pools_by_windows(const PoolShape& shape);

/// Returns true if the forward pass is computed so too: windows are small and points have many channels.
[[nodiscard]] bool takes_maxima_by_windows(const PoolShape& shape);

/// Throws Error if the matrices are not an input and an output of such a pool.
void check_pool_matrices(const PoolShape& shape, const ConstTensor& input, const ConstTensor& output);

/// Returns how many of `samples` are pooled together, so that their workspace stays small.
[[nodiscard]] std::int64_t samples_together(const PoolStages& stages, const PoolNeeds& needs,
                                            std::int64_t samples);

/// Calls pool(stages, buffers, first, count) for groups of samples [first, first + count) that are pooled
/// together.
template <class Pool>
void pool_samples(const PoolShape& shape, const PoolNeeds& needs, std::int64_t samples, void* workspace,
                  const Pool& pool) {
  const PoolStages stages(shape);
  const std::int64_t together = samples_together(stages, needs, samples);
  const PoolBuffers buffers(stages, needs, together, workspace);
  for (std::int64_t first = 0; first < samples; first += together)
    pool(stages, buffers, first, std::min(together, samples - first));
}

/// Calls along(stage, from, to) from the last stage to the first. Gradients have type T at both ends, and are
/// floats between stages.
template <class T, class Along>
void pass_gradients(const PoolStages& stages, const PoolBuffers& buffers, const T* dy, T* dx,
                    const Along& along) {
  const auto pass = [&]<class From>(std::size_t stage, const From* from) {
    if (stage == 0) return along(stage, from, dx);
    along(stage, from, buffers.gradients[stage - 1]);
  };
  const std::size_t last = stages.count() - 1;
  pass(last, dy);
  for (std::size_t stage = last; stage-- > 0;) {
    const float* const from = buffers.gradients[stage];
    pass(stage, from);
  }
}

}  // namespace mylos
