#include "mylos/model/rollout/rollout_chain.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>

#include "mylos/model/rollout/feedback_block.hpp"

namespace mylos {

Chain RolloutChain::alone(std::int64_t copy) const {
  Chain chain = copies[static_cast<std::size_t>(copy)];
  chain.head = std::make_shared<RolloutHead>(CopyLoss(chain.head, options.feedback, copy));
  return chain;
}

Chain RolloutChain::unrolled(std::int64_t count) const {
  Chain result = copies.front();
  result.blocks.clear();
  result.skips.clear();
  result.grids.clear();
  for (std::int64_t copy = 0; copy < count; ++copy) {
    const Chain& own = copies[static_cast<std::size_t>(copy)];
    const std::size_t first = result.blocks.size();
    for (std::size_t i = 0; i < own.blocks.size(); ++i) {
      const std::size_t skip = own.skip_of(i);
      result.blocks.push_back(own.blocks[i]);
      result.skips.push_back(skip == no_skip ? no_skip : first + skip);
    }
    const CopyLoss loss(own.head, options.feedback, copy);
    if (copy + 1 == count) {
      result.head = std::make_shared<RolloutHead>(loss);
      continue;
    }
    const FeedbackOptions feedback{.map = options.feedback,
                                   .copy = copy,
                                   .output_type = own.blocks.back()->signature().output_type,
                                   .input_type = own.input_type()};
    result.blocks.push_back(std::make_shared<FeedbackBlock>(feedback, loss));
    result.skips.push_back(reads_previous(options.feedback) ? first : no_skip);
  }
  return result;
}

std::int64_t copies_at(const RolloutOptions& options, std::uint64_t step) {
  if (options.grow_every == 0) return options.steps;
  const std::uint64_t grown = step / static_cast<std::uint64_t>(options.grow_every);
  return grown >= static_cast<std::uint64_t>(options.steps) ? options.steps
                                                            : static_cast<std::int64_t>(grown) + 1;
}

std::vector<float> loss_weights(const RolloutOptions& options, std::int64_t copies) {
  const auto count = static_cast<std::size_t>(copies);
  std::vector<float> weights(count, 0.0f);
  switch (options.loss) {
    case RolloutLoss::mean:
      std::fill(weights.begin(), weights.end(), 1.0f / static_cast<float>(copies));
      break;
    case RolloutLoss::last:
      weights.back() = 1;
      break;
    case RolloutLoss::weights: {
      const std::span<const double> own = std::span(options.weights).last(count);
      const double all = std::accumulate(options.weights.begin(), options.weights.end(), 0.0);
      const double factor = all / std::accumulate(own.begin(), own.end(), 0.0);
      for (std::size_t i = 0; i < count; ++i)
        weights[i] = static_cast<float>(count == options.weights.size() ? own[i] : factor * own[i]);
      break;
    }
  }
  return weights;
}

}  // namespace mylos
