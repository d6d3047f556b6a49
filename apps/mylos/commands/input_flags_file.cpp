#include "commands/input_flags_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/inference/predict.hpp"
#include "mylos/inference/uncertainty/mahalanobis.hpp"
#include "mylos/inference/uncertainty/stored_inputs.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos::app {
namespace {

/// What is written of a sample.
struct SampleFlag {
  float flag = 0;
  float outside = 0;
  float distance = std::numeric_limits<float>::quiet_NaN();
};
constexpr std::int64_t numbers_of_sample = 3;

/// `mask`: of the inputs; empty: all count.
SampleFlag flag_of(std::span<const float> inputs, const std::vector<std::uint8_t>& mask,
                   const InputRange& range, const KnownInputs& known) {
  SampleFlag found;
  for (std::size_t i = 0; i < inputs.size() && range.known(); ++i) {
    const bool counts = (mask.empty() || mask[i] != 0) && !std::isnan(inputs[i]);
    if (counts && !range.holds(inputs[i], static_cast<std::int64_t>(i))) ++found.outside;
  }
  bool is_far = false;
  if (known.statistics.has_distance()) {
    std::vector<double> z(inputs.size());
    for (std::size_t i = 0; i < z.size(); ++i)
      z[i] = static_cast<double>(inputs[i]) - known.statistics.mean[i];
    const double distance = std::sqrt(squared_distance(known.factor.data(), z.data(), std::ssize(z)));
    found.distance = static_cast<float>(distance);
    is_far = distance > known.statistics.distances[1];
  }
  found.flag = static_cast<float>((found.outside > 0 ? input_flag::outside_range : 0) +
                                  (is_far ? input_flag::far : 0));
  return found;
}

}  // namespace

std::string write_input_flags(RankGroup& ranks, const OpenedNetwork& opened, const std::string& path) {
  const StoredNetwork& network = opened.network;
  const InputRange& range = network.training.normalizer.input_range;
  KnownInputs known;
  {
    const CheckpointReader reader(ranks, network.path, ReadableKinds::all);
    known = read_input_statistics(reader, range, network.input_shape);
  }
  if (!range.known() && !known.statistics.has_distance()) {
    fail_input(errors::not_measured, "--flags: {} knows nothing of the inputs of its training", network.path);
  }
  const auto inputs = static_cast<std::size_t>(network.chain.inputs());
  const std::vector<std::uint8_t> mask = opened.data->mask().inputs;
  std::vector<float> own;
  Share share;
  run_on_all(ranks, [&] {
    const auto pass = opened.data->pass_over(DataPart::train, Normalizer{},
                                             {.type = DType::fp32,
                                              .max_samples = 256,
                                              .rank = ranks.rank(),
                                              .ranks = ranks.size(),
                                              .keeps_missing = true});
    share = pass->share();
    while (const Batch* batch = pass->next()) {
      const auto* values = static_cast<const float*>(batch->inputs);
      for (std::int64_t sample = 0; sample < batch->samples; ++sample, values += inputs) {
        const SampleFlag found = flag_of({values, inputs}, mask, range, known);
        own.insert(own.end(), {found.flag, found.outside, found.distance});
      }
    }
  });
  std::string text = "sample,flag,outside,distance\n";
  std::int64_t flagged = 0;
  static_cast<void>(collect_on_first(
      ranks, share, own, numbers_of_sample, [&](const Share& samples, std::span<float> numbers) {
        for (std::int64_t i = 0; i < samples.count; ++i) {
          const float* of = numbers.data() + i * numbers_of_sample;
          flagged += of[0] > 0 ? 1 : 0;
          fmt::format_to(std::back_inserter(text), "{},{},{},{}\n", samples.first + i, of[0], of[1],
                         std::isnan(of[2]) ? std::string() : fmt::format("{:.9g}", of[2]));
        }
      }));
  run_on_first(ranks, [&] { publish_text(path, text); });
  return fmt::format("{}: {} of {} samples are unlike those of the training{}", path, flagged,
                     opened.data->samples(DataPart::train),
                     known.statistics.has_distance() ? "" : ", by the range of their inputs alone");
}

}  // namespace mylos::app
