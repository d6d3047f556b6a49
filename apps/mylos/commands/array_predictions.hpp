// Predictions for arrays as they lie in a file, written in its layout.
#pragma once

#include <memory>
#include <string>

#include "commands/prediction_file.hpp"
#include "mylos/data/arrays/array_store.hpp"

namespace mylos::app {

/// Returns whether predictions for these samples can have the layout of their file: there is one file, and it
/// has the arrays that the network predicts, or its inputs have.
[[nodiscard]] bool has_layout_of_predictions(const ArrayStore& store, const ArrayOptions& options);

/// The levels that the samples of `store`, which must outlive the result, are predictions for: a level for
/// each window. Differences are added to the newest level of their window. `options`: those of the run.
/// The parts are arrays beside the predicted ones: NAME_standard_deviation, NAME_q0.05, NAME_lower,
/// NAME_upper, NAME_member_0, ... Throws as FieldFile.
[[nodiscard]] std::unique_ptr<PredictionFile> make_array_predictions(const std::string& path,
                                                                     const ArrayStore& store,
                                                                     const ArrayOptions& options,
                                                                     const std::string& checkpoint,
                                                                     const PredictionParts& parts);

}  // namespace mylos::app
