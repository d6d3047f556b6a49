#include "mylos/train/plan/sample_needs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/data/feed/share.hpp"

namespace mylos {
namespace {

/// The last micro-batch of a rank, which is its smallest one.
struct LastPart {
  int rank = 0;
  std::int64_t number = 1;    // its number in the step, from 1
  std::int64_t samples = 0;   // on the rank
  std::int64_t together = 0;  // on all ranks, in their micro-batches of this number
};

/// Returns the samples of a local batch in micro-batch `number`, from 1.
std::int64_t samples_in(std::int64_t local_batch, std::int64_t micro_batch, std::int64_t number) {
  const std::int64_t most = micro_batch_samples(local_batch, micro_batch);
  return std::clamp<std::int64_t>(local_batch - (number - 1) * most, 0, most);
}

LastPart last_part(const StepPartition& step, int rank) {
  const std::int64_t local_batch = share_of(step.batch, rank, step.ranks).count;
  LastPart part{.rank = rank, .number = micro_batch_count(local_batch, step.micro_batch)};
  part.samples = samples_in(local_batch, step.micro_batch, part.number);
  const auto all_of = [&](int one, std::int64_t ranks) {
    return ranks * samples_in(share_of(step.batch, one, step.ranks).count, step.micro_batch, part.number);
  };
  const std::int64_t larger = step.batch % step.ranks;  // ranks with one sample more than the others
  part.together = all_of(0, larger) + all_of(step.ranks - 1, step.ranks - larger);
  return part;
}

/// Returns the first one with too few samples. Local batches have at most two sizes: those of the first and
/// the last rank.
std::optional<LastPart> find_lack(const SampleNeeds& needs, const StepPartition& step) {
  for (const int rank : {0, step.ranks - 1}) {
    const LastPart part = last_part(step, rank);
    if (part.samples < needs.own || part.together < needs.together) return part;
  }
  return std::nullopt;
}

std::string describe(const StepPartition& step) {
  std::string text = fmt::format("data.batch = {}", step.batch);
  if (step.micro_batch > 0) text += fmt::format(", data.micro_batch = {}", step.micro_batch);
  return fmt::format("{} on {} rank{}", text, step.ranks, step.ranks == 1 ? "" : "s");
}

/// Returns, for single keys, the nearest values with which the step has enough samples.
std::vector<std::string> find_cures(const SampleNeeds& needs, const StepPartition& step) {
  std::vector<std::string> cures;
  const auto is_enough = [&](const StepPartition& other) { return has_enough_samples(needs, other); };
  StepPartition other = step;
  const std::int64_t local_batch = share_of(step.batch, 0, step.ranks).count;
  if (step.micro_batch > 0) {
    do ++other.micro_batch;
    while (other.micro_batch < local_batch && !is_enough(other));
    if (is_enough(other)) cures.push_back(fmt::format("data.micro_batch = {}", other.micro_batch));
  }
  other = step;
  const std::int64_t largest = step.batch + 2 * step.ranks + 2;
  do ++other.batch;
  while (other.batch < largest && !is_enough(other));
  if (is_enough(other)) cures.push_back(fmt::format("data.batch = {}", other.batch));
  other = step;
  while (other.ranks > 1 && (other.ranks == step.ranks || !is_enough(other))) --other.ranks;
  if (other.ranks < step.ranks && is_enough(other))
    cures.push_back(fmt::format("{} rank{}", other.ranks, other.ranks == 1 ? "" : "s"));
  const SampleNeeds over_ranks{.own = 1,
                               .together = std::max(needs.own, needs.together),
                               .own_layer = "",
                               .together_layer = needs.own_layer};
  if (needs.own > 1 && has_enough_samples(over_ranks, step))
    cures.emplace_back("norm_over = \"ranks\" in model.layers");
  cures.emplace_back("norm = \"layernorm\"");
  return cures;
}

}  // namespace

SampleNeeds sample_needs(const Chain& chain) {
  SampleNeeds needs;
  for (const auto& block : chain.blocks) {
    const auto samples_on = [&](int ranks) {
      return (block->min_rows(ranks) + chain.rows_per_sample - 1) / chain.rows_per_sample;
    };
    const std::int64_t with_others = samples_on(2);  // if another rank has samples, too
    const std::int64_t alone = samples_on(1);
    if (with_others > needs.own) {
      needs.own = with_others;
      needs.own_layer = block->signature().name;
    }
    if (alone > with_others && alone > needs.together) {
      needs.together = alone;
      needs.together_layer = block->signature().name;
    }
  }
  return needs;
}

bool has_enough_samples(const SampleNeeds& needs, const StepPartition& step) {
  return !find_lack(needs, step);
}

void require_enough_samples(const SampleNeeds& needs, const StepPartition& step) {
  const std::optional<LastPart> lack = find_lack(needs, step);
  if (!lack) return;
  const bool is_own = lack->samples < needs.own;
  fail_input(
      errors::too_little_data,
      "layer '{}' normalises each channel over the samples of {}, and micro-batch {} of a step has {} sample "
      "{}: the layer's output is constant ({}). Set {}",
      is_own ? needs.own_layer : needs.together_layer,
      is_own ? "a rank's micro-batch" : "all ranks' micro-batches", lack->number,
      is_own ? lack->samples : lack->together,
      is_own ? fmt::format("on rank {}", lack->rank) : std::string("on all ranks together"), describe(step),
      fmt::join(find_cures(needs, step), ", or "));
}

Error too_few_own_samples(const SampleNeeds& needs, std::int64_t samples) {
  return {ExitCode::bad_input, errors::too_little_data,
          fmt::format("a step with {} sample on a rank: the output of layer '{}', which normalises over the "
                      "samples of a rank, is constant; give {} or more, or none",
                      samples, needs.own_layer, needs.own)};
}

Error too_few_samples_together(const SampleNeeds& needs, std::int64_t samples) {
  return {
      ExitCode::bad_input, errors::too_little_data,
      fmt::format("a step with {} sample on all ranks together: the output of layer '{}', which normalises "
                  "over the samples of all ranks, is constant; give {} or more, or none",
                  samples, needs.together_layer, needs.together)};
}

}  // namespace mylos
