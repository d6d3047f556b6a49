// mylos_trainer_get_parameter() to mylos_trainer_write_parameter() of mylos.h.
#include <Kokkos_Core.hpp>

#include "mylos/api/arrays.hpp"
#include "mylos/api/handles.hpp"
#include "mylos/api/last_error.hpp"
#include "mylos/api/library.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/mylos.h"
#include "mylos/train/online_trainer.hpp"

namespace mylos::api {
namespace {

using HostFloats = Kokkos::View<float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using ConstHostFloats =
    Kokkos::View<const float*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

/// What a null pointer or a negative count describe has no floats, which is refused on all ranks.
std::size_t count_of(const float* values, std::int64_t count) {
  return values == nullptr || count < 0 ? 0 : static_cast<std::size_t>(count);
}

}  // namespace
}  // namespace mylos::api

using namespace mylos::api;  // NOLINT: this file is the C interface

std::int32_t mylos_trainer_get_parameter(const mylos_trainer* trainer, std::int64_t index,
                                         mylos_parameter* parameter) {
  return status_of([&] {
    require_pointer(parameter, "mylos_trainer_get_parameter", "parameter");
    *parameter = {};
    const mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_get_parameter");
    const auto count = static_cast<std::int64_t>(handle.parameters.size());
    if (index < 0 || index >= count)
      mylos::fail_input(mylos::errors::bad_call, "mylos_trainer_get_parameter: index {}; the network has {}",
                        index, count);
    const mylos::NetworkParameter& found = handle.parameters[static_cast<std::size_t>(index)];
    *parameter = {found.name().c_str(), found.rows(), found.columns()};
  });
}

std::int32_t mylos_trainer_read_parameter(mylos_trainer* trainer, const char* name, float* values,
                                          std::int64_t count) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, "mylos_trainer_read_parameter");
    require_pointer(name, "mylos_trainer_read_parameter", "the name");
    const OwnThreads threads;
    handle->trainer->parameter(name).read(HostFloats(values, count_of(values, count)));
  });
}

std::int32_t mylos_trainer_read_gradient(mylos_trainer* trainer, const char* name, float* values,
                                         std::int64_t count) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, "mylos_trainer_read_gradient");
    require_pointer(name, "mylos_trainer_read_gradient", "the name");
    const OwnThreads threads;
    handle->trainer->parameter(name).read_gradient(HostFloats(values, count_of(values, count)));
  });
}

std::int32_t mylos_trainer_write_parameter(mylos_trainer* trainer, const char* name, const float* values,
                                           std::int64_t count) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, "mylos_trainer_write_parameter");
    require_pointer(name, "mylos_trainer_write_parameter", "the name");
    const OwnThreads threads;
    handle->trainer->parameter(name).write(ConstHostFloats(values, count_of(values, count)));
  });
}
