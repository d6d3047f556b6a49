#include <algorithm>
#include <set>

#include "mylos/base/errors/combinations.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/layers/conserve/conserve_block.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

/// Refuses channels that are not there, or that are listed twice.
void require_channels(const GrowingChain& network, const std::vector<std::int64_t>& listed, const char* key,
                      std::int64_t channels, bool are_set) {
  if (static_cast<std::int64_t>(listed.size()) > SumChannels::max_listed)
    network.refuse(errors::bad_layer, "has {} '{}'; list at most {}", listed.size(), key,
                   SumChannels::max_listed);
  std::set<std::int64_t> once;
  for (const std::int64_t channel : listed) {
    if (channel >= channels)
      network.refuse(errors::bad_layer, "has {} in '{}', and there are the channels 0 to {}", channel, key,
                     channels - 1);
    if (are_set && !once.insert(channel).second)
      network.refuse(errors::bad_layer, "has the channel {} twice in '{}'", channel, key);
  }
}

/// Returns the channels of the deck; `from`: empty where they are the same.
SumChannels channels_of(const GrowingChain& network, const std::vector<std::int64_t>& channels,
                        const std::vector<std::int64_t>& from, std::int64_t own, std::int64_t earlier) {
  if (channels.empty() && from.empty()) {
    if (earlier > 0 && earlier != own)
      network.refuse(errors::bad_layer,
                     "has {} channels, and the layer in 'skip_from' has {}; say by 'channels' and "
                     "'from_channels' which sums are to agree",
                     own, earlier);
    return {.count = own};
  }
  if (!from.empty() && from.size() != channels.size())
    network.refuse(errors::bad_layer, "has {} 'channels' and {} 'from_channels'; give one for each",
                   channels.size(), from.size());
  const std::vector<std::int64_t>& sources = from.empty() ? channels : from;
  require_channels(network, channels, "channels", own, true);
  if (earlier > 0)
    require_channels(network, sources, from.empty() ? "channels" : "from_channels", earlier, false);
  SumChannels result{.count = static_cast<std::int64_t>(channels.size()), .are_listed = true};
  for (std::size_t i = 0; i < channels.size(); ++i) {
    result.channel[i] = static_cast<std::int32_t>(channels[i]);
    result.from[i] = static_cast<std::int32_t>(sources[i]);
  }
  return result;
}

/// Returns the options that both kinds have.
ConserveOptions options_of(const GrowingChain& network, const LayerOptions& layer,
                           const std::vector<double>& row_weights) {
  const LayerInput input = network.input();
  ConserveOptions options;
  options.name = input.layer;
  options.grid = require_grid(input, "sets sums over the points of");
  if (layer.norm != NormType::none || layer.activation != Activation::none || layer.dropout > 0)
    network.refuse(errors::bad_layer,
                   "sets sums, which 'norm', 'activation' and 'dropout' would change; give them to the layer "
                   "before it");
  options.rows = options.grid.extent[3 - input.axes];
  const auto weights = static_cast<std::int64_t>(row_weights.size());
  if (weights > 0 && weights != options.rows)
    network.refuse(errors::bad_layer, "has {} 'row_weights', and the first axis of its grid has {} points",
                   weights, options.rows);
  if (weights > 0 && *std::max_element(row_weights.begin(), row_weights.end()) <= 0)
    network.refuse(errors::bad_layer, "has 'row_weights' that are all 0");
  options.row_weights = row_weights;
  const BlockTypes types = network.types();
  options.type = float_unless_ruled(types.precision, input.layer, name_of(layer.kind));
  options.input_type = types.input_of(options.type);
  return options;
}

}  // namespace

void kinds::ZeroSum::append_to(GrowingChain& network, const LayerOptions& layer) const {
  const LayerInput input = network.input();
  ConserveOptions options = options_of(network, layer, row_weights);
  options.channels = channels_of(network, channels, {}, input.grid.channels, 0);
  network.append(std::make_unique<ConserveBlock>(std::move(options)), input.grid);
}

void kinds::Conserve::append_to(GrowingChain& network, const LayerOptions& layer) const {
  const LayerInput input = network.input();
  ConserveOptions options = options_of(network, layer, row_weights);
  const LayerOutput from = network.skip_of(layer);
  if (from.grid.extent != input.grid.extent) {
    network.refuse(errors::bad_layer,
                   "reads '{}', which gives {}, and its input has {}; both need the same points",
                   layer.skip_from, describe(from.grid), describe(input.grid));
  }
  options.skip_channels = from.grid.channels;
  options.skip_type = from.type;
  options.channels = channels_of(network, channels, from_channels, input.grid.channels, from.grid.channels);
  network.append(std::make_unique<ConserveBlock>(std::move(options)), input.grid, input.axes, from.boundary);
}

}  // namespace mylos
