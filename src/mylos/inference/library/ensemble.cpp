#include "mylos/inference/ensemble.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "mylos/base/device/same_kokkos.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/inference/ensemble/ensemble_meaning.hpp"
#include "mylos/inference/ensemble/member_moments.hpp"
#include "mylos/inference/library/call_of_thread.hpp"
#include "mylos/inference/library/ensemble_derivatives.hpp"
#include "mylos/inference/library/model_plan.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {

/// The sums of member_moments.hpp over the members so far, for every output of a piece.
struct OutputMoments {
  double* mean;
  double* squares;
  double* variances;  // null: members predict none
};

struct EnsembleTensors {
  EnsembleTensors(std::int64_t samples, const Chain& chain, void* memory) : pieces(memory) {
    const std::int64_t outputs = chain.outputs();
    values = pieces.take_tensor(DType::fp32, samples, outputs);
    moments.mean = pieces.take<double>(samples * outputs);
    moments.squares = pieces.take<double>(samples * outputs);
    if (!chain.has_deviations()) return;
    deviations = pieces.take_tensor(DType::fp32, samples, outputs);
    moments.variances = pieces.take<double>(samples * outputs);
  }

  Pieces pieces;
  Tensor values;      // of a member; then those of the ensemble
  Tensor deviations;  // of a member
  OutputMoments moments{};
};

namespace {

void add_member(const Execution& exec, const Tensor& values, std::size_t before,
                const OutputMoments& moments) {
  const float* const value = values.as<float>();
  const double count = static_cast<double>(before) + 1;
  for_each_element(
      exec, "add_member", values.size(), KOKKOS_LAMBDA(std::int64_t i) {
        if (before == 0) moments.mean[i] = moments.squares[i] = 0;
        add_member_value(static_cast<double>(value[i]), count, moments.mean[i], moments.squares[i]);
      });
}

void add_variances(const Execution& exec, const Tensor& deviations, std::size_t before,
                   const OutputMoments& moments) {
  const float* const deviation = deviations.as<float>();
  for_each_element(
      exec, "add_variances", deviations.size(), KOKKOS_LAMBDA(std::int64_t i) {
        if (before == 0) moments.variances[i] = 0;
        add_member_variance(static_cast<double>(deviation[i]), moments.variances[i]);
      });
}

void write_mean(const Execution& exec, const OutputMoments& moments, const Tensor& values) {
  auto* const value = values.as<float>();
  for_each_element(
      exec, "ensemble_mean", values.size(),
      KOKKOS_LAMBDA(std::int64_t i) { value[i] = static_cast<float>(moments.mean[i]); });
}

void write_deviation(const Execution& exec, const OutputMoments& moments, std::size_t members,
                     const Tensor& values) {
  auto* const value = values.as<float>();
  const auto count = static_cast<double>(members);
  for_each_element(
      exec, "ensemble_sd", values.size(), KOKKOS_LAMBDA(std::int64_t i) {
        const double squares = moments.squares[i];
        value[i] = static_cast<float>(moments.variances == nullptr
                                          ? deviation_of_members(squares, count)
                                          : deviation_of_mixture(squares, moments.variances[i], count));
      });
}

ArraySamples rows_of_kernels(const Tensor& rows) {
  ArraySamples array = array_of_rows(rows);
  array.on_device = !memory_is_host;
  return array;
}

void require_members(const std::vector<std::string>& paths) {
  if (paths.size() < 2) {
    fail_input(errors::bad_call, "an ensemble of {} file{}; a standard deviation needs two or more",
               paths.size(), paths.size() == 1 ? "" : "s");
  }
  if (const auto repeated = repeated_file(paths)) {
    fail_input(errors::bad_call, "{}: is named twice in an ensemble, which would count it twice",
               paths[*repeated]);
  }
}

/// A network's property by which members are compared, as text.
struct Property {
  const char* name;
  std::string (*of)(const StoredNetwork&);
};

std::string shape_text_of(const std::vector<std::int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}
std::string outputs_text_of(const StoredNetwork& network) {
  if (network.chain.has_deviations()) return "targets and their standard deviations";
  if (!network.chain.quantiles().empty()) return "quantiles of targets";
  return is_of_numbers(network.chain.prediction()) ? "targets" : "probabilities";
}

constexpr Property properties[] = {
    {"the shape of its inputs", [](const StoredNetwork& each) { return shape_text_of(each.input_shape); }},
    {"the shape of its outputs", [](const StoredNetwork& each) { return shape_text_of(each.output_shape); }},
    {"what it computes", outputs_text_of},
};

void require_same_task(const StoredNetwork& first, const StoredNetwork& other) {
  for (const Property& property : properties) {
    const std::string wanted = property.of(first);
    const std::string given = property.of(other);
    if (given == wanted) continue;
    fail_input(errors::model_mismatch, "{}: cannot be in an ensemble with {}: {}: {}, there {}", other.path,
               first.path, property.name, given, wanted);
  }
  require_same_names(first, other);
}

using MemberPlans = std::vector<std::unique_ptr<ModelPlan>>;

/// Opens every file, once, and compares the members.
MemberPlans open_members(const std::vector<std::string>& paths, const LoadOptions& options) {
  require_members(paths);
  if (options.threads != 1)
    fail_input(errors::bad_call,
               "LoadOptions::threads is {}, but one call at a time uses an ensemble; clone it",
               options.threads);
  if (options.in_double)
    fail_input(
        errors::bad_call,
        "LoadOptions::in_double is set, but an ensemble computes in float; load its members as models");
  MemberPlans plans;
  for (const std::string& path : paths) {
    plans.push_back(std::make_unique<ModelPlan>(path, options));
    require_same_task(plans.front()->network, plans.back()->network);
  }
  return plans;
}

void add_bytes(const InferenceBytes& part, InferenceBytes& to) {
  to.weights += part.weights;
  to.statistics += part.statistics;
  to.workspace += part.workspace;
}

InferenceBytes bytes_of(const MemberPlans& plans) {
  InferenceBytes bytes;
  std::int64_t piece = plans.front()->piece;
  for (const auto& plan : plans) {
    add_bytes(plan->bytes.all, bytes);
    piece = std::min(piece, plan->piece);
  }
  const Chain& chain = plans.front()->network.chain;
  bytes.workspace += EnsembleTensors(piece, chain, nullptr).pieces.bytes();
  if (plans.front()->options.derivatives) bytes.workspace += EnsembleDerivatives::memory_bytes(chain);
  return bytes;
}

}  // namespace

