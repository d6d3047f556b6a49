#include "commands/uncertain_model.hpp"

#include <fmt/format.h>

#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/inference/ensemble/ensemble_pass.hpp"
#include "mylos/inference/ensemble/network_passes.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::app {
namespace {

void require_no_tokens(const TrainedNetwork& network) {
  if (!network.vocabulary) return;
  fail_input(errors::wrong_format,
             "{} is a network of tokens; mean and standard deviation are of networks of numbers",
             network.path);
}

void require_dropout(const TrainedNetwork& network) {
  if (has_dropout(network.deck.options.model)) return;
  fail_input(errors::not_measured,
             "--mc-dropout: {} has no layer with dropout, so that all its passes are equal; train it with "
             "model.dropout = 0.1, or another probability, or give several networks to --ensemble",
             network.path);
}

/// Returns the files that the command line means.
std::vector<EnsembleMember> members_of(RankGroup& ranks, const NamedCheckpoint& first,
                                       const std::vector<std::string>& more) {
  std::vector<EnsembleMember> members{{checkpoint_file(ranks, first), first.average}};
  for (const std::string& path : more)
    members.push_back({checkpoint_file(ranks, {path, first.best, first.average}), first.average});
  return members;
}

}  // namespace

void require_no_more_words(const MemberArguments& arguments) {
  if (arguments.ensemble || arguments.more.empty()) return;
  fail_input(errors::extra_argument, "'{}' is one argument too many; --ensemble takes several networks",
             printable(arguments.more.front()));
}

UncertainModel open_uncertain_model(const NamedCheckpoint& checkpoint, const std::vector<std::string>& more,
                                    const MemberArguments& arguments, const NetworkData& data,
                                    DataPart part) {
  NetworkData checked = data;
  checked.check = [data, arguments](const TrainedNetwork& network) {
    require_no_tokens(network);
    if (!arguments.ensemble) require_dropout(network);
    data.check(network);
  };
  UncertainModel model;
  if (!arguments.ensemble) {
    const std::optional<std::uint64_t> seed =
        arguments.seed < 0 ? std::nullopt : std::optional(static_cast<std::uint64_t>(arguments.seed));
    model.trained = open_trained_model(checkpoint, checked, {.seed = seed});
    const TrainedModel& trained = *model.trained;
    model.chain = trained.model->chain();
    model.name = fmt::format("{} dropout masks of {}", arguments.dropout_masks, trained.network.path);
    model.pass =
        std::make_unique<NetworkPasses>(trained.context(), trained.communicator->ranks(), trained.network,
                                        *trained.model, part, DropoutPasses{arguments.dropout_masks, true});
    return model;
  }
  std::vector<EnsembleMember> members;
  {
    RankGroup& ranks = ranks_of_start();
    members = members_of(ranks, checkpoint, more);
    require_ensemble(ranks, members);
  }
  model.trained = open_trained_model(checkpoint, checked, {.loads_weights = false});
  const TrainedModel& trained = *model.trained;
  model.name = fmt::format("an ensemble of {} networks", members.size());
  auto pass =
      std::make_unique<EnsemblePass>(*trained.execution, *trained.engines, trained.communicator->ranks(),
                                     std::move(members), trained.network, checked, part);
  model.chain = pass->chain();
  model.pass = std::move(pass);
  return model;
}

}  // namespace mylos::app
