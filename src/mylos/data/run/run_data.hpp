// RunData: the data of a run's deck. Functions that need one side of it take that side's interface.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "mylos/config/options.hpp"
#include "mylos/data/run/data_description.hpp"
#include "mylos/data/run/evaluation_data.hpp"
#include "mylos/data/run/training_data.hpp"

namespace mylos {

class RunData : public DataDescription, public TrainingData, public EvaluationData {
 public:
  /// Requires samples of the meaning of `trained`, apart from sizes, and reads their columns in its order.
  /// Returns the messages of match_columns(). Throws Error (bad_input).
  virtual std::vector<std::string> match(const SampleMeaning& /*trained*/) { return {}; }
};

/// Sets what the data determine: the sizes of the model, the names of its targets, the weights of points in
/// the loss, and how a rollout's outputs become inputs. Throws Error (bad_input) if the model cannot learn
/// from such data. `places`: locations of the deck's keys.
void complete(Options& options, const DataDescription& data, const Places& places = {});

/// Opens the files that the deck names and checks them against each other and against the deck. Throws Error
/// (bad_input). `truth`: for labelled samples; tokens always have ground truth. `places`: locations of the
/// deck's keys.
[[nodiscard]] std::unique_ptr<RunData> open_run_data(const Options& options,
                                                     GroundTruth truth = GroundTruth::required,
                                                     const Places& places = {});

}  // namespace mylos
