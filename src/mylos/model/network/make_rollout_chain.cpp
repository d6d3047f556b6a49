#include "mylos/model/network/make_rollout_chain.hpp"

#include <algorithm>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/samples.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos {
namespace {

void require_feedback(const Chain& chain, const FeedbackMap& map) {
  if (chain.prediction() == Prediction::classes || chain.rows_per_sample != 1 || chain.head->borrows() ||
      !chain.head->parameters().empty()) {
    fail_input(errors::keys_conflict,
               "rollout: the network must compute the next state of a field, and its loss is of {}; use a "
               "regression of arrays (data.arrays), or leave [rollout] out",
               chain.prediction() == Prediction::classes ? "labels or tokens" : "something else");
  }
  if (map.inputs.empty()) {
    fail_input(errors::keys_conflict,
               "rollout: the data do not say which targets are inputs of the next step; only data.arrays do");
  }
  if (chain.inputs() != map.points * map.input_channels() ||
      chain.outputs() != map.points * map.output_channels) {
    fail_input(errors::data_mismatch,
               "rollout: the network has {} inputs and {} outputs, but a step of the data has {} and {}",
               chain.inputs(), chain.outputs(), map.points * map.input_channels(),
               map.points * map.output_channels);
  }
}

/// Running statistics would be those of inputs that the network made itself. Constants serve all copies.
void require_no_statistics(const Chain& chain) {
  for (const auto& block : chain.blocks) {
    const std::vector<BufferSpec> buffers = block->buffers();
    const auto is_constant = [](const BufferSpec& buffer) { return buffer.role == BufferRole::constant; };
    if (std::all_of(buffers.begin(), buffers.end(), is_constant)) continue;
    fail_input(errors::keys_conflict,
               "rollout.steps: layer '{}' has statistics of its inputs, which differ from step to step of a "
               "rollout; norm = \"groupnorm\" and \"layernorm\" have none",
               block->signature().name);
  }
}

/// Returns the seed of the dropout of a copy; that of copy 0 is the run's.
std::uint64_t seed_of_copy(std::uint64_t seed, std::int64_t copy) {
  return seed + 0x9e3779b97f4a7c15ull * static_cast<std::uint64_t>(copy);
}

}  // namespace

RolloutChain make_rollout_chain(const Chain& chain, const ModelOptions& model,
                                const PrecisionOptions& precision, std::uint64_t seed,
                                const RolloutOptions& options) {
  require_feedback(chain, options.feedback);
  if (options.steps > 1) require_no_statistics(chain);
  RolloutChain rollout{.options = options, .seed = seed, .copies = {chain}};
  rollout.copies.front().training_inputs = rollout.copies.front().training_targets = 0;
  if (model.part.is_split())
    rollout.box = box_of(model.part, {model.shape.begin(), model.shape.end() - 1}, "rollout");
  const bool drops = has_dropout(model);
  for (std::int64_t copy = 1; copy < options.steps; ++copy) {
    if (!drops && copy > 1) {
      rollout.copies.push_back(rollout.copies.back());
    } else if (!drops && options.detach) {
      rollout.copies.push_back(rollout.copies.front());
    } else {
      rollout.copies.push_back(make_chain(model, precision, seed_of_copy(seed, copy), true, !options.detach));
      rollout.copies.back().input_gradients = false;
    }
  }
  return rollout;
}

}  // namespace mylos
