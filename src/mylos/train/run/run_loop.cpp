// The training loop.
#include "mylos/base/memory_is_host.hpp"
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
    run.write_checkpoint_if_due();
    while (!run.finished()) {
      run.step();
      run.after_step();
      run.evaluate_if_due();
      run.adapt_if_proposed();
      if (run.segment_is_over()) return std::nullopt;
      run.write_checkpoint_if_due();
    }
    return run.finish();
  } catch (...) {
    if (memory_is_host) run.keep_history();  // a device may be what does not respond
    throw;
  }
}

}  // namespace mylos
