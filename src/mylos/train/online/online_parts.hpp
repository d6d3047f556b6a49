// What an OnlineTrainer is made of.
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
  /// All ranks. Throws Error (bad_input) where they have fewer samples than a layer needs that normalises
  /// over all of them.
  void require_enough_samples();
  /// As a checkpoint says that products were computed, as far as that is possible here.
  void go_on_with_engines(const ProductEngines& before, const std::string& path);
  [[noreturn]] void throw_cause(StepState state);
  /// Puts the steps up to `last` into the history, as far as the trainer still has their records.
  void record_steps(std::uint64_t last);

  std::function<void(const std::string&)> line;  // tells the program, on rank 0
  std::string deck;                              // what a checkpoint's says
  Assembly assembly;                             // its options: every step is a full one
  std::int64_t max_samples = 0;
  SampleNeeds needs;
  std::optional<ViewBatch> batch;
  std::optional<Error> diverged;

  std::int64_t consumed = 0;   // samples of all steps, those of earlier starts included
  History history{""};         // of all steps, without a file
  std::uint64_t recorded = 0;  // steps that it has
};

}  // namespace mylos
