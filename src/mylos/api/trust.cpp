// mylos_model_get_trust() to mylos_ensemble_destroy() of mylos.h.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "mylos/api/arrays.hpp"
#include "mylos/api/handles.hpp"
#include "mylos/api/last_error.hpp"
#include "mylos/api/library.hpp"
#include "mylos/api/model_values.hpp"
#include "mylos/api/same_abi.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/inference/ensemble.hpp"
#include "mylos/mylos.h"

namespace mylos::api {
namespace {

static_assert(input_flag::outside_range == MYLOS_OUTSIDE_RANGE && input_flag::far == MYLOS_FAR &&
              input_flag::not_finite == MYLOS_NOT_FINITE);

InputCheck check_of(const mylos_input_check* given) {
  if (given == nullptr) return {};
  return {.range = !flag_of(given->no_range, "no_range"),
          .distance = !flag_of(given->no_distance, "no_distance"),
          .limit = given->limit};
}

/// Returns the flags of the samples of `x`, one after the other. A sample is the last dimensions of `x`.
FlagArray flags_of(std::uint8_t* flags, const ConstArray& x, const std::vector<std::int64_t>& shape) {
  const auto dimensions = static_cast<int>(shape.size());
  const auto end = x.extents.begin() + x.rank;
  const bool is_whole = dimensions <= x.rank && std::equal(shape.begin(), shape.end(), end - dimensions);
  const int leading = x.rank - (is_whole ? dimensions : 1);
  FlagArray array{.data = flags, .rank = std::max(leading, 1), .on_device = x.on_device};
  array.extents[0] = array.strides[0] = 1;  // of one sample
  std::int64_t stride = 1;
  for (int d = leading; d-- > 0;) {
    const auto i = static_cast<std::size_t>(d);
    array.extents[i] = x.extents[i];
    array.strides[i] = stride;
    stride *= std::max<std::int64_t>(x.extents[i], 1);
  }
  return array;
}

void check_inputs(Model& model, const Execution& exec, const mylos_const_array* x,
                  const mylos_input_check* check, std::uint8_t* flags, const mylos_array* distances) {
  const ConstArray inputs = elements_of(x, "x");
  const FlagArray written = flags_of(flags, inputs, model.input_shape());
  if (distances == nullptr) return model.check_inputs(exec, inputs, written, nullptr, check_of(check));
  const Array far = elements_of(distances, "distances");
  model.check_inputs(exec, inputs, written, &far, check_of(check));
}

std::vector<std::string> paths_of(const char* const* paths, std::int32_t count, const char* call) {
  require_pointer(paths, call, "the list of paths");
  if (count < 0) fail_input(errors::bad_call, "{}: {} files", call, count);
  std::vector<std::string> all;
  for (std::int32_t i = 0; i < count; ++i) {
    require_pointer(paths[i], call, "a path");
    all.emplace_back(paths[i]);
  }
  return all;
}

mylos_trust_info trust_of(const Model& model) {
  const InputStatistics& known = model.input_statistics();
  mylos_trust_info info{};
  info.has_range = known.has_range() ? 1 : 0;
  info.has_distance = known.has_distance() ? 1 : 0;
  info.has_deviations = model.has_deviations() ? 1 : 0;
  info.coverage = model.coverage();
  info.samples = known.samples;
  std::copy(known.distances.begin(), known.distances.end(), info.distances);
  return info;
}

void open_ensemble(std::int32_t abi, const char* const* paths, std::int32_t count,
                   const mylos_load_options* options, bool derivatives, mylos_ensemble** ensemble) {
  require_pointer(ensemble, "mylos_ensemble_open", "the address of the handle");
  *ensemble = nullptr;
  require_same_abi(abi);
  const std::vector<std::string> files = paths_of(paths, count, "mylos_ensemble_open");
  LoadOptions load = load_options_of(options);
  load.derivatives = derivatives;
  library().start(0);
  const OwnThreads threads;
  *ensemble = library().add(std::make_unique<mylos_ensemble>(Ensemble(files, load)));
}

}  // namespace
}  // namespace mylos::api

using namespace mylos::api;  // NOLINT: this file is the C interface

std::int32_t mylos_model_get_trust(const mylos_model* model, mylos_trust_info* info) {
  return status_of([&] {
    require_pointer(info, "mylos_model_get_trust", "info");
    *info = trust_of(*library().get(model, "mylos_model_get_trust").model);
  });
}

std::int32_t mylos_model_check_inputs(const mylos_model* model, const mylos_const_array* x,
                                      const mylos_input_check* check, std::uint8_t* flags,
                                      const mylos_array* distances) {
  return status_of([&] {
    const InUse handle = library().use(model, "mylos_model_check_inputs");
    const OwnThreads threads;
    check_inputs(*handle->model, *handle->execution, x, check, flags, distances);
  });
}

std::int32_t mylos_model_infer_uncertain(const mylos_model* model, const mylos_const_array* x,
                                         const mylos_array* mean, const mylos_array* deviation,
                                         const mylos_array* lower, const mylos_array* upper) {
  return status_of([&] {
    const InUse handle = library().use(model, "mylos_model_infer_uncertain");
    const mylos::ConstArray inputs = elements_of(x, "x");
    mylos::UncertainArrays arrays{.mean = elements_of(mean, "mean")};
    if (deviation != nullptr) arrays.deviation = elements_of(deviation, "deviation");
    if (lower != nullptr) arrays.lower = elements_of(lower, "lower");
    if (upper != nullptr) arrays.upper = elements_of(upper, "upper");
    const OwnThreads threads;
    handle->model->infer_uncertain(*handle->execution, inputs, arrays);
  });
}

