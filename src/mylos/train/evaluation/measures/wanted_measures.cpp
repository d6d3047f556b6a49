#include "mylos/train/evaluation/measures/wanted_measures.hpp"

#include <utility>

#include "mylos/kernels/pointwise/fields/box_of_part.hpp"

namespace mylos {
namespace {

/// Returns the box of the outputs; nothing if they are those of whole samples.
std::optional<GridBox> box_of_outputs(const Chain& chain, const GridPart& part) {
  const std::optional<OutputField> field = chain.head->field();
  return field ? box_of_part(field->grid, part) : std::nullopt;
}

}  // namespace

WantedMeasures::WantedMeasures(std::span<const Measure> wanted, const Chain& chain,
                               const ColumnScaling& targets, const GridPart& part)
    : wanted_(wanted),
      kind_(evaluation_kind(chain)),
      outputs_(static_cast<std::size_t>(chain.outputs())),
      measures_(wanted, chain.outputs(), box_of_outputs(chain, part)) {
  if (has_field_measure(wanted)) fields_.emplace(wanted, chain, targets);
  if (has_measure(wanted, Measure::crps)) crps_.emplace(chain, targets);
}

void WantedMeasures::add(std::span<const float> outputs, std::span<const float> deviations,
                         const Batch& batch) {
  measures_.add(outputs, batch);
  const std::size_t numbers = static_cast<std::size_t>(batch.samples) * outputs_;
  if (fields_) fields_->add(outputs.first(numbers), {batch.targets, numbers});
  if (crps_) crps_->add(outputs, deviations, {batch.targets, numbers});
}

Evaluation WantedMeasures::add_up(RankGroup& ranks) && {
  measures_.add_up(ranks);
  if (fields_) fields_->add_up(ranks);
  if (crps_) crps_->add_up(ranks);
  Evaluation result{.kind = kind_,
                    .classes = std::move(measures_).take_classes(),
                    .targets = std::move(measures_).take_targets()};
  for (const Measure measure : wanted_) {
    std::optional<double>& number = result.measured[measure];
    if (measure == Measure::top5) number = result.classes->accuracy(5);
    if (measure == Measure::r2) number = result.targets->mean_r2();
    if (measure == Measure::relative_l2) number = fields_->relative_l2();
    if (measure == Measure::relative_h1) number = fields_->relative_h1();
    if (measure == Measure::crps) number = crps_->value();
  }
  return result;
}

PartMemory WantedMeasures::memory(std::span<const Measure> wanted, const Chain& chain, std::int64_t samples,
                                  std::size_t parts, std::int64_t boxes) {
  return {{"measures of evaluations",
           Measures::memory_bytes(wanted, chain.outputs(), samples, boxes) +
               FieldMeasures::constant_bytes(wanted, chain) +
               parts * Measures::kept_bytes(wanted, chain.outputs()),
           false}};
}

}  // namespace mylos
