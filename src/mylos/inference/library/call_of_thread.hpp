// CallOfThread: what a call on a Model holds while it computes.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "mylos/base/device/busy_flag.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/inference/library/model_parts.hpp"

namespace mylos {

/// A call on a model: a workspace that no other call uses meanwhile, and the calling thread's way to run: on
/// `exec`, or alone inside a parallel region and where several calls may run. Holds the number of threads.
class CallOfThread {
 public:
  /// `workspaces`: of the model, at least one. `call`: "Model::infer". Throws Error (bad_call) while calls
  /// run in all of them, in nested regions, and for an instance of more threads than Kokkos has.
  CallOfThread(const Execution& exec, std::span<const std::unique_ptr<Model::Parts>> workspaces,
               const char* call);
  [[nodiscard]] const Execution& on() const { return on_; }
  [[nodiscard]] Model::Parts& parts() const { return workspace_.parts; }

 private:
  struct Workspace {
    Model::Parts& parts;
    BusyCall busy;
  };
  static Workspace free_one(std::span<const std::unique_ptr<Model::Parts>> workspaces, const char* call);

  Workspace workspace_;
  const Execution& on_;
  std::optional<ThreadLimit> limit_;
};

}  // namespace mylos
