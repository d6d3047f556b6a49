#include "mylos/model/source/source_constants.hpp"

#include <fmt/format.h>

#include "mylos/model/block/transpose.hpp"
#include "mylos/model/source/source_passes.hpp"

namespace mylos {
namespace {

std::vector<double> as_doubles(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

/// Adds the constants of one operation after the other.
class ConstantAdder {
 public:
  ConstantAdder(const SourceNetwork& network, const std::set<std::string>& reserved, SourcePlan& plan)
      : network_(network), names_(reserved), plan_(plan) {}

  /// Returns their names.
  std::vector<std::string> add_constants(const SourceOperation& operation) {
    added_.clear();
    layer_ = operation.layer;
    inputs_ = network_.width(operation.input) / operation.points;
    std::visit([this](const auto& kind) { add(kind); }, operation.kind);
    return added_;
  }

 private:
  void add(const SourceLinear& linear) {
    const auto outputs = static_cast<std::int64_t>(linear.bias.size());
    if (has_few_outputs(linear)) {
      put("weight", fmt::format("[{}][{}]", outputs, inputs_),
          as_doubles(transpose(linear.weight, inputs_, outputs)), false);
    } else {
      put("weight", fmt::format("[{}][{}]", inputs_, outputs), as_doubles(linear.weight), false);
    }
    put("bias", fmt::format("[{}]", outputs), as_doubles(linear.bias), false);
  }
  void add(const SourceNorm& norm) {
    put("weight", as_doubles(norm.weight));
    if (norm.type == NormType::rmsnorm) return;
    put("bias", norm.bias.empty() ? std::vector<double>(norm.weight.size(), 0.0) : as_doubles(norm.bias));
  }
  void add(const SourceBatchNorm& norm) {
    put("mean", norm.shift);
    put("scale", norm.scale);
    put("bias", norm.offset);
  }
  void add(const SourceAdd& sum) {
    if (!sum.factor.empty()) put("factor", as_doubles(sum.factor));
  }
  void add(const SourceScaling& scaling) { add_scaling(scaling.shift, scaling.scale); }
  void add(const SourceUnits& units) { add_scaling(units.shift, units.scale); }
  void add(const SourceGaussian& gaussian) { add_scaling(gaussian.shift, gaussian.scale); }
  void add(const SourceActivation& /*kind*/) {}
  void add(const SourceConcat& /*kind*/) {}
  void add(const SourceSoftmax& /*kind*/) {}
  void add(const SourceSigmoid& /*kind*/) {}
  void add(const SourceGather& /*kind*/) {}
  void add(const SourceMaxPool& /*kind*/) {}
  void add(const SourceAveragePool& /*kind*/) {}

  void add_scaling(const std::vector<double>& shift, const std::vector<double>& scale) {
    put("shift", fmt::format("[{}]", shift.size()), shift, true);
    put("scale", fmt::format("[{}]", scale.size()), scale, true);
  }
  void put(const char* part, std::vector<double> values) {
    const std::string shape = fmt::format("[{}]", values.size());
    put(part, shape, std::move(values), false);
  }
  void put(const char* part, const std::string& shape, std::vector<double> values, bool is_double) {
    std::string name = names_.add(layer_, part);
    added_.push_back(name);
    plan_.constants.push_back(
        {std::move(name), fmt::format("{}: {} {}", layer_, part, shape), is_double, std::move(values)});
  }

  const SourceNetwork& network_;
  SourceNames names_;
  SourcePlan& plan_;
  std::vector<std::string> added_;
  std::string layer_;
  std::int64_t inputs_ = 0;
};

}  // namespace

SourceConstants::SourceConstants(const SourceNetwork& network, const std::set<std::string>& reserved,
                                 SourcePlan& plan) {
  ConstantAdder adder(network, reserved, plan);
  for (const SourceOperation& operation : network.operations) of_.push_back(adder.add_constants(operation));
}

}  // namespace mylos
