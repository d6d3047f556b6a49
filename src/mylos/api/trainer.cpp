// mylos_trainer_open() to mylos_trainer_destroy() of mylos.h, apart from parameters.
#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "mylos/api/arrays.hpp"
#include "mylos/api/handles.hpp"
#include "mylos/api/last_error.hpp"
#include "mylos/api/library.hpp"
#include "mylos/api/same_abi.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/mpi_running.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/mylos.h"
#include "mylos/train/online_trainer.hpp"

namespace mylos::api {
namespace {

MPI_Comm communicator_of(std::int32_t handle) {
  if (!mpi_is_running())
    fail_run(errors::bad_call,
             "MPI is not running; a trainer must live between MPI_Init and MPI_Finalize, also on one rank");
  const MPI_Comm communicator = MPI_Comm_f2c(static_cast<MPI_Fint>(handle));
  if (communicator == MPI_COMM_NULL)
    fail_input(errors::bad_call, "mylos_trainer_create: MPI_COMM_NULL: this rank does not train");
  if (!is_communicator(communicator)) {
    fail_input(
        errors::bad_call,
        "mylos_trainer_create: {} is no communicator; give what MPI_Comm_c2f returns, or in Fortran the "
        "communicator itself",
        handle);
  }
  return communicator;
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
  own.input_gradients = flag_of(options->input_gradients, "input_gradients");
  own.reduction = flag_of(options->mean_loss, "mean_loss") ? LossReduction::mean : LossReduction::sum;
  return own;
}

struct GivenOptions {
  Options deck;
  OnlineOptions own;
};

/// All ranks of the communicator, which each have a deck, or all an Error.
GivenOptions options_on_all(MPI_Comm communicator, const char* deck, std::int32_t is_text,
                            const mylos_trainer_options* own) {
  RankGroup ranks(communicator, CommunicationOptions{}.timeout_s);
  GivenOptions given;
  run_on_all(ranks, [&] {
    require_pointer(deck, "mylos_trainer_create", "the deck");
    given.deck = flag_of(is_text, "deck_is_text") ? read_deck(deck, "the deck", {}).options
                                                  : read_deck(std::string(deck));
    given.own = own_options_of(own);
  });
  return given;
}

std::unique_ptr<mylos_trainer> make_trainer(MPI_Comm communicator, const char* deck, std::int32_t is_text,
                                            const mylos_trainer_options* own) {
  const GivenOptions given = options_on_all(communicator, deck, is_text, own);
  return std::make_unique<mylos_trainer>(OnlineTrainer(given.deck, communicator, given.own, message_of(own)));
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

/// Runs a call that may be collective with what `prepare` makes of the caller's arguments. If this rank's are
/// refused, call(false) takes part with others that the trainer refuses on all ranks, so that none waits.
template <class Prepare, class Call>
auto call_on_all(const Prepare& prepare, const Call& call) {
  try {
    prepare();
  } catch (const Error& refused) {
    const Error error = refused;
    try {
      call(false);
    } catch (const Error&) {  // says less than the first
    }
    throw Error(error);
  }
  return call(true);
}

/// A row without values.
SampleRows<const float> refused_rows() {
  static const float nothing = 0;
  return SampleRows<const float>(&nothing, 1, 0);
}

/// The same, to be written.
SampleRows<float> refused_outputs() {
  static float nothing = 0;
  return SampleRows<float>(&nothing, 1, 0);
}

/// Reads x and writes y: forward() and infer().
std::int32_t compute_outputs(mylos_trainer* trainer, const char* function, const mylos_const_array* x,
                             const mylos_array* y,
                             void (OnlineTrainer::*call)(const SampleRows<const float>&,
                                                         const SampleRows<float>&)) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, function);
    const OwnThreads threads;
    Array outputs;
    SampleRows<const float> inputs = refused_rows();
    SampleRows<float> written = refused_outputs();
    call_on_all(
        [&] {
          outputs = elements_of(y, "y");
          inputs = handle->x.read(elements_of(x, "x"), handle->inputs, "x");
          written = handle->y.write(outputs, handle->outputs, "y");
        },
        [&](bool accepted) { ((*handle->trainer).*call)(accepted ? inputs : refused_rows(), written); });
    handle->y.fetch(outputs);
  });
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
    *trainer = library().add(make_trainer(ranks, deck, deck_is_text, options));
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
    const InUse handle = use_trainer(trainer, "mylos_trainer_step");
    const OwnThreads threads;
    mylos::SampleRows<const float> inputs = refused_rows();
    mylos::SampleRows<const float> outputs = refused_rows();
    report(call_on_all(
               [&] {
                 inputs = handle->x.read(elements_of(x, "x"), handle->inputs, "x");
                 outputs = handle->y.read(elements_of(targets, "targets"), handle->outputs, "targets");
               },
               [&](bool accepted) {
                 return handle->trainer->step(accepted ? inputs : refused_rows(), outputs);
               }),
           step_report);
  });
}

