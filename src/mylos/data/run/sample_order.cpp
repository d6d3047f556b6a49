#include "mylos/data/run/sample_order.hpp"

#include <algorithm>

#include "mylos/base/errors/samples.hpp"

namespace mylos {
namespace {

bool files_are_samples(const ArrayOptions& arrays) {
  if (arrays.inputs.empty() || arrays.points_are_samples) return false;
  const std::vector<std::string> axes = arrays.axes_for(arrays.inputs.front());
  return std::ranges::none_of(
      axes, [](const std::string& axis) { return axis == time_axis || axis == sample_axis; });
}

}  // namespace

SamplerOptions order_of_samples(const SampleStore& store, std::int64_t samples, const Options& options) {
  if (options.data.batch > samples && files_are_samples(options.data.arrays)) {
    fail_input(
        errors::too_little_data,
        "data.batch = {} is more than the {} training samples: data.arrays.axes has neither \"time\" nor "
        "\"sample\", so that each file is one sample; other names are axes of the grid",
        options.data.batch, samples);
  }
  SamplerOptions order{.samples = samples,
                       .batch = options.data.batch,
                       .seed = options.run.seed,
                       .shuffle = options.data.shuffle,
                       .last_batch = options.data.last_batch,
                       .block_samples = samples_per_block(store.shape().input_bytes())};
  if (store.block_samples() == 0) return order;
  constexpr std::int64_t min_window_blocks = 4;
  constexpr std::int64_t window_bytes = std::int64_t{64} << 20;
  const std::int64_t sample_bytes = store.shape().input_bytes() + store.shape().truth_bytes();
  order.block_samples = store.block_samples();
  order.window_blocks =
      std::clamp(window_bytes / order.block_samples / sample_bytes, min_window_blocks, order.window_blocks);
  return order;
}

}  // namespace mylos
