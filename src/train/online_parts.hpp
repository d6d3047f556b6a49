// What an OnlineTrainer is made of.
#pragma once

#include <deque>
#include <optional>
#include <string>

#include "mylos/train/assembly.hpp"
#include "mylos/train/history.hpp"
#include "mylos/train/online_trainer.hpp"
#include "view_batch.hpp"

namespace mylos {

struct OnlineTrainer::Parts {
  Parts(const Options& given, MPI_Comm ranks, const std::function<void(const std::string&)>& message);

  StepReport step();
  /// As a checkpoint says that products were computed, as far as that is possible here.
  void go_on_with_engines(const ProductEngines& before, const std::string& path);
  [[noreturn]] void throw_cause(StepState state);
  /// The last rows up to `step` of the whole training, oldest first.
  [[nodiscard]] std::deque<HistoryRow> history(std::uint64_t step) const;

  std::function<void(const std::string&)> line;  // tells the program, on rank 0
  std::string deck;                              // what a checkpoint's says
  Assembly assembly;                             // its options: every step is a full one
  std::int64_t most_samples = 0;
  std::optional<ViewBatch> batch;
  std::optional<Error> diverged;

  std::int64_t consumed = 0;       // samples of all steps, those of earlier starts included
  std::deque<HistoryRow> earlier;  // rows of the checkpoint that was loaded
  std::uint64_t first_step = 0;    // of this start
};

}  // namespace mylos
