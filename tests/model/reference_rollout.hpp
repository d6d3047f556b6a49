// A rollout of small networks on five points, in the library and in double: two levels of the arrays u, v and
// a forcing, and a constant array. The reference advances levels as a solver would; it shares no code and no
// map of channels with the library.
#pragma once

#include <map>
#include <memory>

#include "model/reference_mlp.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/network/make_rollout_chain.hpp"
#include "mylos/model/network/training_model.hpp"
#include "support/device_values.hpp"

namespace mylos::test {

constexpr std::int64_t rollout_points = 5;
constexpr std::int64_t level = 3;                        // u, v, forcing
constexpr std::int64_t inputs_of_point = 2 * level + 1;  // two levels, constant
constexpr std::int64_t states = 2;                       // u, v

struct RolloutCase {
  bool convolves = false;
  std::int64_t steps = 1;
  bool is_difference = false;
  RolloutLoss loss = RolloutLoss::mean;
  std::vector<double> weights = {};
  bool detach = false;
  std::int64_t grow_every = 0;
  double noise = 0;
  DType compute = DType::fp32;
  double dropout = 0;
  bool is_spectral = false;  // with `convolves`: the first layer; not in the reference
  bool has_mask = false;     // of u at the second point, in all levels, and of v at the last
};

/// Whether the mask leaves out channel `c` of an input at point `p`.
inline bool is_masked(std::int64_t p, std::int64_t c) {
  return (p == 1 && c % level == 0 && c < 2 * level) || (p == 4 && c % level == 1 && c < 2 * level);
}

/// The outputs' scaling: of u and of v.
constexpr FeedbackScaling rollout_scalings[] = {{0.75f, 0.25f}, {1.5f, -0.125f}};

inline FeedbackMap rollout_map(std::int64_t steps, bool is_difference) {
  FeedbackMap map{.points = rollout_points,
                  .steps = steps,
                  .row_channels = inputs_of_point + steps - 1,
                  .output_channels = states};
  const std::int64_t newest = is_difference ? level : -1;
  map.inputs = {{.previous = level, .is_state = true},
                {.previous = level + 1, .is_state = true},
                {.previous = level + 2},
                {.previous = newest, .output = 0, .is_state = true},
                {.previous = is_difference ? level + 1 : -1, .output = 1, .is_state = true},
                {.row = inputs_of_point, .row_step = 1},
                {.row = inputs_of_point - 1}};
  return map;
}

inline RolloutOptions rollout_options(const RolloutCase& of) {
  FeedbackMap feedback = rollout_map(of.steps, of.is_difference);
  for (std::int64_t p = 0; p < rollout_points && of.has_mask; ++p)
    for (std::int64_t c = 0; c < inputs_of_point; ++c) feedback.counts.push_back(is_masked(p, c) ? 0 : 1);
  return {.steps = of.steps,
          .grow_every = of.grow_every,
          .loss = of.loss,
          .weights = of.weights,
          .detach = of.detach,
          .noise = of.noise,
          .feedback = std::move(feedback)};
}

inline ModelOptions rollout_model(const RolloutCase& of) {
  ModelOptions model;
  model.loss = losses::Mse{};
  model.inputs = rollout_points * inputs_of_point;
  model.outputs = rollout_points * states;
  model.activation = Activation::tanh;
  if (!of.convolves) {
    model.hidden = {9};
    model.dropout = of.dropout;
    return model;
  }
  model.type = ModelType::chain;
  model.shape = {rollout_points, inputs_of_point};
  LayerOptions first{.kind = kinds::Conv{.kernel = {3}}, .name = "first", .outputs = 4};
  if (of.is_spectral) first.kind = kinds::Spectral{.modes = {3}};
  first.activation = Activation::tanh;
  LayerOptions last{.kind = kinds::Conv{.kernel = {3}}, .name = "last", .outputs = states};
  model.chain = {first, {.kind = kinds::Concat{}, .name = "beside", .skip_from = "input"}, last};
  return model;
}

using Weights = std::map<std::string, Numbers>;  // by path

/// y[p][o] = b[o] + the sum over three points and all channels, zeros outside.
inline Numbers convolve(const Numbers& x, std::int64_t channels, const Numbers& weight, const Numbers& bias) {
  Numbers y;
  for (std::int64_t p = 0; p < rollout_points; ++p) {
    for (std::size_t o = 0; o < bias.size(); ++o) {
      double sum = bias[o];
      for (std::int64_t tap = 0; tap < 3; ++tap) {
        const std::int64_t q = p + tap - 1;
        for (std::int64_t c = 0; c < channels && q >= 0 && q < rollout_points; ++c)
          sum += weight[(o * 3 + static_cast<std::size_t>(tap)) * static_cast<std::size_t>(channels) +
                        static_cast<std::size_t>(c)] *
                 x[static_cast<std::size_t>(q * channels + c)];
      }
      y.push_back(sum);
    }
  }
  return y;
}

/// The network of one sample.
inline Numbers reference_network(const RolloutCase& of, const Weights& w, const Numbers& x) {
  const auto of_layer = [&](const char* layer, const char* name) -> const Numbers& {
    return w.at(std::string(layer) + "/" + name);
  };
  if (!of.convolves) {
    const ReferenceDense hidden{
        x.size(), 9, Activation::tanh, of_layer("hidden1", "weight"), of_layer("hidden1", "bias"), {}};
    const ReferenceDense head{
        9, rollout_points * states, Activation::none, of_layer("head", "weight"), of_layer("head", "bias"),
        {}};
    return head.forward(hidden.forward(x));
  }
  Numbers a = convolve(x, inputs_of_point, of_layer("first", "weight"), of_layer("first", "bias"));
  Numbers both;
  for (std::int64_t p = 0; p < rollout_points; ++p) {
    for (std::int64_t c = 0; c < 4; ++c) both.push_back(std::tanh(a[static_cast<std::size_t>(p * 4 + c)]));
    for (std::int64_t c = 0; c < inputs_of_point; ++c)
      both.push_back(x[static_cast<std::size_t>(p * inputs_of_point + c)]);
  }
  return convolve(both, 4 + inputs_of_point, of_layer("last", "weight"), of_layer("last", "bias"));
}

/// The input of the step after `step` (from 0), from the sample's row.
inline Numbers advance(const RolloutCase& of, const Numbers& x, const Numbers& y, const Numbers& row,
                       std::int64_t step) {
  Numbers next = x;
  const std::int64_t row_channels = inputs_of_point + of.steps - 1;
  for (std::int64_t p = 0; p < rollout_points; ++p) {
    double* const to = next.data() + p * inputs_of_point;
    const double* const from = x.data() + p * inputs_of_point;
    for (std::int64_t c = 0; c < level; ++c) to[c] = from[level + c];  // the newest level becomes the older
    for (std::int64_t s = 0; s < states; ++s) {
      to[level + s] = rollout_scalings[s].scale * y[static_cast<std::size_t>(p * states + s)] +
                      rollout_scalings[s].offset + (of.is_difference ? from[level + s] : 0);
    }
    to[level + states] = row[static_cast<std::size_t>(p * row_channels + inputs_of_point + step)];
    for (std::int64_t c = 0; c < inputs_of_point; ++c)
      if (of.has_mask && is_masked(p, c)) to[c] = 0;
  }
  return next;
}

/// The first input of a row.
inline Numbers first_of(const RolloutCase& of, const Numbers& row) {
  Numbers x;
  const std::int64_t row_channels = inputs_of_point + of.steps - 1;
  for (std::int64_t p = 0; p < rollout_points; ++p) {
    for (std::int64_t c = 0; c < inputs_of_point; ++c)
      x.push_back(row[static_cast<std::size_t>(p * row_channels + c)]);
  }
  return x;
}

/// The inputs of all copies of a sample.
inline std::vector<Numbers> inputs_of_copies(const RolloutCase& of, const Weights& w, const Numbers& row,
                                             std::int64_t copies) {
  std::vector<Numbers> inputs{first_of(of, row)};
  for (std::int64_t k = 1; k < copies; ++k)
    inputs.push_back(advance(of, inputs.back(), reference_network(of, w, inputs.back()), row, k - 1));
  return inputs;
}

inline double weight_of(const RolloutCase& of, std::int64_t copy, std::int64_t copies) {
  if (of.loss == RolloutLoss::mean) return 1.0 / static_cast<double>(copies);
  if (of.loss == RolloutLoss::last) return copy + 1 == copies ? 1 : 0;
  return of.weights[static_cast<std::size_t>(copy)];
}

/// The loss of a sample from the inputs of its copies.
inline double loss_of_sample(const RolloutCase& of, const Weights& w, const std::vector<Numbers>& inputs,
                             const Numbers& targets) {
  double loss = 0;
  const auto copies = static_cast<std::int64_t>(inputs.size());
  for (std::int64_t k = 0; k < copies; ++k) {
    const Numbers y = reference_network(of, w, inputs[static_cast<std::size_t>(k)]);
    double squares = 0;
    for (std::int64_t p = 0; p < rollout_points; ++p) {
      for (std::int64_t s = 0; s < states; ++s) {
        const double target = targets[static_cast<std::size_t>((p * of.steps + k) * states + s)];
        squares += std::pow(y[static_cast<std::size_t>(p * states + s)] - target, 2);
      }
    }
    loss += weight_of(of, k, copies) * squares / static_cast<double>(rollout_points * states);
  }
  return loss;
}

}  // namespace mylos::test
