// Rotor: the fastest list of operations under a bound on the bytes that are alive at any time; and the list
// that needs the fewest bytes, whatever its time.
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
// of what is kept rounded up to whole slots.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "mylos/model/memory/schedule.hpp"

namespace mylos {

struct Stage;
struct SegmentChoice;

class Rotor {
 public:
  /// Fills the table for 0 … `slots` slots of `slot_bytes` bytes: 4 · slots · (blocks + 2)² / 2 bytes, and
  /// of the order of slots · blocks³ / 6 additions.
  Rotor(const ChainCost& cost, std::size_t slot_bytes, std::size_t slots);
  ~Rotor();
  Rotor(const Rotor&) = delete;
  Rotor& operator=(const Rotor&) = delete;

  [[nodiscard]] std::size_t slots() const { return slots_; }
  /// Milliseconds of the fastest list within this many slots beside x_0; infinity where there is none.
  [[nodiscard]] float time(std::size_t slots) const;
  /// That list; empty where there is none.
  [[nodiscard]] std::optional<Schedule> schedule(std::size_t slots) const;

 private:
  struct Range {
    std::size_t least = 0;   // slots from which on the segment can run
    std::size_t enough = 0;  // slots from which on no stage recomputes, and more do not help
  };

  [[nodiscard]] std::size_t pair(std::size_t i, std::size_t k) const {
    return i * (2 * count_ - i + 1) / 2 + k - i;
  }
  [[nodiscard]] float* row(std::size_t i, std::size_t k) { return table_.data() + pair(i, k) * (slots_ + 1); }
  [[nodiscard]] const float* row(std::size_t i, std::size_t k) const {
    return table_.data() + pair(i, k) * (slots_ + 1);
  }
  [[nodiscard]] std::size_t slots_for(std::size_t bytes) const {
    return (bytes + slot_bytes_ - 1) / slot_bytes_;
  }

  void fill(std::size_t i, std::size_t k);
  void fill_keeping(std::size_t i, std::size_t k, std::size_t end);
  void fill_coming_back(std::size_t i, std::size_t k, std::size_t end);
  [[nodiscard]] SegmentChoice choice(std::size_t i, std::size_t k, std::size_t m) const;

  std::vector<Stage> stages_;
  std::size_t count_;  // of stages
  std::size_t slot_bytes_;
  std::size_t slots_;
  std::vector<float> table_;   // [segment (i, k)][slots]
  std::vector<Range> ranges_;  // of each segment
  std::vector<float> ideal_;   // of each segment: milliseconds without recomputation
};

/// The same choices as Rotor's, with the peak as what is minimised, in exact bytes:
/// M(i, k) = the least over both ways of the largest of its operations' bytes and of what lies between them.
/// Among lists of the same peak in a segment, the fastest. Of the order of blocks³ operations.
[[nodiscard]] Schedule min_memory_schedule(const ChainCost& cost);

}  // namespace mylos