std::int32_t mylos_ensemble_open(std::int32_t abi, const char* const* paths, std::int32_t count,
                                 const mylos_load_options* options, mylos_ensemble** ensemble) {
  return status_of([&] { open_ensemble(abi, paths, count, options, false, ensemble); });
}

std::int32_t mylos_ensemble_open_with_derivatives(std::int32_t abi, const char* const* paths,
                                                  std::int32_t count, const mylos_load_options* options,
                                                  mylos_ensemble** ensemble) {
  return status_of([&] { open_ensemble(abi, paths, count, options, true, ensemble); });
}

std::int32_t mylos_ensemble_memory_of(const char* const* paths, std::int32_t count,
                                      const mylos_load_options* options, mylos_bytes* bytes) {
  return status_of([&] {
    require_pointer(bytes, "mylos_ensemble_memory_of", "bytes");
    const std::vector<std::string> files = paths_of(paths, count, "mylos_ensemble_memory_of");
    const mylos::LoadOptions load = load_options_of(options);
    library().start(0);
    const OwnThreads threads;
    *bytes = bytes_of(mylos::Ensemble::memory_of(files, load));
  });
}

std::int32_t mylos_ensemble_clone(const mylos_ensemble* ensemble, mylos_ensemble** clone) {
  return status_of([&] {
    require_pointer(clone, "mylos_ensemble_clone", "the address of the clone");
    *clone = nullptr;
    const mylos_ensemble& handle = library().get(ensemble, "mylos_ensemble_clone");
    const OwnThreads threads;
    *clone = library().add(std::make_unique<mylos_ensemble>(handle.ensemble->clone()));
  });
}

std::int32_t mylos_ensemble_get_info(const mylos_ensemble* ensemble, mylos_model_info* info) {
  return status_of([&] {
    require_pointer(info, "mylos_ensemble_get_info", "info");
    const mylos::Ensemble& all = *library().get(ensemble, "mylos_ensemble_get_info").ensemble;
    *info = info_of(all.member(0));
    info->bytes = bytes_of(all.bytes());
  });
}

std::int32_t mylos_ensemble_infer(mylos_ensemble* ensemble, const mylos_const_array* x,
                                  const mylos_array* mean, const mylos_array* deviation, std::int32_t units) {
  return status_of([&] {
    const InUse handle = library().use(ensemble, "mylos_ensemble_infer");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::Array means = elements_of(mean, "mean");
    const mylos::Array deviations = elements_of(deviation, "deviation");
    const OwnThreads threads;
    handle->ensemble->infer(*handle->execution, inputs, means, deviations,
                            units_of(units, "mylos_ensemble_infer"));
  });
}

std::int32_t mylos_ensemble_vjp(mylos_ensemble* ensemble, const mylos_const_array* x,
                                const mylos_const_array* dy, const mylos_array* dx, std::int32_t units) {
  return status_of([&] {
    const InUse handle = library().use(ensemble, "mylos_ensemble_vjp");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::ConstArray seeds = elements_of(dy, "dy");
    const mylos::Array derivatives = elements_of(dx, "dx");
    const OwnThreads threads;
    handle->ensemble->vjp(*handle->execution, inputs, seeds, derivatives,
                          units_of(units, "mylos_ensemble_vjp"));
  });
}

std::int32_t mylos_ensemble_jvp(mylos_ensemble* ensemble, const mylos_const_array* x,
                                const mylos_const_array* dx, const mylos_array* dy, std::int32_t units) {
  return status_of([&] {
    const InUse handle = library().use(ensemble, "mylos_ensemble_jvp");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::ConstArray direction = elements_of(dx, "dx");
    const mylos::Array derivatives = elements_of(dy, "dy");
    const OwnThreads threads;
    handle->ensemble->jvp(*handle->execution, inputs, direction, derivatives,
                          units_of(units, "mylos_ensemble_jvp"));
  });
}

std::int32_t mylos_ensemble_jacobian(mylos_ensemble* ensemble, const mylos_const_array* x,
                                     const mylos_array* j, std::int32_t units) {
  return status_of([&] {
    const InUse handle = library().use(ensemble, "mylos_ensemble_jacobian");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::Array derivatives = elements_of(j, "j");
    const OwnThreads threads;
    handle->ensemble->jacobian(*handle->execution, inputs, derivatives,
                               units_of(units, "mylos_ensemble_jacobian"));
  });
}

std::int32_t mylos_ensemble_check_inputs(mylos_ensemble* ensemble, std::int32_t member,
                                         const mylos_const_array* x, const mylos_input_check* check,
                                         std::uint8_t* flags, const mylos_array* distances) {
  return status_of([&] {
    const InUse handle = library().use(ensemble, "mylos_ensemble_check_inputs");
    if (member < 0)
      mylos::fail_input(mylos::errors::bad_call, "member {} of an ensemble of {}, counted from 0", member,
                        handle->ensemble->size());
    const OwnThreads threads;
    check_inputs(handle->ensemble->member(static_cast<std::size_t>(member)), *handle->execution, x, check,
                 flags, distances);
  });
}

std::int32_t mylos_ensemble_destroy(mylos_ensemble* ensemble) {
  return status_of([&] { library().remove(ensemble, "mylos_ensemble_destroy"); });
}
