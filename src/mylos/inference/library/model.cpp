#include "mylos/inference/model.hpp"

#include <utility>

#include "mylos/base/device/same_kokkos.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/datasets.hpp"
#include "mylos/inference/library/call_of_thread.hpp"
#include "mylos/inference/library/derivative_arrays.hpp"
#include "mylos/inference/library/model_plan.hpp"

namespace mylos {
namespace {

/// Throws Error unless the file has what a check compares.
void require_known(const Model::Parts& parts, bool wants_distances, const InputCheck& check) {
  const InputStatistics& known = parts.shared->inputs.statistics;
  const std::string& path = parts.network().path;
  if (!(check.limit >= 0))
    fail_input(errors::bad_call, "check_inputs: the limit of distances is {}; it is positive, or 0",
               check.limit);
  if (!check.distance && (wants_distances || check.limit > 0))
    fail_input(errors::bad_call, "check_inputs: InputCheck::distance is false, but {}",
               wants_distances ? "distances are to be written" : "a limit of distances is given");
  if (check.range && !known.has_range()) {
    fail_input(
        errors::missing_dataset,
        "{}: does not know the range of its training inputs (/input_range), which earlier builds did not "
        "store and images of bytes have not; set InputCheck::range to false",
        path);
  }
  if (check.distance && !known.has_distance()) {
    const std::int64_t inputs = parts.chain().inputs();
    fail_input(
        errors::missing_dataset, "{}: has no statistics for distances of inputs (/inputs); {}", path,
        inputs > max_distance_inputs || parts.network().input_shape.size() > 1
            ? "they are of vectors alone: set InputCheck::distance to false"
            : "write it by `mylos export RUN MODEL.h5 --input-statistics`, or set InputCheck::distance "
              "to false");
  }
}

void require_deviations(const Model::Parts& parts) {
  if (parts.chain().has_deviations()) return;
  fail_input(errors::missing_dataset,
             "{}: has no standard deviations: its model.loss is \"{}\"; \"gaussian\" computes them",
             parts.network().path, parts.chain().loss().name);
}

/// Throws Error unless the file has what is to be written.
void require_uncertainty(const Model::Parts& parts, const UncertainArrays& wanted) {
  if (!wanted.deviation && !wanted.lower && !wanted.upper)
    fail_input(errors::bad_call, "infer_uncertain: neither deviations nor bounds are asked for; use infer()");
  if (wanted.deviation) require_deviations(parts);
  if (parts.network().calibration || (!wanted.lower && !wanted.upper)) return;
  fail_input(errors::missing_dataset,
             "{}: has no calibration, by which bounds are computed (/calibration); `mylos calibrate RUN` "
             "writes a model file with one",
             parts.network().path);
}

OutputDerivatives& derivatives_of(Model::Parts& parts, const char* call) {
  if (OutputDerivatives* const derivatives = parts.output_derivatives()) return *derivatives;
  fail_input(errors::bad_call,
             "{}: {} was loaded without derivatives; load it with LoadOptions::derivatives, in C by "
             "mylos_model_load_with_derivatives(), in Fortran with derivatives=.true.",
             call, parts.network().path);
}

}  // namespace

Model::Model(const std::string& path, const LoadOptions& options, const KokkosRuntime& kokkos) {
  require_same_kokkos("Model", kokkos);
  require_kokkos("Model");
  ModelPlan plan(path, options);
  require_free_memory(path, plan.bytes.all.total());
  workspaces_ = load_workspaces(plan);
}

Model::Model(std::unique_ptr<Workspaces> workspaces) : workspaces_(std::move(workspaces)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

const Model::Parts& Model::parts() const {
  return workspaces_->first();
}

InferenceBytes Model::memory_of(const std::string& path, const LoadOptions& options) {
  require_kokkos("Model::memory_of");
  return ModelPlan(path, options).bytes.all;
}

Model Model::clone() const {
  require_kokkos("Model::clone");
  const StoredNetwork& network = parts().network();
  std::unique_ptr<EngineSet> engines = make_engines(usable_here(network.options.kernels));
  if (instructions_in_use() != parts().shared->instructions) {
    fail_run(errors::bad_call,
             "{} was loaded when kernels used {}, and they use {} now; load it again instead of cloning it",
             network.path, name_of(parts().shared->instructions), name_of(instructions_in_use()));
  }
  require_free_memory(network.path, workspaces_->bytes.of_clone);
  return Model(std::make_unique<Workspaces>(std::make_unique<Parts>(parts(), std::move(engines)), threads(),
                                            workspaces_->bytes));
}

void Model::infer(const Execution& exec, const ConstArray& x, const Array& y, Units units) const {
  run(exec, "Model::infer", x, {.mean = y}, units);
}

void Model::infer_uncertain(const Execution& exec, const ConstArray& x, const UncertainArrays& y) const {
  require_uncertainty(parts(), y);
  run(exec, "Model::infer_uncertain", x, y, Units::data);
}

void Model::run(const Execution& exec, const char* call, const ConstArray& x, const UncertainArrays& y,
                Units units) const {
  const CallOfThread thread(exec, *workspaces_, call);
  constexpr std::size_t count = 4;
  const auto address = [](const std::optional<Array>& array) { return array ? &*array : nullptr; };
  const Array* const given[count] = {&y.mean, address(y.deviation), address(y.lower), address(y.upper)};
  const char* const names[count] = {"y", "deviation", "lower", "upper"};
  ArraySamples in = samples_of(x, parts().inputs());
  std::optional<ArraySamples> out[count];
  for (std::size_t i = 0; i < count; ++i) {
    if (given[i] == nullptr) continue;
    out[i].emplace(samples_of(*given[i], parts().outputs(names[i])));
    match_samples(in, *out[i]);
    for (std::size_t before = 0; before < i; ++before) {
      if (out[before]) require_apart(*out[before], *out[i]);
    }
  }
  const auto wanted = [&](std::size_t i) { return out[i] ? &*out[i] : nullptr; };
  thread.parts().infer(thread.on(), in, *out[0], {.count = in.count}, units,
                       {wanted(1), wanted(2), wanted(3)});
}

void Model::vjp(const Execution& exec, const ConstArray& x, const ConstArray& dy, const Array& dx,
                Units units) const {
  const CallOfThread call(exec, *workspaces_, "Model::vjp");
  OutputDerivatives& derivatives = derivatives_of(call.parts(), "Model::vjp");
  const DerivativeArrays arrays = vjp_arrays(call.parts().inputs(), call.parts().outputs(), x, dy, dx);
  derivatives.vjp(call.on(), arrays.x, arrays.from, arrays.to, arrays.span(), units);
}

void Model::jvp(const Execution& exec, const ConstArray& x, const ConstArray& dx, const Array& dy,
                Units units) const {
  const CallOfThread call(exec, *workspaces_, "Model::jvp");
  OutputDerivatives& derivatives = derivatives_of(call.parts(), "Model::jvp");
  if (!in_double()) require_jacobian(call.parts().chain(), "Model::jvp", call.parts().network().path);
  const DerivativeArrays arrays = jvp_arrays(call.parts().inputs(), call.parts().outputs(), x, dx, dy);
  derivatives.jvp(call.on(), arrays.x, arrays.from, arrays.to, arrays.span(), units);
}

void Model::jacobian(const Execution& exec, const ConstArray& x, const Array& j, Units units) const {
  const CallOfThread call(exec, *workspaces_, "Model::jacobian");
  OutputDerivatives& derivatives = derivatives_of(call.parts(), "Model::jacobian");
  require_jacobian(call.parts().chain(), "Model::jacobian", call.parts().network().path);
  const DerivativeArrays arrays = jacobian_arrays(call.parts().inputs(), call.parts().outputs(), x, j);
  derivatives.jacobian(call.on(), arrays.x, arrays.to, arrays.span(), units);
}

bool Model::has_deviations() const {
  return parts().chain().has_deviations();
}
double Model::coverage() const {
  const auto& calibration = parts().network().calibration;
  return calibration ? calibration->coverage : 0;
}

void Model::check_inputs(const Execution& exec, const ConstArray& x, const FlagArray& flags,
                         const Array* distances, const InputCheck& check) const {
  const CallOfThread call(exec, *workspaces_, "Model::check_inputs");
  require_known(parts(), distances != nullptr, check);
  ArraySamples in = samples_of(x, parts().inputs());
  ArraySamples out = numbers_of(flags, "flags");
  match_samples(in, out);
  if (distances == nullptr) return call.parts().check(call.on(), in, out, nullptr, check);
  ArraySamples far = numbers_of(*distances, "distances");
  match_samples(in, far);
  require_apart(out, far);
  call.parts().check(call.on(), in, out, &far, check);
}

const InputStatistics& Model::input_statistics() const {
  return parts().shared->inputs.statistics;
}

std::int64_t Model::inputs() const {
  return parts().chain().inputs();
}
std::int64_t Model::outputs() const {
  return parts().chain().outputs();
}
const std::vector<std::int64_t>& Model::input_shape() const {
  return parts().network().input_shape;
}
const std::vector<std::int64_t>& Model::output_shape() const {
  return parts().network().output_shape;
}
const std::vector<std::string>& Model::input_names() const {
  return parts().network().samples.input_names;
}
const std::vector<std::string>& Model::target_names() const {
  return parts().network().samples.target_names;
}
const std::vector<std::string>& Model::class_names() const {
  return parts().network().samples.class_names;
}
std::int64_t Model::step() const {
  return parts().network().step;
}
DType Model::type() const {
  return parts().chain().signature(0).compute_type;
}
std::int64_t Model::samples_per_piece() const {
  return parts().samples;
}
bool Model::in_double() const {
  return parts().in_double != nullptr;
}
int Model::threads() const {
  return static_cast<int>(workspaces_->all.size());
}
InferenceBytes Model::bytes() const {
  return workspaces_->bytes.all;
}

}  // namespace mylos
