#include "mylos/train/evaluation/sample_pictures.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/tensor_views.hpp"
#include "mylos/comm/ranks/large_broadcast.hpp"
#include "mylos/inference/infer.hpp"
#include "mylos/kernels/convert.hpp"

namespace mylos {
namespace {

constexpr std::int64_t max_samples = 2;
constexpr std::int64_t max_channels = 3;

}  // namespace

bool SamplePictures::supports(const Chain& chain) {
  return is_of_numbers(chain.prediction()) && !chain.grids.empty() && chain.grids.back().points() > 1 &&
         chain.output_grid().columns() == chain.outputs();
}

SamplePictures::SamplePictures(const Chain& chain, std::uint64_t seed, std::int64_t samples,
                               const Normalizer& normalizer, std::vector<std::string> names, bool upward)
    : normalizer_(normalizer),
      names_(std::move(names)),
      extents_(chain.grids.back().extent.begin(), chain.grids.back().extent.end()),
      upward_(upward),
      channels_(chain.output_grid().channels),
      outputs_(chain.outputs()) {
  if (const std::optional<OutputField> field = chain.head->field()) weights_ = field->weights;
  while (extents_.front() == 1) extents_.erase(extents_.begin());  // axes that the grid does not have
  for (const std::int64_t sample : chosen_by_seed(seed, samples, max_samples))
    chosen_.push_back({sample, {}, {}});
}

PartMemory SamplePictures::memory(const Chain& chain, bool is_evaluated) {
  const bool takes = is_evaluated && supports(chain);
  const std::size_t fields = takes ? 2 * max_samples : 0;
  return {
      {"fields of evaluations", fields * static_cast<std::size_t>(chain.outputs()) * sizeof(float), false},
      {"fields of evaluations on the device", takes ? float_output_bytes(chain, 1) : 0}};
}

void SamplePictures::observe(const StepContext& step, const ForwardPass& model, const Batch& batch) {
  const auto values = static_cast<std::size_t>(outputs_);
  for (Taken& one : chosen_) {
    const std::int64_t row = one.sample - batch.first_sample;
    if (row < 0 || row >= batch.samples) continue;
    const Arena memory("outputs of a sample", float_output_bytes(model.chain(), 1));
    const Tensor floats = memory.tensor(0, DType::fp32, 1, outputs_);
    convert(step.exec, model.head_outputs(step, row, 1), floats);
    step.exec.fence("outputs of a sample");
    one.predicted.resize(values);
    Kokkos::deep_copy(Kokkos::View<float*, Kokkos::HostSpace>(one.predicted.data(), values),
                      floats.flat<float>());
    const float* truth = batch.targets + static_cast<std::size_t>(row) * values;
    one.truth.assign(truth, truth + values);
    normalizer_.undo_targets(one.predicted);
    normalizer_.undo_targets(one.truth);
  }
}

std::vector<FieldPicture> SamplePictures::gather(RankGroup& ranks) {
  std::vector<FieldPicture> pictures;
  for (Taken& one : chosen_) {
    const char own = one.predicted.empty() ? 0 : 1;
    std::vector<char> all(static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(&own, all.data(), sizeof own);
    const auto owner = std::find(all.begin(), all.end(), 1);
    if (owner == all.end()) continue;  // no batch had it
    one.predicted.resize(static_cast<std::size_t>(outputs_));
    one.truth.resize(static_cast<std::size_t>(outputs_));
    for (std::vector<float>* field : {&one.predicted, &one.truth})
      broadcast_large(ranks, std::as_writable_bytes(std::span(*field)),
                      static_cast<int>(owner - all.begin()));
    for (std::int64_t channel = 0; ranks.rank() == 0 && channel < std::min(channels_, max_channels);
         ++channel) {
      const MeasureWeights weights =
          weights_ ? MeasureWeights(weights_->values, weights_->channels) : MeasureWeights();
      FieldPicture picture = make_picture(extents_, channels_, channel, one.truth, one.predicted, weights);
      picture.upward = upward_;
      picture.title = fmt::format("sample {}", one.sample);
      picture.channel = static_cast<std::int64_t>(names_.size()) == channels_
                            ? names_[static_cast<std::size_t>(channel)]
                            : fmt::format("channel {}", channel);
      pictures.push_back(std::move(picture));
    }
    one.predicted = {};
    one.truth = {};
  }
  return pictures;
}

}  // namespace mylos
