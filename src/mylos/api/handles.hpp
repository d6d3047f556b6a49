// What the handles of mylos.h point to.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "mylos/api/arrays.hpp"
#include "mylos/api/library.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/inference/ensemble.hpp"
#include "mylos/inference/model.hpp"
#include "mylos/mylos.h"
#include "mylos/train/online_trainer.hpp"

struct mylos_model final : mylos::api::Handle {
  explicit mylos_model(mylos::Model loaded) : Handle(loaded.threads()), model(std::move(loaded)) {}
  void close() noexcept override {
    model.reset();
    execution.reset();
  }
  [[nodiscard]] bool of_mpi() const noexcept override { return false; }

  std::optional<mylos::Model> model;
  std::optional<mylos::Execution> execution{std::in_place};  // made outside of parallel regions
};

struct mylos_ensemble final : mylos::api::Handle {
  explicit mylos_ensemble(mylos::Ensemble loaded) : ensemble(std::move(loaded)) {}
  void close() noexcept override {
    ensemble.reset();
    execution.reset();
  }
  [[nodiscard]] bool of_mpi() const noexcept override { return false; }

  std::optional<mylos::Ensemble> ensemble;
  std::optional<mylos::Execution> execution{std::in_place};
};

struct mylos_trainer final : mylos::api::Handle {
  explicit mylos_trainer(mylos::OnlineTrainer made) : trainer(std::move(made)) {}
  void close() noexcept override {
    x = y = dx = mylos::api::Rows();
    labels = mylos::api::Labels();
    parameters.clear();
    trainer.reset();
  }
  [[nodiscard]] bool of_mpi() const noexcept override { return true; }

  std::optional<mylos::OnlineTrainer> trainer;  // nothing once MPI has ended
  std::vector<mylos::NetworkParameter> parameters = trainer->parameters();
  std::int64_t inputs = trainer->inputs();  // values of a sample, or of this rank's box of it
  std::int64_t outputs = trainer->outputs();
  mylos::api::Rows x;  // of inputs, until backward()
  mylos::api::Rows y;  // of targets, outputs and dy
  mylos::api::Rows dx;
  mylos::api::Labels labels;
};

namespace mylos::api {

inline void require_alive(const mylos_trainer& handle, const char* call) {
  if (!handle.trainer)
    fail_run(errors::bad_call, "{}: the trainer ended with MPI; call it before MPI_Finalize", call);
}

/// Returns what a call that changes nothing reads. Throws Error as Library::get(), and after MPI's end.
inline const mylos_trainer& trainer_of(const mylos_trainer* pointer, const char* call) {
  const mylos_trainer& handle = library().get(pointer, call);
  require_alive(handle, call);
  return handle;
}

/// Returns the trainer of a call that computes. Throws Error as Library::use(), after MPI's end, and inside a
/// parallel region.
inline InUse<mylos_trainer> use_trainer(const mylos_trainer* pointer, const char* call) {
  require_outside_parallel_region(call);
  InUse handle = library().use(pointer, call);
  require_alive(*handle, call);
  return handle;
}

}  // namespace mylos::api
