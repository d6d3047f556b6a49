#include "mylos/model/losses/field_loss.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/numbers/grid_box.hpp"
#include "mylos/kernels/pointwise/fields/box_of_part.hpp"

namespace mylos {
namespace {

/// Returns the weights of a rank's box of the samples, whose points have a mean of 1 in all boxes together.
/// `box`: the grid of its outputs.
std::shared_ptr<const PointWeights> box_weights(const std::shared_ptr<const PointWeights>& whole,
                                                const SampleShape& box, const GridPart& part) {
  if (whole == nullptr || !part.is_split()) return whole;
  auto result = std::make_shared<PointWeights>();
  result->source = whole->source;
  result->channels = whole->channels;
  const GridBox points = *box_of_part(box.grid, part);
  result->extents.assign(points.count.end() - static_cast<std::ptrdiff_t>(box.axes), points.count.end());
  result->values = cut(whole->values, points);
  return result;
}

}  // namespace

FieldLoss::FieldLoss(const ModelOptions& model, const LossInput& input)
    : OutputLoss(traits_of(model.loss), input, outputs_per_target(model.loss)),
      skips_missing_(model.has_missing_targets) {
  const LossTraits& traits = traits_of(model.loss);
  const bool is_by_channel = traits.is_relative && model.loss_per == LossPer::channel;
  const double share = input.shape.axes > 0 && traits.is_mean ? model.part.weight() : 1;
  const bool needs_grid = traits.has_derivatives || is_by_channel || model.point_weights || share != 1;
  if (input.shape.axes == 0) {
    if (!needs_grid) return;
    fail_input(errors::keys_conflict,
               "{} of a network whose outputs lie on a grid, and the outputs are a vector of {} numbers; {}",
               traits.has_derivatives ? "model.loss = \"relative_h1\" is a loss"
               : model.point_weights  ? "data.weights and data.arrays.mask are of points"
                                      : "model.loss_per = \"channel\" is a norm",
               signature().outputs,
               traits.has_derivatives ? "use \"relative_l2\", or a last layer on the grid"
                                      : "leave it out, or use a last layer on the grid");
  }
  field_ = OutputField{.grid = input.shape.grid,
                       .axes = input.shape.axes,
                       .per = model.loss_per,
                       .derivative = model.derivative,
                       .weights = box_weights(model.point_weights, input.shape, model.part),
                       .skips_missing = skips_missing_,
                       .share = share};
  field_->grid.channels /= outputs_per_target(model.loss);
  if (needs_grid) norm_.emplace(*field_, traits.has_derivatives);
}

FieldPoints FieldLoss::points(const float* constants) const {
  if (norm_) return norm_->points(constants);
  const FieldWeights weights{.skips_missing = skips_missing_};
  if (field_) return {field_->grid.points(), field_->grid.channels, weights};
  return {.channels = signature().outputs, .weights = weights};
}

}  // namespace mylos
