// mylos_trainer_open() to mylos_trainer_destroy() of mylos.h.
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <functional>
#include <memory>
#include <string>

#include "mylos/api/arrays.hpp"
#include "mylos/api/handles.hpp"
#include "mylos/api/last_error.hpp"
#include "mylos/api/library.hpp"
#include "mylos/api/same_abi.hpp"
#include "mylos/base/error.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/mpi_running.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/mylos.h"
#include "mylos/train/online_trainer.hpp"

namespace mylos::api {
namespace {

mylos_trainer& trainer_of(const mylos_trainer* pointer, const char* call) {
  mylos_trainer& handle = library().get(pointer, call);
  if (!handle.trainer)
    fail_run(ErrorId::bad_call, "{}: the trainer ended with MPI; call it before MPI_Finalize", call);
  return handle;
}

MPI_Comm communicator_of(std::int32_t handle) {
  if (!mpi_is_running())
    fail_run(ErrorId::bad_call,
             "MPI is not running; a trainer must live between MPI_Init and MPI_Finalize, also on one rank");
  return MPI_Comm_f2c(static_cast<MPI_Fint>(handle));
}

/// All ranks of the communicator, which each have a deck, or all an Error.
Options options_on_all(MPI_Comm communicator, const char* deck, bool is_text) {
  if (communicator == MPI_COMM_NULL)
    fail_input(ErrorId::bad_call, "mylos_trainer_create: MPI_COMM_NULL: this rank does not train");
  RankGroup ranks(communicator, CommunicationOptions{}.timeout_s);
  Options options;
  run_on_all(ranks, [&] {
    require_pointer(deck, "mylos_trainer_create", "the deck");
    options = is_text ? read_deck(deck, "the deck", {}).options : read_deck(std::string(deck));
  });
  return options;
}

std::function<void(const std::string&)> message_of(const mylos_trainer_options* options) {
  if (options == nullptr || options->message == nullptr) return {};
  return [function = options->message, context = options->context](const std::string& text) {
    function(text.c_str(), context);
  };
}

OnlineOptions own_options_of(const mylos_trainer_options* options) {
  OnlineOptions own;
  if (options == nullptr) return own;
  own.input_gradients = options->input_gradients != 0;
  own.reduction = options->mean_loss != 0 ? LossReduction::mean : LossReduction::sum;
  return own;
}

std::unique_ptr<mylos_trainer> make_trainer(MPI_Comm communicator, const char* deck, bool is_text,
                                            const mylos_trainer_options* given) {
  const Options options = options_on_all(communicator, deck, is_text);
  return std::make_unique<mylos_trainer>(
      OnlineTrainer(options, communicator, own_options_of(given), message_of(given)), options.model.inputs,
      options.model.outputs);
}

void report(const StepReport& from, mylos_step_report* to) {
  if (to == nullptr) return;
  to->step = from.step;
  to->samples = from.samples;
  to->loss = from.loss;
  to->gradient_norm = from.gradient_norm;
  to->lr = from.lr;
  to->loss_scale = from.loss_scale;
  to->overflow_rank = from.overflow_rank;
  to->updated = from.updated ? 1 : 0;
}

/// Runs a collective step of rows that `prepare` makes of the caller's arrays. If this rank's arrays are
/// refused, it takes part with rows that the trainer refuses on all ranks, so that none waits.
template <class Prepare, class Step>
StepReport step_on_all(const Prepare& prepare, const Step& step) {
  try {
    prepare();
  } catch (const Error& refused) {
    const Error error = refused;
    try {
      step(false);
    } catch (const Error&) {  // says less than the first
    }
    throw Error(error);
  }
  return step(true);
}

/// A row without values.
SampleRows<const float> refused_rows() {
  static const float nothing = 0;
  return SampleRows<const float>(&nothing, 1, 0);
}

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

std::int32_t mylos_trainer_open(std::int32_t abi, const char* deck, std::int32_t deck_is_text,
                                std::int32_t communicator, const mylos_trainer_options* options,
                                mylos_trainer** trainer) {
  return status_of([&] {
    require_pointer(trainer, "mylos_trainer_create", "the address of the handle");
    *trainer = nullptr;
    require_same_abi(abi);
    const MPI_Comm ranks = communicator_of(communicator);
    library().start(0);
    library().end_trainers_with_mpi();
    const OwnThreads threads;
    *trainer = library().add(make_trainer(ranks, deck, deck_is_text != 0, options));
  });
}

std::int32_t mylos_trainer_get_info(const mylos_trainer* trainer, mylos_trainer_info* info) {
  return status_of([&] {
    require_pointer(info, "mylos_trainer_get_info", "info");
    const mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_get_info");
    *info = {};
    info->inputs = handle.inputs;
    info->outputs = handle.outputs;
    info->max_samples = handle.trainer->max_samples();
    info->parameters = static_cast<std::int64_t>(handle.parameters.size());
  });
}

std::int32_t mylos_trainer_step(mylos_trainer* trainer, const mylos_const_array* x,
                                const mylos_const_array* targets, mylos_step_report* step_report) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_step");
    const OwnThreads threads;
    mylos::SampleRows<const float> inputs = refused_rows();
    mylos::SampleRows<const float> outputs = refused_rows();
    report(
        step_on_all(
            [&] {
              inputs = handle.x.read(elements_of(x, "x"), handle.inputs);
              outputs = handle.y.read(elements_of(targets, "targets"), handle.outputs);
            },
            [&](bool accepted) { return handle.trainer->step(accepted ? inputs : refused_rows(), outputs); }),
        step_report);
  });
}

