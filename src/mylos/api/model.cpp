// mylos_initialize() to mylos_model_destroy() of mylos.h.
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
#include "mylos/base/version.hpp"
#include "mylos/inference/model.hpp"
#include "mylos/mylos.h"

namespace mylos::api {
namespace {

std::vector<std::int64_t> shape_of(const char* call, std::int32_t rank, const std::int64_t* shape) {
  require_pointer(shape, call, "the shape");
  if (rank < 2 || rank > MYLOS_MAX_RANK)
    fail_input(errors::bad_call, "{}: rank is {}; a grid has 1 to 3 extents and channels", call, rank);
  return {shape, shape + rank};
}

const std::vector<std::string>& names_of(const Model& model, std::int32_t names) {
  switch (names) {
    case MYLOS_INPUT_NAMES:
      return model.input_names();
    case MYLOS_TARGET_NAMES:
      return model.target_names();
    case MYLOS_CLASS_NAMES:
      return model.class_names();
    default:
      fail_input(errors::bad_call, "mylos_model_name: {} is no mylos_names", names);
  }
}

/// Opens the model with the options that `options` returns.
template <class OptionsOf>
void open_model(std::int32_t abi, const char* path, mylos_model** model, const OptionsOf& options) {
  require_pointer(model, "mylos_model_load", "the address of the handle");
  *model = nullptr;
  require_same_abi(abi);
  require_pointer(path, "mylos_model_load", "the path");
  const LoadOptions load = options();
  library().start(0);
  const OwnThreads threads;
  *model = library().add(std::make_unique<mylos_model>(Model(path, load)));
}

}  // namespace
}  // namespace mylos::api

using namespace mylos::api;  // NOLINT: this file is the C interface

std::int32_t mylos_abi_version() {
  return MYLOS_ABI_VERSION;
}

const char* mylos_version() {
  static const std::string version = mylos::code_version();
  return version.c_str();
}

const char* mylos_last_error() {
  return last_message();
}

const char* mylos_last_error_id() {
  return last_cause();
}

std::int32_t mylos_initialize_abi(std::int32_t abi, std::int32_t threads) {
  return status_of([&] {
    require_same_abi(abi);
    library().start(threads);
  });
}

std::int32_t mylos_finalize() {
  return status_of([] { library().finish(); });
}

std::int32_t mylos_model_open(std::int32_t abi, const char* path, const mylos_load_options* options,
                              mylos_model** model) {
  return status_of([&] { open_model(abi, path, model, [&] { return load_options_of(options); }); });
}

std::int32_t mylos_model_open_on_grid(std::int32_t abi, const char* path, const mylos_load_options* options,
                                      std::int32_t rank, const std::int64_t* shape, mylos_model** model) {
  return status_of([&] {
    open_model(abi, path, model, [&] {
      mylos::LoadOptions load = load_options_of(options);
      load.shape = shape_of("mylos_model_load_on_grid", rank, shape);
      return load;
    });
  });
}

std::int32_t mylos_model_open_with_derivatives(std::int32_t abi, const char* path,
                                               const mylos_load_options* options, std::int32_t rank,
                                               const std::int64_t* shape, mylos_model** model) {
  return status_of([&] {
    open_model(abi, path, model, [&] {
      mylos::LoadOptions load = load_options_of(options);
      if (rank != 0) load.shape = shape_of("mylos_model_open_with_derivatives", rank, shape);
      load.derivatives = true;
      return load;
    });
  });
}

std::int32_t mylos_model_open_in_double(std::int32_t abi, const char* path, const mylos_load_options* options,
                                        std::int32_t derivatives, std::int32_t rank,
                                        const std::int64_t* shape, mylos_model** model) {
  return status_of([&] {
    open_model(abi, path, model, [&] {
      mylos::LoadOptions load = load_options_of(options);
      if (rank != 0) load.shape = shape_of("mylos_model_open_in_double", rank, shape);
      load.derivatives = flag_of(derivatives, "derivatives");
      load.in_double = true;
      return load;
    });
  });
}

