#include "mylos/inference/float64/float64_network.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/inference/source/source_network_of.hpp"

namespace mylos {
namespace {

using Constants = std::map<std::string, const double*>;

/// Calls each(rows, columns, name of the matrix) for the products with the rows of a matrix in derivatives.
template <class Each>
void for_each_row_product(const SourcePlan& plan, const Each& each) {
  for (const SourcePass* pass : {&plan.tangent, &plan.pullback}) {
    for (const SourceCall& call : pass->calls) {
      if (call.routine != float64::transposing_routine) continue;
      each(std::get<std::int64_t>(call.arguments[0]), std::get<std::int64_t>(call.arguments[1]),
           std::get<SourceConstantUse>(call.arguments[2]).name);
    }
  }
}

/// The numbers of these matrices, which are held transposed too: sums along the inputs are faster.
std::int64_t transposed_numbers(const SourcePlan& plan) {
  std::int64_t numbers = 0;
  for_each_row_product(plan, [&](std::int64_t rows, std::int64_t columns, const std::string& /*matrix*/) {
    numbers += rows * columns;
  });
  return numbers;
}

}  // namespace

Float64Network::Float64Network(const StoredNetwork& network, const ReadSourceWeight& read, bool derivatives)
    : inputs_(network.chain.inputs()),
      outputs_(network.chain.outputs()),
      has_deviations_(network.chain.has_deviations()),
      calibration_(network.calibration) {
  if (!network.chain.quantiles().empty()) {
    fail_input(errors::unsupported_feature,
               "{}: networks of model.loss = \"quantile\" cannot compute in double; load the model without "
               "LoadOptions::in_double",
               network.path);
  }
  const SourcePlan plan = plan_source(
      source_network_of(network, read,
                        {"compute in double", "load the model without LoadOptions::in_double", false}),
      {}, derivatives);
  constants_ = decltype(constants_)(Kokkos::view_alloc(Kokkos::WithoutInitializing, "constants in double"),
                                    static_cast<std::size_t>(plan.numbers() + transposed_numbers(plan)));
  Constants constants;
  double* next = constants_.data();
  for (const SourceConstant& constant : plan.constants) {
    constants[constant.name] = next;
    next = std::copy(constant.values.begin(), constant.values.end(), next);
    if (constant.is_double) scaling_bytes_ += constant.values.size() * sizeof(double);
  }
  places_.x = buffers_.add("x", plan.inputs);
  places_.y = buffers_.add("y", plan.outputs);
  if (calibration_) places_.bounds = buffers_.add("bounds", outputs_);
  forward_.emplace(plan.forward, constants, buffers_);
  if (!derivatives) return;
  buffers_.add("tape", plan.tape);
  places_.dx = buffers_.add("dx", plan.inputs);
  places_.dy = buffers_.add("dy", plan.outputs);
  buffers_.add("dtape", plan.tape);
  for_each_row_product(plan, [&](std::int64_t rows, std::int64_t columns, const std::string& matrix) {
    const double* const from = constants.at(matrix);
    constants[float64::transposed_name(matrix)] = next;
    for (std::int64_t c = 0; c < columns; ++c)
      for (std::int64_t r = 0; r < rows; ++r) *next++ = from[r * columns + c];
  });
  tape_.emplace(plan.tape_forward, constants, buffers_);
  tangent_.emplace(plan.tangent, constants, buffers_);
  pullback_.emplace(plan.pullback, constants, buffers_);
}

ReadSourceWeight Float64Network::zeros(const Chain& chain) {
  return [&chain](const std::string& path) {
    std::int64_t size = 0;
    for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
      for (const ParameterSpec& spec : chain.stage_parameters(stage))
        if (chain.stage_name(stage) + "/" + spec.name == path) size = spec.size();
    }
    for (const auto& block : chain.blocks) {
      for (const BufferSpec& spec : block->buffers())
        if (block->signature().name + "/" + spec.name == path) size = spec.size;
    }
    return std::vector<float>(static_cast<std::size_t>(size));
  };
}

/// In float, as doubles of the plan, and as those that the network holds.
std::size_t Float64Network::bytes_of_loading(const Chain& chain, bool derivatives) {
  std::int64_t weights = 0;
  for (std::size_t stage = 0; stage <= chain.blocks.size(); ++stage) {
    for (const ParameterSpec& spec : chain.stage_parameters(stage)) weights += spec.size();
  }
  return static_cast<std::size_t>(weights) * (sizeof(float) + (derivatives ? 3 : 2) * sizeof(double));
}

}  // namespace mylos
