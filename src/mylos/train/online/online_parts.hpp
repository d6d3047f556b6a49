// The components of an OnlineTrainer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "mylos/base/device/busy_flag.hpp"
#include "mylos/base/device/parallel_region.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/train/history/history.hpp"
#include "mylos/train/online/float_rows.hpp"
#include "mylos/train/online/sample_group.hpp"
#include "mylos/train/online/view_batch.hpp"
#include "mylos/train/online_trainer.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

/// The calls that ranks make together if passes exchange statistics.
enum class OnlineCall : std::int32_t { step, forward, backward, apply };

struct OnlineParts {
  OnlineParts(const Options& given, MPI_Comm ranks, const OnlineOptions& own,
              const std::function<void(const std::string&)>& message);

  /// Begins a public call, or throws Error: inside a parallel region, or while another call runs.
  [[nodiscard]] BusyCall begin(const char* call) {
    require_outside_parallel_region(call);
    return {busy, call};
  }
  StepReport step();
  /// Brings an error to the step, and no samples, if the ranks that share samples cannot compute this step's.
  void refuse_batch_together();
  /// Does nothing unless passes exchange statistics. Otherwise all ranks must call it: throws Error
  /// (bad_input) if they make different calls, or have together fewer samples than a layer needs that
  /// normalises over the samples of all ranks. `samples`: of this rank in a pass; 0 if the call begins none.
  void agree_on_call(OnlineCall call, std::int64_t samples);
  /// Throws what `check` throws: on this rank, on the ranks that share its samples, or if passes exchange
  /// statistics on all ranks. `call`: "forward()", of `samples` samples.
  template <class Check>
  void check_arguments(std::string_view call, std::int64_t samples, const Check& check) {
    if (!exchanges && !sharing) return check();
    if (sharing) assembly.communicator->synchronize(assembly.trainer->execution());
    const auto check_together = [&] { sharing ? sharing->agree(call, samples, check) : check(); };
    if (!exchanges) return check_together();
    run_on_all(assembly.communicator->ranks(), check_together);
  }
  void forward(const SampleRows<const float>& x, const SampleRows<float>& y);
  void backward(const SampleRows<const float>& dy, const SampleRows<float>* dx);
  StepReport apply(const ApplyOptions& options);
  void infer(const SampleRows<const float>& inputs, const SampleRows<float>& predictions);
  /// Ends a step of step() or apply(): its report, or the Error that halted it.
  StepReport finish_step();
  /// Throws Error if ranks ended the step by different calls.
  void require_same_end();
  /// Selects the GEMM engines that a checkpoint names, if they are available.
  void continue_with_engines(const PlannedEngines& before, const std::string& path);
  [[noreturn]] void throw_cause(StepState state);
  /// Adds the steps up to `last` to the history, if the trainer still has their records.
  void record_steps(std::uint64_t last);

  BusyFlag busy;
  std::function<void(const std::string&)> line;  // prints a message of the program, on rank 0
  std::string deck;                              // the deck that checkpoints contain
  Assembly assembly;                             // its network makes every step a full one
  std::int64_t max_samples = 0;
  int boxes = 1;                       // ranks that share a sample
  int batch_ranks = 1;                 // groups of such ranks
  std::optional<SampleGroup> sharing;  // if ranks share samples: they compute only together
  SampleNeeds needs;
  std::optional<ViewBatch> batch;
  FloatRows float_x, float_y, float_dx;  // of calls with doubles
  std::optional<Error> diverged;
  OnlineOptions own;
  OwnLoss own_loss;
  bool exchanges = false;  // passes exchange statistics with other ranks
  bool infer_ended_forward = false;
  std::int64_t pass_samples = 0;    // of the last forward()
  std::uint64_t first_of_rank = 0;  // index of this rank's first sample in a pass of all ranks
  /// How this rank ended the last step.
  struct End {
    OnlineCall call = OnlineCall::step;
    std::int32_t has_lr = 0;
    double lr = 0;
  };
  End end;

  std::int64_t consumed = 0;   // samples of all steps, including earlier starts
  History history{""};         // all steps, without a file
  std::uint64_t recorded = 0;  // last step in the history
};

}  // namespace mylos
