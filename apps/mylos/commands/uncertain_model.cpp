#include "commands/uncertain_model.hpp"

#include <fmt/format.h>

#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/inference/ensemble/network_passes.hpp"
#include "mylos/model/network/make_chain.hpp"

namespace mylos::app {
namespace {

void require_no_tokens(const StoredNetwork& network) {
  if (!network.training.vocabulary) return;
  fail_input(errors::wrong_format,
             "{} is a network of tokens; mean and standard deviation are of networks of numbers",
             network.path);
}

}  // namespace

std::vector<EnsembleMember> members_of(RankGroup& ranks, const NamedCheckpoint& first,
                                       const std::vector<std::string>& more) {
  std::vector<EnsembleMember> members{{checkpoint_file(ranks, first), first.average}};
  for (const std::string& path : more)
    members.push_back({checkpoint_file(ranks, {path, first.best, first.average}), first.average});
  return members;
}

void require_averages(const StoredNetwork& network) {
  if (network.chain.quantiles().empty()) return;
  fail_input(
      errors::not_measured,
      "{}: is a network of model.loss = \"{}\", and averages of quantiles are not the quantiles of the "
      "members together; `mylos predict` and `mylos eval` take each network alone",
      network.path, mylos::name_of(network.options.model.loss));
}

void require_dropout(const StoredNetwork& network) {
  if (has_dropout(network.options.model)) return;
  fail_input(errors::not_measured,
             "--mc-dropout: {} has no layer with dropout, so that all its passes are equal; train it with "
             "model.dropout = 0.1, or another probability, or give several networks to --ensemble",
             network.path);
}

void require_no_more_words(const MemberArguments& arguments) {
  if (arguments.ensemble || arguments.more.empty()) return;
  fail_input(errors::extra_argument, "'{}' is one argument too many; --ensemble takes several networks",
             printable(arguments.more.front()));
}

UncertainModel open_uncertain_model(const NamedCheckpoint& checkpoint, const std::vector<std::string>& more,
                                    const MemberArguments& arguments, const NetworkData& data,
                                    DataPart part) {
  NetworkData checked = data;
  checked.check = [data, arguments](const OpenedNetwork& opened) {
    require_no_tokens(opened.network);
    require_averages(opened.network);
    if (!arguments.ensemble) require_dropout(opened.network);
    data.check(opened);
  };
  UncertainModel model;
  if (!arguments.ensemble) {
    if (arguments.seed >= 0) checked.seed = static_cast<std::uint64_t>(arguments.seed);
    model.open = open_model(checkpoint, checked);
    const OpenModel& open = *model.open;
    model.name = fmt::format("{} dropout masks of {}", arguments.dropout_masks, open.network().path);
    model.pass =
        std::make_unique<NetworkPasses>(open.context(), open.communicator->ranks(), open.opened, *open.model,
                                        part, DropoutPasses{arguments.dropout_masks, true});
    return model;
  }
  model.members = members_of(ranks_of_start(), checkpoint, more);
  require_ensemble(ranks_of_start(), model.members);
  model.open = open_model(checkpoint, checked, false);
  const OpenModel& open = *model.open;
  model.name = fmt::format("an ensemble of {} networks", model.members.size());
  model.pass = std::make_unique<EnsemblePass>(*open.execution, *open.engines, open.communicator->ranks(),
                                              model.members, open.opened, checked, part);
  return model;
}

}  // namespace mylos::app
