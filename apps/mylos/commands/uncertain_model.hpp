// UncertainModel: the ensemble or the network with dropout that a command line means, ready to run.
#pragma once

#include <memory>
#include <string>

#include "commands.hpp"
#include "commands/open_model.hpp"
#include "mylos/inference/ensemble/ensemble_pass.hpp"

namespace mylos::app {

struct UncertainModel {
  std::unique_ptr<OpenModel> open;  // of an ensemble its first network, without weights
  std::unique_ptr<UncertainPass> pass;
  std::vector<EnsembleMember> members;  // the files of an ensemble
  std::string name;  // "an ensemble of 5 networks", "50 dropout masks of runs/a/checkpoints/step-9.h5"
};

/// Throws Error (bad_input) for words of the command line that only --ensemble has.
void require_no_more_words(const MemberArguments& arguments);

/// Throws Error (not_measured) for a network whose outputs have no meaningful mean over several: quantiles.
void require_averages(const StoredNetwork& network);

/// Throws Error (not_measured) for a network without dropout.
void require_dropout(const StoredNetwork& network);

/// Returns the files of the networks that the command line means.
[[nodiscard]] std::vector<EnsembleMember> members_of(RankGroup& ranks, const NamedCheckpoint& first,
                                                     const std::vector<std::string>& more);

/// All ranks. `checkpoint`: the first of an ensemble, or the only one; `more`: the others. Throws Error on
/// all ranks as open_model() and require_ensemble() do, for networks of tokens, and for --mc-dropout
/// of a network without dropout.
[[nodiscard]] UncertainModel open_uncertain_model(const NamedCheckpoint& checkpoint,
                                                  const std::vector<std::string>& more,
                                                  const MemberArguments& arguments, const NetworkData& data,
                                                  DataPart part);

}  // namespace mylos::app
