// The training loop.
#include "mylos/base/execution.hpp"
#include "mylos/train/run/run.hpp"
#include "mylos/train/run/run_start.hpp"

namespace mylos {

ExitCode train(RunRequest request, MPI_Comm ranks, std::unique_ptr<Run>& run) {
  for (;;) {
    run = std::make_unique<Run>(RunStart(std::move(request), ranks));
    if (const std::optional<ExitCode> end = train(*run)) return *end;
    request = run->next_request();
    run.reset();
  }
}

std::optional<ExitCode> train(Run& run) {
  try {
    if (run.wants_checkpoint()) run.write_checkpoint();
    while (!run.finished()) {
      run.step();
      run.poll_step();
      if (!run.segment_is_over() && run.wants_evaluation()) run.evaluate();
      if (run.wants_adaptation()) run.adapt();
      if (run.segment_is_over()) return std::nullopt;
      if (run.wants_checkpoint()) run.write_checkpoint();
    }
    return run.finish();
  } catch (...) {
    if (memory_is_host) run.keep_history();  // a device may be what does not answer
    throw;
  }
}

}  // namespace mylos
