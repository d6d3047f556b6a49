#include "mylos/model/network/network.hpp"

#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/model/chain/growing_chain.hpp"
#include "mylos/model/chain/parts.hpp"
#include "mylos/model/layers/activation/activation_layer.hpp"
#include "mylos/model/layers/nonnegative/nonnegative_output.hpp"
#include "mylos/model/layers/norm/norm_layer.hpp"
#include "mylos/model/layers/residual/residual_output.hpp"
#include "mylos/model/losses/boxes/loss_of_boxes.hpp"
#include "mylos/model/network/output_layer.hpp"
#include "mylos/precision/policy.hpp"

namespace mylos {
namespace {

/// Adds what a layer computes: its kind's operation, then norm, activation and dropout.
void add_layer(GrowingChain& chain, const LayerOptions& layer, std::string name) {
  chain.begin_layer(std::move(name));
  if (chain.model().part.has_boxes()) require_parts(layer, chain.input(), chain.model().part);
  std::visit([&](const auto& kind) { kind.append_to(chain, layer); }, layer.kind);
  if (!has_fused_activation(layer)) {
    if (layer.norm != NormType::none) append_norm(chain, layer);
    const bool has_more = layer.activation != Activation::none || layer.dropout > 0;
    if (has_more && !is_fused_with_norm(layer)) append_activation(chain, layer);
  }
  chain.end_layer();
}

/// Returns the type of the network's input if a sum of its numbers sets one.
std::optional<DType> type_of_input(const ModelOptions& model, const PrecisionOptions& precision) {
  if (model.residual) return type_of_residual_input(model, precision);
  for (std::size_t i = 0; i < model.chain.size(); ++i) {
    const LayerOptions& layer = model.chain[i];
    if (std::holds_alternative<kinds::Conserve>(layer.kind) && layer.skip_from == input_name)
      return float_unless_ruled(precision, layer_name(model.chain, i), kinds::Conserve::traits.name);
  }
  return std::nullopt;
}

/// Returns what would give the network the number of outputs that the data has.
std::string how_to_give_outputs(const ModelOptions& model, const LayerOutput& last) {
  const std::int64_t points = last.grid.points();
  if (last.axes == 0 || model.outputs % points != 0)
    return "a last dense layer without 'outputs' takes their number";
  return fmt::format(
      "on its grid of {} points it needs {} channels: 'outputs' of the last layer, or model.fields with "
      "model.type = \"unet\", \"fno\" or \"vit\"",
      points, model.outputs / points);
}

/// Refuses a network that does not compute what the data has.
void require_outputs(const GrowingChain& network, const ModelOptions& model, std::int64_t outputs) {
  if (model.outputs == 0 || outputs == model.outputs) return;
  fail_input(errors::bad_layer,
             "the network's last layer, '{}', has {} outputs per sample, but the data has {} {}; {}",
             network.name(), outputs, model.outputs, noun_of_targets(model.prediction()),
             how_to_give_outputs(model, network.last()));
}

/// Adds the residual connection, the bound of the outputs and the loss.
Chain finished(GrowingChain& network, const ModelOptions& model) {
  const SampleShape input{network.first().grid, network.first().axes};
  const SampleShape output{network.last().grid, network.last().axes};
  Chain chain = network.take();
  const std::int64_t outputs = chain.blocks.back()->signature().outputs;
  // A vector is the same on all ranks of a sample.
  const std::int64_t of_whole =
      output.axes > 0 ? outputs / output.grid.points() * model.part.whole_points(output.grid.extent)
                      : outputs;
  require_outputs(network, model, of_whole / outputs_per_target(model.loss));
  if (output.axes > 0 && model.part.has_boxes()) require_parts_of_loss(model);
  append_residual(chain, model, input, output);
  append_nonnegative(chain, model, output);
  chain.grids.resize(chain.blocks.size(), output.grid);
  const LossInput loss{.numbers = outputs, .type = type_of_output(chain), .shape = output};
  chain.head = model.part.sum_boxes() > 1 ? make_loss_of_boxes(model, loss) : make_loss(model, loss);
  return chain;
}

/// Makes the chain of a sample, or of a box of it.
Chain grown(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
            bool accumulates, bool input_gradients) {
  if (model.chain.empty())
    fail_input(errors::missing_key, "model.type = \"chain\" needs at least one [[model.layers]]");
  GrowingChain network(model, precision, seed, accumulates, input_gradients, type_of_input(model, precision));
  const std::size_t output =
      outputs_per_target(model.loss) > 1 ? output_layer(model) : model.chain.size();  // none is special
  for (std::size_t i = 0; i < model.chain.size(); ++i) {
    const LayerOptions& layer = model.chain[i];
    const std::string name = layer_name(model.chain, i);
    for (std::int64_t copy = 1; copy <= layer.repeat; ++copy) {
      const bool is_output = i == output && copy == layer.repeat;
      add_layer(network, is_output ? with_outputs_of_targets(layer, model) : layer,
                layer.repeat == 1 ? name : fmt::format("{}.{}", name, copy));
    }
  }
  return finished(network, model);
}

/// Makes the chain of a box where the whole sample has one: what does not fit is the division.
template <class Make>
Chain of_box(const Make& make) {
  try {
    return make();
  } catch (const Error& error) {
    if (error.message().find("mesh.space") != std::string::npos) throw;
    throw error.with(
        fmt::format("mesh.space divides samples into boxes that do not fit the network: {}; use fewer, or "
                    "divide another axis",
                    error.message()));
  }
}

}  // namespace

Chain make_network(const ModelOptions& model, const PrecisionOptions& precision, std::uint64_t seed,
                   bool accumulates, bool input_gradients) {
  const auto chain_of = [&](const GridPart& part) {
    ModelOptions of_part = model;
    of_part.part = part;
    return grown(of_part, precision, seed, accumulates, input_gradients);
  };
  if (!model.part.has_boxes()) return chain_of({});
  const Chain whole = chain_of({});
  const auto box_of_whole = [&](const GridPart& part) {
    Chain chain = of_box([&] { return chain_of(part); });
    require_tiles(chain, whole, part);
    return chain;
  };
  if (model.part.sum_boxes() > 1) {
    try {
      static_cast<void>(box_of_whole(model.part.first_sum_box()));
    } catch (const Error& error) {
      throw error.with(fmt::format("mesh.sums takes the sums of each box as of a mesh.space with as many: {}",
                                   error.message()));
    }
  }
  // All ranks refuse what the smallest box does not allow.
  if (model.part.is_uneven()) static_cast<void>(box_of_whole(model.part.smallest()));
  return box_of_whole(model.part);
}

}  // namespace mylos
