// PoolStages: a pool as passes along one axis after the other, and the buffers between them.
#pragma once

#include <algorithm>
#include <array>

#include "mylos/kernels/grid/pool_line.hpp"
#include "mylos/kernels/grid/pooling.hpp"

namespace mylos {

/// Which tap of its window is the maximum, counted row-major over the window.
using Tap = std::int32_t;
inline constexpr std::int64_t max_taps = 2147483647;

/// The axes that are pooled, the outermost first, which has the longest vectors and leaves the others less to
/// read: what one gives is what the next one reads.
class PoolStages {
 public:
  explicit PoolStages(const PoolShape& shape);

  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] const PoolLine& operator[](std::size_t stage) const { return lines_[stage]; }
  /// Taps of a window from one along the stage's axis to the next.
  [[nodiscard]] std::int64_t pitch(std::size_t stage) const { return pitches_[stage]; }
  /// Elements of a sample that a stage gives.
  [[nodiscard]] std::int64_t outputs(std::size_t stage) const {
    return lines_[stage].lines * lines_[stage].outputs();
  }

 private:
  std::array<PoolLine, 3> lines_;
  std::array<std::int64_t, 3> pitches_ = {};
  std::size_t count_ = 0;
};

/// What a pass over all stages needs between them.
struct PoolNeeds {
  std::size_t value_bytes = 0;  // of an element that a stage gives the next one; 0: the pass has none
  bool gradients = false;
  bool taps = false;  // of what each stage gives

  [[nodiscard]] static PoolNeeds max_forward(DType type) { return {.value_bytes = size_of(type)}; }
  [[nodiscard]] static PoolNeeds max_backward(DType type) {
    return {.value_bytes = size_of(type), .gradients = true, .taps = true};
  }
  [[nodiscard]] static PoolNeeds average_forward() { return {.value_bytes = sizeof(float)}; }
  [[nodiscard]] static PoolNeeds average_backward() { return {.gradients = true}; }
};

/// The workspace of samples that are pooled together.
struct PoolBuffers {
  PoolBuffers(const PoolStages& stages, const PoolNeeds& needs, std::int64_t samples, void* workspace);

  std::array<std::byte*, 2> values = {};  // what a stage gives the next one
  std::array<float*, 2> gradients = {};   // of that
  std::array<Tap*, 3> taps = {};          // of what each stage gives
  std::size_t bytes = 0;
};

[[nodiscard]] PoolAxis pool_axis(const PoolShape& shape, std::size_t axis);

/// Whether every point lies in a window.
[[nodiscard]] bool all_points_seen(const PoolShape& shape);

/// Whether the backward pass of a maximum goes window by window: where none overlaps another and points have
/// channels enough for vectors. It needs no workspace then.
[[nodiscard]] bool goes_by_windows(const PoolShape& shape);

/// Whether the forward pass does so too: where windows are small and points have many channels.
[[nodiscard]] bool takes_maxima_by_windows(const PoolShape& shape);

/// Throws Error where these are no input and output of such a pool.
void check_pool_matrices(const PoolShape& shape, const Tensor& input, const Tensor& output);

/// How many of `samples` are pooled together, so that their workspace stays small.
[[nodiscard]] std::int64_t samples_together(const PoolStages& stages, const PoolNeeds& needs,
                                            std::int64_t samples);

/// pool(stages, buffers, first, count) for samples [first, first + count) that are pooled together.
template <class Pool>
void pool_samples(const PoolShape& shape, const PoolNeeds& needs, std::int64_t samples, void* workspace,
                  const Pool& pool) {
  const PoolStages stages(shape);
  const std::int64_t together = samples_together(stages, needs, samples);
  const PoolBuffers buffers(stages, needs, together, workspace);
  for (std::int64_t first = 0; first < samples; first += together)
    pool(stages, buffers, first, std::min(together, samples - first));
}

/// along(stage, from, to) from the last stage to the first: gradients of type T at both ends, floats between.
template <class T, class Along>
void pass_gradients(const PoolStages& stages, const PoolBuffers& buffers, const T* dy, T* dx,
                    const Along& along) {
  const auto pass = [&](std::size_t stage, const auto* from) {
    if (stage == 0) return along(stage, from, dx);
    along(stage, from, buffers.gradients[stage - 1]);
  };
  const std::size_t last = stages.count() - 1;
  pass(last, dy);
  for (std::size_t stage = last; stage-- > 0;)
    pass(stage, const_cast<const float*>(buffers.gradients[stage]));
}

}  // namespace mylos