std::int32_t mylos_model_memory_of(const char* path, const mylos_load_options* options, mylos_bytes* bytes) {
  return status_of([&] {
    require_pointer(path, "mylos_model_memory_of", "the path");
    require_pointer(bytes, "mylos_model_memory_of", "bytes");
    const mylos::LoadOptions load = load_options_of(options);
    library().start(0);
    const OwnThreads threads;
    *bytes = bytes_of(mylos::Model::memory_of(path, load));
  });
}

std::int32_t mylos_model_clone(const mylos_model* model, mylos_model** clone) {
  return status_of([&] {
    require_pointer(clone, "mylos_model_clone", "the address of the clone");
    *clone = nullptr;
    const mylos_model& handle = library().get(model, "mylos_model_clone");
    const OwnThreads threads;
    *clone = library().add(std::make_unique<mylos_model>(handle.model->clone()));
  });
}

std::int32_t mylos_model_get_info(const mylos_model* model, mylos_model_info* info) {
  return status_of([&] {
    require_pointer(info, "mylos_model_get_info", "info");
    *info = info_of(*library().get(model, "mylos_model_get_info").model);
  });
}

const char* mylos_model_name(const mylos_model* model, std::int32_t names, std::int64_t index) {
  const char* name = nullptr;
  static_cast<void>(status_of([&] {
    const std::vector<std::string>& all = names_of(*library().get(model, "mylos_model_name").model, names);
    if (index >= 0 && index < static_cast<std::int64_t>(all.size()))
      name = all[static_cast<std::size_t>(index)].c_str();
  }));
  return name;
}

std::int32_t mylos_model_infer(const mylos_model* model, const mylos_const_array* x, const mylos_array* y,
                               std::int32_t units) {
  return status_of([&] {
    const InUse handle = library().use(model, "mylos_model_infer");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::Array outputs = elements_of(y, "y");
    const OwnThreads threads;
    handle->model->infer(*handle->execution, inputs, outputs, units_of(units, "mylos_model_infer"));
  });
}

std::int32_t mylos_model_vjp(const mylos_model* model, const mylos_const_array* x,
                             const mylos_const_array* dy, const mylos_array* dx, std::int32_t units) {
  return status_of([&] {
    const InUse handle = library().use(model, "mylos_model_vjp");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::ConstArray seeds = elements_of(dy, "dy");
    const mylos::Array derivatives = elements_of(dx, "dx");
    const OwnThreads threads;
    handle->model->vjp(*handle->execution, inputs, seeds, derivatives, units_of(units, "mylos_model_vjp"));
  });
}

std::int32_t mylos_model_jvp(const mylos_model* model, const mylos_const_array* x,
                             const mylos_const_array* dx, const mylos_array* dy, std::int32_t units) {
  return status_of([&] {
    const InUse handle = library().use(model, "mylos_model_jvp");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::ConstArray direction = elements_of(dx, "dx");
    const mylos::Array derivatives = elements_of(dy, "dy");
    const OwnThreads threads;
    handle->model->jvp(*handle->execution, inputs, direction, derivatives,
                       units_of(units, "mylos_model_jvp"));
  });
}

std::int32_t mylos_model_jacobian(const mylos_model* model, const mylos_const_array* x, const mylos_array* j,
                                  std::int32_t units) {
  return status_of([&] {
    const InUse handle = library().use(model, "mylos_model_jacobian");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::Array derivatives = elements_of(j, "j");
    const OwnThreads threads;
    handle->model->jacobian(*handle->execution, inputs, derivatives, units_of(units, "mylos_model_jacobian"));
  });
}

std::int32_t mylos_model_destroy(mylos_model* model) {
  return status_of([&] { library().remove(model, "mylos_model_destroy"); });
}