struct Ensemble::Parts {
  explicit Parts(std::vector<Model> its_members)
      : members(std::move(its_members)),
        piece(smallest_piece(members)),
        memory("ensemble", EnsembleTensors(piece, chain(), nullptr).pieces.bytes()),
        tensors(piece, chain(), memory.data()) {
    for (Model& member : members)
      member.workspaces_->first().busy = members.front().workspaces_->first().busy;
    if (members.front().parts().derivatives == nullptr) return;
    std::vector<OutputDerivatives*> each;
    for (Model& member : members) each.push_back(member.workspaces_->first().output_derivatives());
    derivatives = std::make_unique<EnsembleDerivatives>(std::move(each), chain());
  }

  [[nodiscard]] const Chain& chain() const { return members.front().parts().chain(); }
  static std::int64_t smallest_piece(const std::vector<Model>& members) {
    std::int64_t piece = members.front().samples_per_piece();
    for (const Model& member : members) piece = std::min(piece, member.samples_per_piece());
    return piece;
  }

  /// Throws Error if outputs in these units cannot be averaged.
  void require_same_scaling(Units units) const {
    if (units != Units::network) return;
    const StoredNetwork& first = members.front().parts().network();
    for (const Model& member : members) {
      const StoredNetwork& other = member.parts().network();
      if (other.training.normalizer == first.training.normalizer) continue;
      fail_input(
          errors::bad_call,
          "{} and {} were scaled in other ways, so that their outputs in Units::network cannot be averaged",
          first.path, other.path);
    }
  }
  /// Throws Error if they were not asked for.
  EnsembleDerivatives& derivatives_of(const char* call) const {
    if (derivatives) return *derivatives;
    fail_input(
        errors::bad_call,
        "{}: the ensemble was loaded without derivatives; load it with LoadOptions::derivatives, in C by "
        "mylos_ensemble_load_with_derivatives(), in Fortran with derivatives=.true.",
        call);
  }

  std::vector<Model> members;
  std::int64_t piece;  // in samples
  Arena memory;
  EnsembleTensors tensors;
  std::unique_ptr<EnsembleDerivatives> derivatives;  // null: not asked for
};

Ensemble::Ensemble(const std::vector<std::string>& paths, const LoadOptions& options,
                   const KokkosRuntime& kokkos) {
  require_same_kokkos("Ensemble", kokkos);
  require_kokkos("Ensemble");
  MemberPlans plans = open_members(paths, options);
  require_free_memory(paths.front(), bytes_of(plans).total());
  std::vector<Model> members;
  for (const auto& plan : plans) {
    members.push_back(Model(load_workspaces(*plan)));
  }
  parts_ = std::make_unique<Parts>(std::move(members));
}

