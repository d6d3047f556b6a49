// WantedMeasures: all that an evaluation measures of outputs besides the loss, as the deck or a command line
// asks for it.
#pragma once

#include <optional>
#include <span>

#include "mylos/train/evaluation/evaluation.hpp"
#include "mylos/train/evaluation/measures/crps.hpp"
#include "mylos/train/evaluation/measures/field_measures.hpp"

namespace mylos {

class WantedMeasures {
 public:
  /// `targets`: how training scaled them. `wanted` must outlive the object. `part`: of each sample, of which
  /// `chain` computes that. Throws as Measures and FieldMeasures do.
  WantedMeasures(std::span<const Measure> wanted, const Chain& chain, const ColumnScaling& targets,
                 const GridPart& part = {});

  [[nodiscard]] bool reads_outputs() const { return measures_.any() || fields_ || crps_; }
  [[nodiscard]] bool reads_deviations() const { return crps_.has_value(); }
  /// Adds outputs and standard deviations [batch.samples, outputs], normalised, in host memory; `deviations`
  /// is read only if reads_deviations().
  void add(std::span<const float> outputs, std::span<const float> deviations, const Batch& batch);
  /// All ranks. Returns the measures over all ranks, and what they are of; count, loss and accuracy are those
  /// of set_loss_and_accuracy().
  [[nodiscard]] Evaluation add_up(RankGroup& ranks) &&;

  /// Returns the memory of the host that such an object takes for batches of `samples` samples, and the
  /// matrices that a run keeps of each of the `parts` that it evaluates. `boxes`: that make up a sample.
  /// Throws as the constructor.
  [[nodiscard]] static PartMemory memory(std::span<const Measure> wanted, const Chain& chain,
                                         std::int64_t samples, std::size_t parts, std::int64_t boxes);

 private:
  std::span<const Measure> wanted_;
  EvaluationKind kind_;
  std::size_t outputs_;
  Measures measures_;
  std::optional<FieldMeasures> fields_;
  std::optional<CrpsMeasure> crps_;
};

}  // namespace mylos
