// PredictionWriter: what rank 0 writes of predictions, in the units of the targets.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "commands.hpp"
#include "commands/prediction_file.hpp"
#include "mylos/inference/opened_network.hpp"
#include "mylos/inference/predict.hpp"

namespace mylos::app {

/// What is predicted.
struct PredictedNetwork {
  const OpenedNetwork& opened;
  std::string checkpoint;  // by which, for the file
  PredictionParts parts;
  const ConformalCalibration* calibration = nullptr;  // whose bounds are written; null: none
};

class PredictionWriter {
 public:
  /// Creates the file of the predictions of all samples. What `predicted` refers to must outlive the object.
  PredictionWriter(const PredictedNetwork& predicted, const std::string& path);

  /// Takes what the network's outputs mean, in the units of training: outputs where they are numbers, else
  /// probabilities. Changes all.
  void write(const ComputedSamples& samples, std::span<float> values, const StatedOutputs& stated);
  /// Likewise those of a member alone.
  void write_member(std::int64_t member, const Share& samples, std::span<float> values);

  [[nodiscard]] const NonFinite& nonfinite() const {
    return predicted_.opened.divided ? nonfinite_in_boxes_.found() : nonfinite_;
  }
  [[nodiscard]] PredictionFile& file() { return *file_; }

 private:
  /// What the numbers of a part of samples mean.
  struct Part {
    GridPart part;
    GridBox box;
    Normalizer normalizer;
  };

  const Part& part_of(const GridPart& part);
  void count_nonfinite(const ComputedSamples& samples, std::span<const float> values);
  void write_bounds(const ComputedSamples& samples, std::span<const float> values,
                    std::span<const float> deviations);
  void undo_scaling(const Normalizer& normalizer, std::span<float> values) const;

  PredictedNetwork predicted_;
  std::unique_ptr<PredictionFile> file_;
  NonFinite nonfinite_;
  NonFiniteInBoxes nonfinite_in_boxes_;
  std::vector<Part> parts_;  // those that have been written
  std::vector<float> lower_, upper_;
};

/// Throws Error (bad_input) where `arguments` name an output that cannot be written, or a network of tokens.
void require_predictable(const OpenedNetwork& opened, const PredictArguments& arguments);

/// All ranks. Completes the file of `writer`, which rank 0 has, and prints what was written; `described`: of
/// what, "outputs". Throws Error on all ranks where numbers are inf or NaN, unless `arguments` allow them.
/// `outside`: of describe_outside().
void finish_predictions(RankGroup& ranks, const PredictedNetwork& predicted, PredictionWriter* writer,
                        const PredictArguments& arguments, const std::string& described,
                        const std::string& outside);

}  // namespace mylos::app
