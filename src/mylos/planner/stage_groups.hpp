// StageGroups: neighbouring blocks of a chain taken as one stage each, so that a chain which is too long for
// an exact dynamic program becomes short enough.
//
// A group runs as one: all its blocks store variants for their backward pass, or the group keeps its input
// only and runs again. Each group offers a few combinations of its blocks' variants, from the fastest to the
// one of the fewest bytes. Bytes are bounds: what a schedule of groups takes, spelled out block by block, is
// never more. Groups end where little has to be kept, at about equal distances.
#pragma once

#include <cstddef>
#include <vector>

#include "mylos/planner/stages.hpp"

namespace mylos {

class StageGroups {
 public:
  /// At most `count` groups of the blocks of `stages`, and the loss.
  StageGroups(const std::vector<Stage>& stages, std::size_t count);

  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }
  /// The most blocks of a group.
  [[nodiscard]] std::size_t max_blocks() const;
  /// A schedule of groups, block by block.
  [[nodiscard]] Schedule expand(const Schedule& of_groups) const;

 private:
  using Variants = std::vector<std::size_t>;  // of each block of a group

  void add_variants(const std::vector<Stage>& stages, std::size_t group);

  std::vector<std::size_t> firsts_;              // of each group its first block; at the end the loss
  std::vector<std::vector<Variants>> variants_;  // of each group, of each of its stage's variants
  std::vector<Stage> stages_;
};

}  // namespace mylos
