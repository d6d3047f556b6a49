#include "mylos/planner/lists.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/deck.hpp"

namespace mylos {
namespace {

void check(std::size_t blocks, const std::vector<BlockGroup>& groups) {
  std::int64_t next = 0;
  for (const BlockGroup& group : groups) {
    if (group.first < next || group.last < group.first) {
      fail_input(errors::bad_value,
                 "memory.recompute: group {}-{}: groups must be ascending, disjoint and not empty",
                 group.first, group.last);
    }
    if (group.last >= static_cast<std::int64_t>(blocks)) {
      fail_input(errors::bad_value, "memory.recompute: group {}-{}: the blocks are numbered 0 to {}",
                 group.first, group.last, blocks - 1);
    }
    next = group.last + 1;
  }
}

}  // namespace

Schedule recompute_groups(std::size_t blocks, const std::vector<BlockGroup>& groups) {
  check(blocks, groups);
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> first_of(blocks, none);  // of each block that is recomputed: its group's first
  for (const BlockGroup& group : groups) {
    if (group.last + 1 == static_cast<std::int64_t>(blocks)) continue;
    std::fill(first_of.begin() + group.first, first_of.begin() + group.last + 1,
              static_cast<std::size_t>(group.first));
  }

  Schedule schedule;
  for (std::size_t i = 0; i < blocks; ++i) {
    const Keep in_group = first_of[i] == i ? Keep::input : Keep::nothing;
    schedule.push_back({OperationKind::forward, i, first_of[i] == none ? Keep::variant : in_group});
  }
  schedule.push_back({OperationKind::loss, blocks});
  for (std::size_t i = blocks; i-- > 0;) {
    const bool ends_group = first_of[i] != none && (i + 1 == blocks || first_of[i + 1] != first_of[i]);
    for (std::size_t j = first_of[i]; ends_group && j <= i; ++j) {
      schedule.push_back({OperationKind::forward, j, Keep::variant});
    }
    schedule.push_back({OperationKind::backward, i});
  }
  return schedule;
}

Schedule recompute_every(std::size_t blocks, std::int64_t length) {
  if (length < 1)
    fail_input(errors::bad_value, "memory.recompute: every {} blocks: expected at least 1", length);
  const auto count = static_cast<std::int64_t>(blocks);
  length = std::min(length, count);
  std::vector<BlockGroup> groups;
  for (std::int64_t first = 0; first < count; first += length) {
    groups.push_back({first, std::min(first + length, count) - 1});
  }
  return recompute_groups(blocks, groups);
}

}  // namespace mylos
