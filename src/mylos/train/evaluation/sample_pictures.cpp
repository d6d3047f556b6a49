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

/// Returns the boxes of the ranks that share samples, in their order.
std::vector<GridBox> boxes_of(const GridShape& box, const GridPart& part) {
  std::vector<std::int64_t> whole;
  for (std::size_t axis = 0; axis < 3; ++axis) whole.push_back(part.whole_extent(axis, box.extent[axis]));
  std::vector<GridBox> boxes;
  for (std::int64_t z = 0; z < part.boxes[0]; ++z) {
    for (std::int64_t y = 0; y < part.boxes[1]; ++y) {
      for (std::int64_t x = 0; x < part.boxes[2]; ++x)
        boxes.push_back(box_of(part.at_box({z, y, x}), whole, "mesh.space"));
    }
  }
  return boxes;
}

}  // namespace

bool SamplePictures::supports(const Chain& chain) {
  return is_of_numbers(chain.prediction()) && !chain.grids.empty() && chain.grids.back().points() > 1 &&
         chain.output_grid().columns() == chain.outputs();
}

SamplePictures::SamplePictures(const Chain& chain, std::uint64_t seed, std::int64_t samples,
                               const Normalizer& normalizer, std::vector<std::string> names, bool upward,
                               const GridPart& part)
    : normalizer_(normalizer),
      names_(std::move(names)),
      boxes_(boxes_of(chain.grids.back(), part)),
      extents_(boxes_.front().extents.begin(), boxes_.front().extents.end()),
      upward_(upward),
      channels_(chain.output_grid().channels),
      outputs_(chain.outputs()) {
  if (const std::optional<OutputField> field = chain.head->field()) weights_ = field->weights;
  while (extents_.front() == 1) extents_.erase(extents_.begin());  // axes that the grid does not have
  for (const std::int64_t sample : chosen_by_seed(seed, samples, max_samples))
    chosen_.push_back({sample, {}, {}});
}

PartMemory SamplePictures::memory(const Chain& chain, bool is_evaluated, std::int64_t boxes) {
  const bool takes = is_evaluated && supports(chain);
  // Predictions, truth and weights of a whole sample, and what arrives of a box.
  const std::size_t of_whole = boxes > 1 ? 3 * static_cast<std::size_t>(boxes) + 2 : 0;
  const std::size_t fields = takes ? 2 * max_samples + of_whole : 0;
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

std::vector<float> SamplePictures::whole(RankGroup& ranks, std::vector<float> own, int first,
                                         std::int64_t of_point) const {
  if (boxes_.size() == 1) {
    own.resize(static_cast<std::size_t>(boxes_.front().points() * of_point));
    broadcast_large(ranks, std::as_writable_bytes(std::span(own)), first);
    return own;
  }
  std::vector<float> whole;
  if (ranks.rank() == 0) whole.resize(static_cast<std::size_t>(boxes_.front().grid_points() * of_point));
  for (std::size_t i = 0; i < boxes_.size(); ++i) {
    const GridBox& box = boxes_[i];
    const int owner = first + static_cast<int>(i);
    std::vector<float> arriving = ranks.rank() == owner ? own : std::vector<float>();
    arriving.resize(static_cast<std::size_t>(box.points() * of_point));
    broadcast_large(ranks, std::as_writable_bytes(std::span(arriving)), owner);
    if (ranks.rank() != 0) continue;
    box.for_lines([&](std::int64_t from, std::int64_t to) {
      std::copy_n(arriving.data() + from * of_point, box.count[2] * of_point, whole.data() + to * of_point);
    });
  }
  return whole;
}

std::vector<FieldPicture> SamplePictures::gather(RankGroup& ranks) {
  std::vector<FieldPicture> pictures;
  for (Taken& one : chosen_) {
    const char own = one.predicted.empty() ? 0 : 1;
    std::vector<char> all(static_cast<std::size_t>(ranks.size()));
    ranks.all_gather(&own, all.data(), sizeof own);
    const auto owner = std::find(all.begin(), all.end(), 1);
    if (owner == all.end()) continue;  // no batch had it
    const auto first = static_cast<int>(owner - all.begin());
    const std::vector<float> predicted = whole(ranks, std::move(one.predicted), first, channels_);
    const std::vector<float> truth = whole(ranks, std::move(one.truth), first, channels_);
    std::vector<float> of_boxes;
    if (weights_ && boxes_.size() > 1) of_boxes = whole(ranks, weights_->values, first, weights_->channels);
    for (std::int64_t channel = 0; ranks.rank() == 0 && channel < std::min(channels_, max_channels);
         ++channel) {
      MeasureWeights weights;
      if (weights_)
        weights = MeasureWeights(boxes_.size() > 1 ? std::span<const float>(of_boxes) : weights_->values,
                                 weights_->channels);
      FieldPicture picture = make_picture(extents_, channels_, channel, truth, predicted, weights);
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
