#include "mylos/inference/source/source_network_of.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/datasets.hpp"

namespace mylos {
namespace {

[[noreturn]] void refuse(const std::string& layer, std::string_view kind, const std::string& path,
                         const SourcePurpose& purpose) {
  fail_input(errors::unsupported_feature,
             "{}: layer '{}'{} cannot {}, as dense layers, activations, norms, sums and concatenations of "
             "vectors can{}; {}",
             path, layer, kind.empty() ? "" : fmt::format(" of the kind '{}'", kind), purpose.to_do,
             purpose.takes_columns ? ", and convolutions without groups and pools along a column" : "",
             purpose.what_helps);
}

/// Appends the blocks and returns the value that the last one gives.
std::size_t append_blocks(SourceNetwork& source, const StoredNetwork& network, const ReadSourceWeight& read,
                          std::size_t input, const SourcePurpose& purpose) {
  const Chain& chain = network.chain;
  std::vector<std::size_t> boundaries{input};
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
    const Block& block = *chain.blocks[i];
    const std::size_t from = chain.skip_of(i);
    SourceLayer layer(source, read, block.signature().name, boundaries[i],
                      from == no_skip ? boundaries[i] : boundaries[from]);
    if (!block.write_source(layer))
      refuse(block.signature().name, block.signature().kind, network.path, purpose);
    boundaries.push_back(layer.output());
  }
  return boundaries.back();
}

/// Returns the points that share a scaling of their channels.
std::int64_t points_of(const ColumnScaling& scaling, std::int64_t width) {
  return width / static_cast<std::int64_t>(scaling.shift.size());
}

/// Returns the numbers once for each point.
std::vector<double> repeated(const std::vector<double>& numbers, std::int64_t points) {
  std::vector<double> all;
  for (std::int64_t i = 0; i < points; ++i) all.insert(all.end(), numbers.begin(), numbers.end());
  return all;
}

/// Appends what makes of the network's outputs those of `mylos predict`.
void append_meaning(SourceNetwork& source, const StoredNetwork& network, std::size_t outputs) {
  const ColumnScaling& targets = network.training.normalizer.targets;
  const std::int64_t width = source.width(outputs);
  std::vector<double> deviations;  // by which training divided the targets
  for (const double scale : targets.scale) deviations.push_back(1 / scale);
  const auto append = [&](auto kind, std::int64_t points = 1) {
    source.operations.push_back({"outputs", outputs, width, std::move(kind), points});
  };
  switch (network.chain.prediction()) {
    case Prediction::classes:
      return append(SourceSoftmax{});
    case Prediction::probabilities:
      return append(SourceSigmoid{});
    case Prediction::distributions: {
      const auto means = static_cast<std::size_t>(width / 2);
      if (targets.identity())
        return append(SourceGaussian{std::vector<double>(means, 0.0), std::vector<double>(means, 1.0)});
      return append(SourceGaussian{targets.shift, std::move(deviations)});
    }
    case Prediction::quantiles: {  // of each level all targets
      const auto levels = static_cast<std::int64_t>(network.chain.quantiles().size());
      if (!targets.identity())
        append(SourceUnits{repeated(targets.shift, levels), repeated(deviations, levels)});
      break;
    }
    case Prediction::numbers:
      if (!targets.identity())
        append(SourceUnits{targets.shift, std::move(deviations)}, points_of(targets, width));
      break;
  }
}

template <class Number>
bool all_finite(const std::vector<Number>& values) {
  return std::all_of(values.begin(), values.end(), [](Number value) { return std::isfinite(value); });
}

/// Returns whether all numbers of an operation are finite.
struct IsFinite {
  bool operator()(const SourceLinear& linear) const {
    return all_finite(linear.weight) && all_finite(linear.bias);
  }
  bool operator()(const SourceNorm& norm) const { return all_finite(norm.weight) && all_finite(norm.bias); }
  bool operator()(const SourceBatchNorm& norm) const {
    return all_finite(norm.shift) && all_finite(norm.scale) && all_finite(norm.offset);
  }
  bool operator()(const SourceAdd& sum) const { return all_finite(sum.factor); }
  bool operator()(const SourceScaling& kind) const { return is_finite(kind); }
  bool operator()(const SourceUnits& kind) const { return is_finite(kind); }
  bool operator()(const SourceGaussian& kind) const { return is_finite(kind); }
  template <class WithoutNumbers>
  bool operator()(const WithoutNumbers& /*kind*/) const {
    return true;
  }

 private:
  template <class Scaling>
  static bool is_finite(const Scaling& scaling) {
    return all_finite(scaling.shift) && all_finite(scaling.scale);
  }
};

void require_finite(const SourceNetwork& source, const std::string& path) {
  for (const SourceOperation& operation : source.operations) {
    if (std::visit(IsFinite{}, operation.kind)) continue;
    fail_input(errors::not_finite, "{}: '{}' has a number that is not finite; use an earlier checkpoint",
               path, operation.layer);
  }
}

/// Outputs on a column are numbers.
void require_outputs(const StoredNetwork& network, const SourcePurpose& purpose) {
  const Chain& chain = network.chain;
  if (chain.grids.empty() || chain.grids.back().points() == 1) return;
  if (purpose.takes_columns && chain.prediction() == Prediction::numbers) return;
  fail_input(errors::unsupported_feature,
             "{}: the outputs, of layer '{}', {} at {} points, and networks {} can {}; {}", network.path,
             chain.blocks.back()->signature().name,
             purpose.takes_columns ? "are probabilities, distributions or quantiles" : "are numbers",
             chain.grids.back().points(),
             purpose.takes_columns ? "with such outputs of vectors alone" : "of vectors alone", purpose.to_do,
             purpose.what_helps);
}

/// Throws unless the operations are of vectors, or may be of columns.
void require_vectors(const SourceNetwork& source, const StoredNetwork& network,
                     const SourcePurpose& purpose) {
  if (purpose.takes_columns) return;
  for (const SourceOperation& operation : source.operations)
    if (operation.points != 1 || is_of_columns(operation)) refuse(operation.layer, "", network.path, purpose);
}

}  // namespace

SourceNetwork source_network_of(const StoredNetwork& network, const ReadSourceWeight& read,
                                const SourcePurpose& purpose) {
  SourceNetwork source;
  source.inputs = network.chain.inputs();
  const ColumnScaling& inputs = network.training.normalizer.inputs;
  const std::int64_t points = inputs.identity() ? 1 : points_of(inputs, source.inputs);
  const bool is_of_points = purpose.takes_columns && points > 1;
  if (!inputs.identity())
    source.operations.push_back(
        {"inputs", 0, source.inputs,
         is_of_points ? SourceScaling{inputs.shift, inputs.scale}
                      : SourceScaling{repeated(inputs.shift, points), repeated(inputs.scale, points)},
         is_of_points ? points : 1});
  const std::size_t outputs = append_blocks(source, network, read, source.operations.size(), purpose);
  require_vectors(source, network, purpose);
  require_outputs(network, purpose);
  source.operations.resize(outputs);  // later ones contribute nothing
  append_meaning(source, network, outputs);
  if (source.operations.empty()) {  // outputs are the inputs
    const auto width = static_cast<std::size_t>(source.inputs);
    source.operations.push_back(
        {"outputs", 0, source.inputs,
         SourceUnits{std::vector<double>(width, 0.0), std::vector<double>(width, 1.0)}});
  }
  require_finite(source, network.path);
  return source;
}

}  // namespace mylos