std::int32_t mylos_trainer_step_labels(mylos_trainer* trainer, const mylos_const_array* x,
                                       const std::int32_t* labels, mylos_step_report* step_report) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, "mylos_trainer_step_labels");
    const OwnThreads threads;
    mylos::SampleRows<const float> inputs = refused_rows();
    report(call_on_all(
               [&] {
                 inputs = handle->x.read(elements_of(x, "x"), handle->inputs, "x");
                 if (inputs.extent(0) > 0) require_pointer(labels, "mylos_trainer_step_labels", "labels");
               },
               [&](bool accepted) {
                 const std::size_t count = accepted ? inputs.extent(0) : 0;
                 return handle->trainer->step(accepted ? inputs : refused_rows(),
                                              handle->labels.copy(labels, count));
               }),
           step_report);
  });
}

std::int32_t mylos_trainer_forward(mylos_trainer* trainer, const mylos_const_array* x, const mylos_array* y) {
  return compute_outputs(trainer, "mylos_trainer_forward", x, y, &mylos::OnlineTrainer::forward);
}

std::int32_t mylos_trainer_backward(mylos_trainer* trainer, const mylos_const_array* dy,
                                    const mylos_array* dx) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, "mylos_trainer_backward");
    const OwnThreads threads;
    mylos::Array adjoints;
    mylos::SampleRows<const float> derivatives = refused_rows();
    mylos::SampleRows<float> written = refused_outputs();
    call_on_all(
        [&] {
          derivatives = handle->y.read(elements_of(dy, "dy"), handle->outputs, "dy");
          if (dx == nullptr) return;
          adjoints = elements_of(dx, "dx");
          written = handle->dx.write(adjoints, handle->inputs, "dx");
        },
        [&](bool accepted) {
          if (!accepted || dx == nullptr)
            handle->trainer->backward(accepted ? derivatives : refused_rows());
          else
            handle->trainer->backward(derivatives, written);
        });
    if (dx != nullptr) handle->dx.fetch(adjoints);
  });
}

std::int32_t mylos_trainer_apply(mylos_trainer* trainer, const mylos_apply_options* options,
                                 mylos_step_report* step_report) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, "mylos_trainer_apply");
    mylos::ApplyOptions apply;
    const OwnThreads threads;
    report(call_on_all(
               [&] {
                 if (options == nullptr) return;
                 if (flag_of(options->has_lr, "has_lr")) apply.lr = options->lr;
                 if (flag_of(options->has_loss, "has_loss")) apply.loss = options->loss;
               },
               [&](bool accepted) {
                 if (!accepted) apply.lr = std::numeric_limits<double>::quiet_NaN();  // no rank takes it
                 return handle->trainer->apply(apply);
               }),
           step_report);
  });
}

std::int32_t mylos_trainer_infer(mylos_trainer* trainer, const mylos_const_array* x, const mylos_array* y) {
  return compute_outputs(trainer, "mylos_trainer_infer", x, y, &mylos::OnlineTrainer::infer);
}

std::int32_t mylos_trainer_save(mylos_trainer* trainer, const char* path) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, "mylos_trainer_save");
    const OwnThreads threads;
    handle->trainer->save(path == nullptr ? "" : path);  // refused on all ranks
  });
}

std::int32_t mylos_trainer_load(mylos_trainer* trainer, const char* path) {
  return status_of([&] {
    const InUse handle = use_trainer(trainer, "mylos_trainer_load");
    const OwnThreads threads;
    handle->trainer->load(path == nullptr ? "" : path);
  });
}

std::int32_t mylos_trainer_destroy(mylos_trainer* trainer) {
  return status_of([&] { library().remove(trainer, "mylos_trainer_destroy"); });
}
