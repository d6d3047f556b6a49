// ModelPlan: what a model of a file takes, before it is taken, and the loading of it.
#pragma once

#include <memory>
#include <string>

#include "mylos/inference/library/model_parts.hpp"

namespace mylos {

/// A file, opened by this process alone, and what a model of it takes.
struct ModelPlan {
  /// Takes no memory of the model. Throws Error (bad_input).
  ModelPlan(const std::string& path, const LoadOptions& its_options);

  LoadOptions options;
  RankGroup ranks;
  CheckpointReader reader;
  StoredNetwork network;
  KnownInputs inputs;
  std::unique_ptr<EngineSet> engines;
  std::int64_t limit = 0;  // of the samples of a piece
  std::int64_t piece = 0;  // in samples
  ModelBytes bytes;

 private:
  void plan_own_types();
  void plan_double();
};

/// Takes the memory of the plan's workspaces, once, and reads the weights.
[[nodiscard]] std::unique_ptr<Model::Workspaces> load_workspaces(ModelPlan& plan);

/// Throws Error (bad_call) unless Kokkos runs and the caller is outside of parallel regions.
void require_kokkos(const char* call);
/// Throws Error (does_not_fit) if less memory is free.
void require_free_memory(const std::string& path, std::size_t bytes);

}  // namespace mylos
