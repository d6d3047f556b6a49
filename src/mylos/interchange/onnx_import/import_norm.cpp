// Batch, layer, RMS, group and instance normalisation.
#include <algorithm>
#include <cmath>

#include "mylos/base/errors/contents.hpp"
#include "mylos/interchange/onnx_import/graph/norm_matching.hpp"
#include "mylos/interchange/onnx_import/importer.hpp"

namespace mylos {
namespace {

constexpr double our_epsilon = 1e-5;

void require_epsilon(const Importer& importer, const ForeignNode& node, float epsilon) {
  constexpr double tolerance = 1e-10;
  if (std::abs(static_cast<double>(epsilon) - our_epsilon) > tolerance)
    importer.refuse(node,
                    "has an epsilon of {:g}; norms of Mylos have 1e-5: train and export with that epsilon",
                    epsilon);
}

/// Sets the node's result: the normalised value, in the same order.
void append(Importer& importer, const ForeignNode& node, FileValue x, const LayerOptions& norm,
            std::vector<float> weight, std::vector<float> bias) {
  const bool has_bias = norm.norm != NormType::rmsnorm;
  const std::string name = node.has_input(1) ? node.inputs[1] : "";
  x.position = importer.append_norm(x, norm, name);
  x.is_sole = true;
  const std::string path = importer.chain.norm_path(x.position);
  importer.chain.weights[path + "/weight"] = std::move(weight);
  if (has_bias) importer.chain.weights[path + "/bias"] = std::move(bias);
  importer.set(node, std::move(x));
}

std::vector<float> of_channels(const FileValue& x, float value) {
  return std::vector<float>(static_cast<std::size_t>(x.channels), value);
}

/// Our epsilon is 1e-5: the variance takes the difference, and the scale what that cannot.
void import_batch_norm(Importer& importer, const ForeignNode& node) {
  const FileValue x = importer.layer_input(node, 0);
  if (!x.is_channels_first() && !x.is_vector())
    importer.refuse(node, "normalises axis 1 of {}, which is not that of the channels", x.text());
  if (node.get<std::int64_t>("training_mode", 0) != 0)
    importer.refuse(node, "is in training mode; export the network for evaluation (model.eval())");
  const OnnxNumbers dims{x.channels};
  std::vector<float> weight = importer.numbers(node, 1, dims, "scale");
  std::vector<float> bias = importer.numbers(node, 2, dims, "bias");
  std::vector<float> mean = importer.numbers(node, 3, dims, "mean");
  std::vector<float> variance = importer.numbers(node, 4, dims, "variance");
  const auto epsilon = static_cast<double>(node.get<float>("epsilon", 1e-5F));
  for (std::size_t i = 0; i < variance.size(); ++i) {
    const double theirs = static_cast<double>(variance[i]) + epsilon;
    if (!(theirs > 0) || !(variance[i] >= 0))
      fail_input(errors::damaged, "{} has a variance of {}", describe(importer.graph, node), variance[i]);
    if (epsilon == static_cast<double>(1e-5F)) continue;
    variance[i] = static_cast<float>(std::max(theirs - our_epsilon, 0.));
    const double ours = static_cast<double>(variance[i]) + our_epsilon;
    weight[i] = static_cast<float>(static_cast<double>(weight[i]) * std::sqrt(ours / theirs));
  }
  append(importer, node, x, {.kind = kinds::Norm{}, .norm = NormType::batchnorm}, std::move(weight),
         std::move(bias));
  const std::string path = importer.chain.norm_path(importer.chain.last());
  importer.chain.weights[path + "/running_mean"] = std::move(mean);
  importer.chain.weights[path + "/running_variance"] = std::move(variance);
}

FileValue last_axis_input(Importer& importer, const ForeignNode& node) {
  const FileValue x = importer.layer_input(node, 0);
  if (!x.is_vector() && !x.is_channels_last())
    importer.refuse(node,
                    "normalises the last axis of {}, which is not that of the channels; Mylos normalises the "
                    "channels of each point, or vectors",
                    x.text());
  return x;
}

void require_last_axis(const Importer& importer, const ForeignNode& node, const FileValue& x,
                       std::int64_t axis) {
  if (importer.axis_of(node, axis, x) + 1 != x.shape.size())
    importer.refuse(node, "normalises several axes of {}; Mylos normalises the channels of each point",
                    x.text());
}

template <NormType type>
void import_last_axis_norm(Importer& importer, const ForeignNode& node) {
  const FileValue x = last_axis_input(importer, node);
  require_last_axis(importer, node, x, node.get<std::int64_t>("axis", -1));
  require_epsilon(importer, node, node.get<float>("epsilon", 1e-5F));
  std::vector<float> weight = importer.numbers(node, 1, {x.channels}, "scale");
  std::vector<float> bias = of_channels(x, 0);
  if (node.has_input(2)) bias = importer.numbers(node, 2, {x.channels}, "bias");
  append(importer, node, x, {.kind = kinds::Norm{}, .norm = type}, std::move(weight), std::move(bias));
}

/// Returns the number of groups if a norm is of [extents ..., groups, channels of a group] along all axes but
/// the groups; 0 for another.
std::int64_t groups_of(const Importer& importer, const ForeignNode& node, const FileValue& x,
                       const OnnxNumbers& axes) {
  const std::size_t rank = x.shape.size();
  if (rank < 3 || axes.size() + 1 != rank || !x.has_our_order() || x.points() < 2) return 0;
  for (const std::int64_t axis : axes) {
    if (importer.axis_of(node, axis, x) == rank - 2) return 0;
  }
  const std::int64_t groups = x.shape[rank - 2];
  return groups * x.shape[rank - 1] == x.channels ? groups : 0;
}

void import_root_norm(Importer& importer, const ForeignNode& node) {
  const OnnxNumbers axes = node.get<OnnxNumbers>("axes", {});
  if (axes.size() > 1 && node.get<std::int64_t>("subtracts", 1) != 0) {
    const FileValue x = importer.layer_input(node, 0);
    if (const std::int64_t groups = groups_of(importer, node, x, axes); groups > 0) {
      require_epsilon(importer, node, node.get<float>("epsilon", 0));
      return append(importer, node, x,
                    {.kind = kinds::Norm{}, .norm = NormType::groupnorm, .norm_groups = groups},
                    of_channels(x, 1), of_channels(x, 0));
    }
  }
  const FileValue x = last_axis_input(importer, node);
  if (axes.size() != 1)
    importer.refuse(node, "normalises {} axes; Mylos normalises the channels of each point", axes.size());
  require_last_axis(importer, node, x, axes[0]);
  require_epsilon(importer, node, node.get<float>("epsilon", 0));
  const bool subtracts = node.get<std::int64_t>("subtracts", 1) != 0;
  append(importer, node, x,
         {.kind = kinds::Norm{}, .norm = subtracts ? NormType::layernorm : NormType::rmsnorm},
         of_channels(x, 1), of_channels(x, 0));
}

/// Returns a number per channel of one per channel or one per group.
std::vector<float> spread(const Importer& importer, const ForeignNode& node, std::size_t i,
                          const FileValue& x, std::int64_t groups, const char* what) {
  const ForeignTensor* const given = importer.constant(node, i);
  const bool is_of_channels = given != nullptr && given->dims == OnnxNumbers{x.channels};
  const std::vector<float>& numbers = importer.numbers(node, i, {is_of_channels ? x.channels : groups}, what);
  if (is_of_channels) return numbers;
  std::vector<float> all;
  for (std::int64_t channel = 0; channel < x.channels; ++channel)
    all.push_back(numbers[static_cast<std::size_t>(channel / (x.channels / groups))]);
  return all;
}

void append_group_norm(Importer& importer, const ForeignNode& node, const FileValue& x, std::int64_t groups) {
  require_epsilon(importer, node, node.get<float>("epsilon", 1e-5F));
  std::vector<float> weight = spread(importer, node, 1, x, groups, "scale");
  std::vector<float> bias = spread(importer, node, 2, x, groups, "bias");
  append(importer, node, x, {.kind = kinds::Norm{}, .norm = NormType::groupnorm, .norm_groups = groups},
         std::move(weight), std::move(bias));
}

void import_group_norm(Importer& importer, const ForeignNode& node) {
  const FileValue x = importer.layer_input(node, 0);
  const auto groups = node.get<std::int64_t>("num_groups", 0);
  if (!x.is_channels_first() && !x.is_vector())
    importer.refuse(node, "reads {}; expected [batch, channels, extents ...]", x.text());
  if (groups < 1 || x.channels % groups != 0)
    fail_input(errors::damaged, "{} has {} groups of {} channels", describe(importer.graph, node), groups,
               x.channels);
  append_group_norm(importer, node, x, groups);
}

/// Exporters write group normalisation as instance normalisation of [batch, groups, numbers of a group].
void import_instance_norm(Importer& importer, const ForeignNode& node) {
  const FileValue x = importer.layer_input(node, 0);
  const bool has_groups = x.has_channels_first_order() && x.shape.size() > 1 && x.shape[0] > 0 &&
                          x.shape[0] <= x.channels && x.channels % x.shape[0] == 0;
  if (!has_groups)
    importer.refuse(node, "reads {}, whose axis 1 is not that of channels or of groups of them", x.text());
  append_group_norm(importer, node, x, x.shape[0]);
}

}  // namespace

const ImportTable& norm_operators() {
  static const ImportTable table{{"BatchNormalization", import_batch_norm},
                                 {"LayerNormalization", import_last_axis_norm<NormType::layernorm>},
                                 {"RMSNormalization", import_last_axis_norm<NormType::rmsnorm>},
                                 {"GroupNormalization", import_group_norm},
                                 {"InstanceNormalization", import_instance_norm},
                                 {root_norm_op, import_root_norm}};
  return table;
}

}  // namespace mylos
