// Rotor: the fastest execution schedule under a bound on the bytes that are alive at any time.
//
// The dynamic program of Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova: Optimal checkpointing for
// heterogeneous chains (arXiv 1911.13214), over the variants in which a block may keep what backward reads.
// C(i, k, m) is the least time in which the blocks i … k run forward and backward in m bytes, with x_i in
// memory (not counted in m) and δ_{k+1} (counted). Either block i keeps a variant for its backward,
//
//   C(i, k, m) = min over v of f_i + b_i + r_iv + C(i+1, k, m - x̄_{i+1,v}),
//
// or it keeps its input only, runs on to some x_j, and comes back later:
//
//   C(i, k, m) = min over j of f_i + … + f_{j-1} + C(j, k, m - x_j) + C(i, j-1, m),
//
// each where the bytes that are alive during its operations fit into m. Where blocks read earlier boundaries
// too, x_j is a tuple that is kept as a whole, and what of it x_i holds as well is not counted again: x_i
// stays until the segment is done. The loss is the chain's last stage. Memory is counted in slots, the bytes
// of what is kept rounded up to whole slots. Equal segments share a row of the table.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mylos/planner/segments.hpp"

namespace mylos {

class Rotor {
 public:
  /// Fills the table for 0 … `slots` slots of `slot_bytes` bytes: 4 · slots bytes for each kind of segment,
  /// and of the order of slots · segments.splits() additions.
  Rotor(StageChain chain, std::size_t slot_bytes, std::size_t slots);
  Rotor(const Rotor&) = delete;
  Rotor& operator=(const Rotor&) = delete;

  [[nodiscard]] std::size_t slots() const { return slots_; }
  /// Milliseconds of the fastest schedule within this many slots beside x_0; infinity where there is none.
  [[nodiscard]] float time(std::size_t slots) const;
  /// That schedule; empty where there is none.
  [[nodiscard]] std::optional<Schedule> schedule(std::size_t slots) const;

 private:
  /// What the rows of equal segments share beside the row itself.
  struct Range {
    std::size_t least = 0;   // slots from which on the segment can run
    std::size_t enough = 0;  // slots from which on no stage recomputes, and more do not help
    float ideal = 0;         // milliseconds without recomputation
  };

  [[nodiscard]] float* row(std::size_t i, std::size_t k) {
    return table_.data() + segments_.kind(i, k) * (slots_ + 1);
  }
  [[nodiscard]] const float* row(std::size_t i, std::size_t k) const {
    return table_.data() + segments_.kind(i, k) * (slots_ + 1);
  }
  [[nodiscard]] const Range& range(std::size_t i, std::size_t k) const {
    return ranges_[segments_.kind(i, k)];
  }
  [[nodiscard]] std::size_t slots_for(std::size_t bytes) const {
    return (bytes + slot_bytes_ - 1) / slot_bytes_;
  }

  void fill(std::size_t i, std::size_t k);
  void fill_keeping(std::size_t i, std::size_t k, std::size_t end);
  void fill_coming_back(std::size_t i, std::size_t k, std::size_t end);
  [[nodiscard]] SegmentChoice choice(std::size_t i, std::size_t k, std::size_t m) const;

  StageChain chain_;
  const std::vector<Stage>& stages_ = chain_.stages;
  const Segments& segments_ = chain_.segments;
  std::size_t slot_bytes_;
  std::size_t slots_;
  std::vector<float> table_;   // [kind of segment][slots]
  std::vector<Range> ranges_;  // of each kind
};

}  // namespace mylos
