// CallOfThread: what a call on a Model holds while it computes.
#pragma once

#include <optional>

#include "mylos/base/device/busy_flag.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/inference/library/model_parts.hpp"

namespace mylos {

/// A call on a model. It occupies a workspace, chooses the execution instance (that of the caller, or one of
/// a single thread inside a parallel region and for models of several calls), and limits libraries that use
/// OpenMP to that instance's threads while it lives.
class CallOfThread {
 public:
  /// `workspaces`: of the model. `call`: "Model::infer". Throws Error (bad_call) if as many
  /// calls run as the model has workspaces, in nested regions, and if `exec` has more threads than Kokkos was
  /// initialised with.
  CallOfThread(const Execution& exec, Model::Workspaces& workspaces, const char* call);
  [[nodiscard]] const Execution& on() const { return on_; }
  [[nodiscard]] Model::Parts& parts() const { return workspace_.parts; }

 private:
  struct Workspace {
    std::optional<BusyCall> counted;  // among the model's calls; ends after `busy`
    Model::Parts& parts;
    BusyCall busy;
  };
  static Workspace free_one(Model::Workspaces& workspaces, const char* call);

  Workspace workspace_;
  const Execution& on_;
  std::optional<ThreadLimit> limit_;
};

}  // namespace mylos
