// The components of an OnlineTrainer.
#pragma once

#include <optional>
#include <string>

#include "mylos/train/history/history.hpp"
#include "mylos/train/online/view_batch.hpp"
#include "mylos/train/online_trainer.hpp"
#include "mylos/train/plan/assembly.hpp"

namespace mylos {

struct OnlineTrainer::Parts {
  Parts(const Options& given, MPI_Comm ranks, const std::function<void(const std::string&)>& message);

  StepReport step();
  /// Throws Error (bad_input) if all ranks together have fewer samples than a layer needs that normalises
  /// over the samples of all ranks. All ranks must call it.
  void require_enough_samples();
  /// Selects the GEMM engines that a checkpoint names, if they are available.
  void continue_with_engines(const ProductEngines& before, const std::string& path);
  [[noreturn]] void throw_cause(StepState state);
  /// Adds the steps up to `last` to the history, if the trainer still has their records.
  void record_steps(std::uint64_t last);

  std::function<void(const std::string&)> line;  // prints a message of the program, on rank 0
  std::string deck;                              // the deck that checkpoints contain
  Assembly assembly;                             // its network makes every step a full one
  std::int64_t max_samples = 0;
  SampleNeeds needs;
  std::optional<ViewBatch> batch;
  std::optional<Error> diverged;

  std::int64_t consumed = 0;   // samples of all steps, including earlier starts
  History history{""};         // all steps, without a file
  std::uint64_t recorded = 0;  // last step in the history
};

}  // namespace mylos