Ensemble::Ensemble(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
Ensemble::~Ensemble() = default;
Ensemble::Ensemble(Ensemble&&) noexcept = default;
Ensemble& Ensemble::operator=(Ensemble&&) noexcept = default;

InferenceBytes Ensemble::memory_of(const std::vector<std::string>& paths, const LoadOptions& options) {
  require_kokkos("Ensemble::memory_of");
  return bytes_of(open_members(paths, options));
}

InferenceBytes Ensemble::bytes() const {
  InferenceBytes bytes;
  for (const Model& member : parts_->members) add_bytes(member.bytes(), bytes);
  bytes.workspace += parts_->memory.bytes();
  if (parts_->derivatives) bytes.workspace += EnsembleDerivatives::memory_bytes(parts_->chain());
  return bytes;
}

Ensemble Ensemble::clone() const {
  std::vector<Model> members;
  for (const Model& member : parts_->members) members.push_back(member.clone());
  return Ensemble(std::make_unique<Parts>(std::move(members)));
}

void Ensemble::infer(const Execution& exec, const ConstArray& x, const Array& mean, const Array& deviation,
                     Units units) {
  const CallOfThread call(exec, *parts_->members.front().workspaces_, "Ensemble::infer");
  Model::Parts& first = call.parts();
  parts_->require_same_scaling(units);
  ArraySamples in = samples_of(x, first.inputs());
  ArraySamples means = samples_of(mean, first.outputs("mean"));
  ArraySamples deviations = samples_of(deviation, first.outputs("deviation"));
  match_samples(in, means);
  match_samples(in, deviations);
  require_apart(means, deviations);
  for (std::int64_t from = 0; from < in.count; from += parts_->piece) {
    const std::int64_t count = std::min(parts_->piece, in.count - from);
    const Tensor values = parts_->tensors.values.row_range(0, count);
    const ArraySamples rows = rows_of_kernels(values);
    const bool has_deviations = parts_->chain().has_deviations();
    const Tensor deviation_rows = has_deviations ? parts_->tensors.deviations.row_range(0, count) : Tensor();
    const ArraySamples spread = has_deviations ? rows_of_kernels(deviation_rows) : ArraySamples();
    const OutputMoments& moments = parts_->tensors.moments;
    for (std::size_t i = 0; i < parts_->members.size(); ++i) {
      parts_->members[i].workspaces_->first().infer(call.on(), in, rows, {from, count, 0}, units,
                                                    {.deviation = has_deviations ? &spread : nullptr});
      add_member(call.on(), values, i, moments);
      if (has_deviations) add_variances(call.on(), deviation_rows, i, moments);
    }
    write_mean(call.on(), moments, values);
    first.staging.write(call.on(), values, {}, means, from);
    write_deviation(call.on(), moments, parts_->members.size(), values);
    first.staging.write(call.on(), values, {}, deviations, from);
  }
}

void Ensemble::vjp(const Execution& exec, const ConstArray& x, const ConstArray& dy, const Array& dx,
                   Units units) {
  const CallOfThread call(exec, *parts_->members.front().workspaces_, "Ensemble::vjp");
  EnsembleDerivatives& derivatives = parts_->derivatives_of("Ensemble::vjp");
  parts_->require_same_scaling(units);
  const DerivativeArrays arrays = vjp_arrays(call.parts().inputs(), call.parts().outputs(), x, dy, dx);
  derivatives.vjp(call.on(), arrays.x, arrays.from, arrays.to, arrays.span(), units);
}

void Ensemble::jvp(const Execution& exec, const ConstArray& x, const ConstArray& dx, const Array& dy,
                   Units units) {
  const CallOfThread call(exec, *parts_->members.front().workspaces_, "Ensemble::jvp");
  EnsembleDerivatives& derivatives = parts_->derivatives_of("Ensemble::jvp");
  parts_->require_same_scaling(units);
  require_jacobian(call.parts().chain(), "Ensemble::jvp", call.parts().network().path);
  const DerivativeArrays arrays = jvp_arrays(call.parts().inputs(), call.parts().outputs(), x, dx, dy);
  derivatives.jvp(call.on(), arrays.x, arrays.from, arrays.to, arrays.span(), units);
}

void Ensemble::jacobian(const Execution& exec, const ConstArray& x, const Array& j, Units units) {
  const CallOfThread call(exec, *parts_->members.front().workspaces_, "Ensemble::jacobian");
  EnsembleDerivatives& derivatives = parts_->derivatives_of("Ensemble::jacobian");
  parts_->require_same_scaling(units);
  require_jacobian(call.parts().chain(), "Ensemble::jacobian", call.parts().network().path);
  const DerivativeArrays arrays = jacobian_arrays(call.parts().inputs(), call.parts().outputs(), x, j);
  derivatives.jacobian(call.on(), arrays.x, arrays.to, arrays.span(), units);
}

std::size_t Ensemble::size() const {
  return parts_->members.size();
}
Model& Ensemble::member(std::size_t index) {
  if (index >= size())
    fail_input(errors::bad_call, "member {} of an ensemble of {}, counted from 0", index, size());
  return parts_->members[index];
}
const Model& Ensemble::member(std::size_t index) const {
  return const_cast<Ensemble*>(this)->member(index);
}

}  // namespace mylos
