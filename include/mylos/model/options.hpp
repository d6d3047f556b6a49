// [model]: the network.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "mylos/base/grid_part.hpp"
#include "mylos/kernels/derivative.hpp"
#include "mylos/model/layers.hpp"
#include "mylos/model/losses.hpp"
#include "mylos/model/rollout.hpp"

namespace mylos {

class CustomLoss;

/// The last five are short forms of a chain (short_forms.hpp).
enum class ModelType { mlp, gpt, chain, cnn, resnet, unet, fno, vit };
/// Every type.
inline constexpr ModelType model_types[] = {ModelType::mlp, ModelType::gpt,    ModelType::chain,
                                            ModelType::cnn, ModelType::resnet, ModelType::unet,
                                            ModelType::fno, ModelType::vit};

/// Returns the name that decks use.
[[nodiscard]] constexpr std::string_view name_of(ModelType type) {
  constexpr std::string_view names[] = {"mlp", "gpt", "chain", "cnn", "resnet", "unet", "fno", "vit"};
  return names[static_cast<std::size_t>(type)];
}

/// The unit of a relative norm: all channels of a sample together, or each channel, averaged over channels.
enum class LossPer { sample, channel };

/// The losses that may be terms of a sum.
using TermLoss = std::variant<losses::Mse, losses::L1, losses::Huber, losses::RelativeL2, losses::RelativeH1>;

/// A term of model.loss = "sum".
struct LossTerm {
  TermLoss loss = losses::Mse{};
  std::vector<std::int64_t> channels = {};          // of the outputs, from 0; empty: all
  double weight = 1;                                // above 0
  LossPer per = LossPer::sample;                    // relative_l2, relative_h1
  Derivative derivative = Derivative::differences;  // relative_h1
  std::vector<std::string> variables = {};          // targets of ModelOptions::target_names, not `channels`

  bool operator==(const LossTerm&) const = default;
};

/// How a gpt encodes the position of a token: a trained vector, or rotations of queries and keys.
enum class PositionType { learned, rotary };
/// The hidden layer of a gpt's block: two matrices and gelu, or three and a gate.
enum class FeedForwardType { gelu, swiglu };

/// The distribution of initial values (initial_values.hpp).
enum class Initializer {
  xavier_uniform,
  xavier_normal,
  he_uniform,
  he_normal,
  orthogonal,
  normal,
  uniform,
  constant
};

/// A rule for the initial values of the parameters whose names match.
struct InitialRule {
  std::vector<std::string> match = {};             // "conv1/weight", with '*' for any characters
  Initializer kind = Initializer::xavier_uniform;  // the distribution
  std::optional<double> gain = {};                 // xavier, he, orthogonal; none: 1, for he sqrt(2)
  double std = 0;                                  // normal
  double bound = 0;                                // uniform
  double value = 0;                                // constant

  bool operator==(const InitialRule&) const = default;
};

/// A weight in the loss for each point of the outputs' grid, or for each number of the outputs: 0 for what
/// does not count.
struct PointWeights {
  std::string source;                 // for messages: "areas.h5: array /area"
  std::vector<std::int64_t> extents;  // of the grid
  std::vector<float> values;          // [points, channels], at least 0, of mean 1
  std::int64_t channels = 1;          // 1: all channels of a point have its weight; or those of the outputs

  /// Returns the weight of number `i` of the outputs, which have `of_outputs` channels.
  [[nodiscard]] float of(std::size_t i, std::int64_t of_outputs) const {
    return values[channels == 1 ? i / static_cast<std::size_t>(of_outputs) : i];
  }
};

/// [model]: the network and its loss. Which members count follows from `type`.
struct ModelOptions {
  ModelType type = ModelType::mlp;           // the kind of network
  std::vector<std::int64_t> hidden;          // widths of the hidden layers, input side first; may be empty
  Activation activation = Activation::relu;  // of hidden layers
  NormType norm = NormType::none;            // mlp: after each hidden layer; gpt: none selects layernorm
  bool norm_first = false;                   // mlp: the norm precedes the activation
  double dropout = 0;                        // probability in [0, 1)
  Loss loss = losses::CrossEntropy{};        // what training minimises, with its own options
  std::int64_t inputs = 0;                   // features per sample; 0 = from the data
  std::int64_t outputs = 0;                  // classes or targets per sample; 0 = from the data
  bool residual = false;  // adds the input to the output (residual_output.hpp); not for gpt
  std::vector<std::string> nonnegative = {};  // targets that are at least 0, of target_names; not for gpt
  NonnegativeForm nonnegative_form = NonnegativeForm::softplus;

  // gpt
  std::int64_t layers = 0;                               // blocks of attention and feed-forward
  std::int64_t heads = 0;                                // gpt, vit: must divide the width
  std::int64_t width = 0;                                // fno, vit: channels of the blocks
  std::int64_t context = 0;                              // tokens per sample
  std::int64_t vocabulary = 0;                           // 0 = from the data; may be larger than the data's
  PositionType positions = PositionType::learned;        // how positions are encoded
  bool tied = true;                                      // the head's weights are the token embedding
  FeedForwardType feed_forward = FeedForwardType::gelu;  // the other part of a block
  bool bias = true;                                      // of linear layers and of layer normalisation

  // cnn, resnet, unet
  std::vector<std::int64_t> channels = {};  // per stage or level
  std::int64_t blocks = 2;             // residual blocks per stage, convolutions per level; fno, vit: blocks
  std::int64_t kernel = 3;             // points along each axis
  Edges edges = {};                    // the values of points outside the grid
  std::optional<bool> conv_bias = {};  // of convolutions with a norm; none: true unless it is batchnorm
  bool skip_first = false;             // unet: LayerOptions::skip_first of each concat
  std::int64_t fields = 1;             // unet, fno, vit: channels of the output; vit: 0 for a vector

  // fno
  PerAxis modes = {};                // wave numbers of the spectral layers
  double lifting = 2;                // hidden channels of the lifting, per channel of `width`
  double projection = 2;             // likewise of the projection
  double channel_mlp = 0.5;          // likewise of a block's channel MLP; 0: none (also vit)
  std::vector<double> padding = {};  // zeros around the grid, as LayerOptions::margin
  bool coordinates = true;           // appends the points' positions to the input

  // vit
  PerAxis patch = {};  // points of a patch

  // chain
  std::vector<LayerOptions> chain = {};  // in their order
  std::vector<std::int64_t> shape = {};  // of a sample: 1 to 3 extents, then channels; empty: a vector
  GridPart part = {};                    // the part of a sample that this rank holds; no key sets it
  CustomLayers custom_layers = {};       // of the program; no key sets them

  std::vector<InitialRule> initialize = {};  // the last matching rule applies

  std::vector<LossTerm> terms = {};            // of the loss "sum"
  std::vector<std::string> target_names = {};  // of the outputs' channels, from the data; empty: none known

  // of several losses, and of measures
  LossPer loss_per = LossPer::sample;                      // relative_l2, relative_h1
  Derivative derivative = Derivative::differences;         // relative_h1
  std::shared_ptr<const PointWeights> point_weights = {};  // from data.weights; null: all are 1
  bool has_missing_targets = false;                        // from data.arrays.missing: NaN stands for one
  std::shared_ptr<const CustomLoss> custom_loss = {};      // custom: of the program; no key sets it

  /// Returns what the network's outputs say; of a gpt, classes.
  [[nodiscard]] Prediction prediction() const { return prediction_of(loss); }

  bool operator==(const ModelOptions&) const = default;
};

}  // namespace mylos