std::int32_t mylos_trainer_step_labels(mylos_trainer* trainer, const mylos_const_array* x,
                                       const std::int32_t* labels, mylos_step_report* step_report) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_step_labels");
    const OwnThreads threads;
    mylos::SampleRows<const float> inputs = refused_rows();
    report(step_on_all(
               [&] {
                 inputs = handle.x.read(elements_of(x, "x"), handle.inputs);
                 if (inputs.extent(0) > 0) require_pointer(labels, "mylos_trainer_step_labels", "labels");
               },
               [&](bool accepted) {
                 const std::size_t count = accepted ? inputs.extent(0) : 0;
                 return handle.trainer->step(accepted ? inputs : refused_rows(),
                                             handle.labels.copy(labels, count));
               }),
           step_report);
  });
}

std::int32_t mylos_trainer_forward(mylos_trainer* trainer, const mylos_const_array* x, const mylos_array* y) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_forward");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::Array outputs = elements_of(y, "y");
    const OwnThreads threads;
    handle.trainer->forward(handle.x.read(inputs, handle.inputs), handle.y.write(outputs, handle.outputs));
    handle.y.fetch(outputs);
  });
}

std::int32_t mylos_trainer_backward(mylos_trainer* trainer, const mylos_const_array* dy,
                                    const mylos_array* dx) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_backward");
    const mylos::ConstArray derivatives = elements_of(dy, "dy");
    const OwnThreads threads;
    if (dx == nullptr) {
      handle.trainer->backward(handle.y.read(derivatives, handle.outputs));
      return;
    }
    const mylos::Array adjoints = elements_of(dx, "dx");
    handle.trainer->backward(handle.y.read(derivatives, handle.outputs),
                             handle.dx.write(adjoints, handle.inputs));
    handle.dx.fetch(adjoints);
  });
}

std::int32_t mylos_trainer_apply(mylos_trainer* trainer, const mylos_apply_options* options,
                                 mylos_step_report* step_report) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_apply");
    mylos::ApplyOptions apply;
    if (options != nullptr && options->has_lr != 0) apply.lr = options->lr;
    if (options != nullptr && options->has_loss != 0) apply.loss = options->loss;
    const OwnThreads threads;
    report(handle.trainer->apply(apply), step_report);
  });
}

std::int32_t mylos_trainer_get_parameter(const mylos_trainer* trainer, std::int64_t index,
                                         mylos_parameter* parameter) {
  return status_of([&] {
    require_pointer(parameter, "mylos_trainer_get_parameter", "parameter");
    *parameter = {};
    const mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_get_parameter");
    const auto count = static_cast<std::int64_t>(handle.parameters.size());
    if (index < 0 || index >= count)
      mylos::fail_input(mylos::ErrorId::bad_call, "mylos_trainer_get_parameter: index {}; the network has {}",
                        index, count);
    const mylos::NetworkParameter& found = handle.parameters[static_cast<std::size_t>(index)];
    *parameter = {found.name().c_str(), found.rows(), found.columns()};
  });
}

std::int32_t mylos_trainer_read_parameter(mylos_trainer* trainer, const char* name, float* values,
                                          std::int64_t count) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_read_parameter");
    require_pointer(name, "mylos_trainer_read_parameter", "the name");
    const OwnThreads threads;
    handle.trainer->parameter(name).read(HostFloats(values, count_of(values, count)));
  });
}

std::int32_t mylos_trainer_write_parameter(mylos_trainer* trainer, const char* name, const float* values,
                                           std::int64_t count) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_write_parameter");
    require_pointer(name, "mylos_trainer_write_parameter", "the name");
    const OwnThreads threads;
    handle.trainer->parameter(name).write(ConstHostFloats(values, count_of(values, count)));
  });
}

std::int32_t mylos_trainer_infer(mylos_trainer* trainer, const mylos_const_array* x, const mylos_array* y) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_infer");
    const mylos::ConstArray inputs = elements_of(x, "x");
    const mylos::Array outputs = elements_of(y, "y");
    const OwnThreads threads;
    handle.trainer->infer(handle.x.read(inputs, handle.inputs), handle.y.write(outputs, handle.outputs));
    handle.y.fetch(outputs);
  });
}

std::int32_t mylos_trainer_save(mylos_trainer* trainer, const char* path) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_save");
    const OwnThreads threads;
    handle.trainer->save(path == nullptr ? "" : path);  // refused on all ranks
  });
}

std::int32_t mylos_trainer_load(mylos_trainer* trainer, const char* path) {
  return status_of([&] {
    mylos_trainer& handle = trainer_of(trainer, "mylos_trainer_load");
    const OwnThreads threads;
    handle.trainer->load(path == nullptr ? "" : path);
  });
}

std::int32_t mylos_trainer_destroy(mylos_trainer* trainer) {
  return status_of([&] { library().remove(trainer, "mylos_trainer_destroy"); });
}
