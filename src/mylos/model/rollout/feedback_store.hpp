// FeedbackStore: the device memory of a rollout besides the activations: the tables of the feedback, and the
// first input of a micro-batch where it is not the row that the data deliver.
#pragma once

#include <span>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/memory_entry.hpp"
#include "mylos/base/places.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/rollout.hpp"
#include "mylos/model/rollout/feedback_kernels.hpp"

namespace mylos {

class FeedbackStore {
 public:
  /// `samples`: the maximum of a micro-batch. Scalings are 1 and 0 until set_scaling().
  FeedbackStore(const RolloutOptions& options, const Chain& chain, std::int64_t samples);
  /// Returns the memory of a deck's store; a deck without a rollout has none.
  [[nodiscard]] static PartMemory memory(const RolloutOptions& options, const Chain& chain,
                                         std::int64_t samples);

  /// Sets the scalings of all input channels. Not while a step runs.
  void set_scaling(std::span<const FeedbackScaling> scalings);
  [[nodiscard]] FeedbackTables tables() const;
  /// Returns the memory for the input of a copy, [rows, inputs]: copies share two. Empty if the first input
  /// is the row of the data.
  [[nodiscard]] Tensor input(std::int64_t copy, std::int64_t rows) const;

 private:
  /// Byte offsets in the arena.
  struct Places {
    std::size_t outputs = 0;
    std::size_t previous = 0;
    std::size_t counts = 0;
    std::size_t inputs = 0;  // of the first of the `count` buffers
    std::size_t input_bytes = 0;
    std::int64_t count = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] static Places places_of(const RolloutOptions& options, const Chain& chain,
                                        std::int64_t samples);
  void write_tables(std::span<const FeedbackScaling> scalings);

  FeedbackMap map_;
  float noise_;
  DType type_;
  Places places_;
  Arena arena_;
};

}  // namespace mylos
