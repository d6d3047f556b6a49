#include "mylos/planner/stage_groups.hpp"

#include <algorithm>
#include <optional>

namespace mylos {
namespace {

constexpr std::size_t max_combinations = 5;  // of a group's variants

std::size_t less(std::size_t from, std::size_t bytes) {
  return from - std::min(from, bytes);
}

/// The first stage of each group, and the loss.
std::vector<std::size_t> group_firsts(const std::vector<Stage>& stages, std::size_t count) {
  const std::size_t blocks = stages.size() - 1;
  count = std::clamp<std::size_t>(count, 1, blocks);
  const std::size_t reach = blocks / count / 4;  // of a cut around the stage that makes groups equal
  std::vector<std::size_t> firsts{0};
  for (std::size_t group = 1; group < count; ++group) {
    const std::size_t middle = group * blocks / count;
    std::size_t cut = middle;
    for (std::size_t at = middle - reach; at <= middle + reach; ++at) {
      if (stages[at].input_beside(0) < stages[cut].input_beside(0)) cut = at;
    }
    firsts.push_back(cut);
  }
  firsts.push_back(blocks);
  return firsts;
}

std::size_t fastest_variant(const Stage& stage) {
  const auto fastest = std::min_element(stage.variants.begin(), stage.variants.end(),
                                        [](const auto& a, const auto& b) { return a.time < b.time; });
  return static_cast<std::size_t>(fastest - stage.variants.begin());
}

struct Exchange {
  std::size_t block = 0;  // of the group
  std::size_t variant = 0;
  double price = 0;  // milliseconds for each byte less
};

/// Of all blocks from `first` on, the exchange of a variant that saves bytes for the least time.
std::optional<Exchange> cheapest_exchange(const std::vector<Stage>& stages, std::size_t first,
                                          const std::vector<std::size_t>& variants) {
  std::optional<Exchange> best;
  for (std::size_t block = 0; block < variants.size(); ++block) {
    const std::vector<StageVariant>& offers = stages[first + block].variants;
    const StageVariant& now = offers[variants[block]];
    for (std::size_t v = 0; v < offers.size(); ++v) {
      if (offers[v].kept >= now.kept) continue;
      const double price = (offers[v].time - now.time) / static_cast<double>(now.kept - offers[v].kept);
      if (!best || price < best->price) best = Exchange{block, v, price};
    }
  }
  return best;
}

/// Of a group that begins with stage `first`, with a variant of each of its blocks.
StageVariant combined(const std::vector<Stage>& stages, std::size_t first,
                      const std::vector<std::size_t>& variants) {
  StageVariant sum;
  std::size_t forward = 0;   // bytes
  std::size_t backward = 0;  // with the gradients that backward reads and writes
  for (std::size_t block = 0; block < variants.size(); ++block) {
    const Stage& stage = stages[first + block];
    const StageVariant& variant = stage.variants[variants[block]];
    sum.kept += variant.kept;
    sum.time += variant.time;
    forward = std::max(forward, sum.kept + variant.forward_workspace);
    backward = std::max(backward,
                        sum.kept + stage.output_gradient + stage.input_gradient + variant.backward_workspace);
  }
  const Stage& last = stages[first + variants.size() - 1];
  sum.forward_workspace = less(forward, sum.kept);
  sum.backward_workspace = less(backward, sum.kept + last.output_gradient + stages[first].input_gradient);
  return sum;
}

/// The group of the stages [first, end), as yet without variants.
Stage group_stage(const std::vector<Stage>& stages, std::size_t first, std::size_t end) {
  const Stage& last = stages[end - 1];
  Stage group;
  group.input = stages[first].input;
  group.input_gradient = stages[first].input_gradient;
  group.output = last.output;
  group.output_gradient = last.output_gradient;
  std::size_t pass = 0;
  for (std::size_t i = first; i < end; ++i) {
    const std::size_t input = i > first ? stages[i].input_beside(first) : 0;
    pass = std::max(pass, input + stages[i].output + stages[i].pass_workspace);
    group.forward_time += stages[i].forward_time;
  }
  group.pass_workspace = less(pass, group.output);
  return group;
}

}  // namespace

StageGroups::StageGroups(const std::vector<Stage>& stages, std::size_t count)
    : firsts_(group_firsts(stages, count)), variants_(firsts_.size() - 1) {
  for (std::size_t group = 0; group + 1 < firsts_.size(); ++group) {
    stages_.push_back(group_stage(stages, firsts_[group], firsts_[group + 1]));
    add_variants(stages, group);
  }
  stages_.push_back(stages.back());
  for (std::size_t group = 0; group < stages_.size(); ++group) {
    const std::vector<std::size_t>& carried = stages[firsts_[group]].carried;
    stages_[group].carried.clear();
    for (std::size_t q = 0; q < group && !carried.empty(); ++q)
      stages_[group].carried.push_back(carried[firsts_[q]]);
  }
}

void StageGroups::add_variants(const std::vector<Stage>& stages, std::size_t group) {
  const std::size_t first = firsts_[group];
  Variants now;
  for (std::size_t i = first; i < firsts_[group + 1]; ++i) now.push_back(fastest_variant(stages[i]));
  std::vector<Variants> all{now};
  while (const std::optional<Exchange> exchange = cheapest_exchange(stages, first, now)) {
    now[exchange->block] = exchange->variant;
    all.push_back(now);
  }
  const std::size_t chosen = std::min(all.size(), max_combinations);
  for (std::size_t i = 0; i < chosen; ++i) {
    variants_[group].push_back(all[chosen == 1 ? 0 : i * (all.size() - 1) / (chosen - 1)]);
    stages_[group].variants.push_back(combined(stages, first, variants_[group].back()));
  }
}

std::size_t StageGroups::max_blocks() const {
  std::size_t most = 0;
  for (std::size_t group = 0; group + 1 < firsts_.size(); ++group)
    most = std::max(most, firsts_[group + 1] - firsts_[group]);
  return most;
}

Schedule StageGroups::expand(const Schedule& of_groups) const {
  Schedule schedule;
  for (const Operation& operation : of_groups) {
    if (operation.kind == OperationKind::loss) {
      schedule.push_back({OperationKind::loss, firsts_.back()});
      continue;
    }
    const std::size_t first = firsts_[operation.block];
    const std::size_t end = firsts_[operation.block + 1];
    const Variants& variants = variants_[operation.block][operation.variant];
    if (operation.kind == OperationKind::backward) {
      for (std::size_t i = end; i-- > first;)
        schedule.push_back({OperationKind::backward, i, Keep::nothing, variants[i - first]});
      continue;
    }
    for (std::size_t i = first; i < end; ++i) {
      if (operation.keep == Keep::variant) {
        schedule.push_back({OperationKind::forward, i, Keep::variant, variants[i - first]});
      } else {
        schedule.push_back({OperationKind::forward, i, i == first ? operation.keep : Keep::nothing});
      }
    }
  }
  return schedule;
}

}  // namespace mylos
