#include "mylos/train/run/components/run_context.hpp"

#include <fmt/format.h>

#include <utility>

#include "mylos/train/run/run_start.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

RunContext::RunContext(RunStart& start)
    : amendments(start.amendments),
      deck(start.deck),
      lock(std::move(start.lock)),
      data(std::move(start.data)),
      assembly(std::move(start.parts)),
      position{.epochs = data->epochs(),
               .total = start.steps,
               .max_of_start = start.request.stop_after,
               .stop_at = start.request.stop_at},
      log(start.request.output, file_of_first_rank("history.csv"), file_of_first_rank("events.jsonl"),
          position.total) {}

Quiesced RunContext::quiesce() {
  Quiesced quiet = trainer().quiesce();
  clock.count_steps(trainer().waits());
  return quiet;
}

double RunContext::seconds_per_step() const {
  const double training_s = clock.parts().training_s();
  return position.of_start() > 0 ? training_s / static_cast<double>(position.of_start()) : 0;
}

void RunContext::on_io_error(const Error& error) {
  if (options().checkpoint.on_error == OnError::go_on) {
    log.warn(fmt::format("{}; the run continues (checkpoint.on_error)", error.message()));
  } else {
    trainer().bring_error(error);
  }
}

void RunContext::end_segment(const std::string& checkpoint) {
  next = std::move(request);
  next->restart = checkpoint;
  next->plan_file.clear();  // the checkpoint's plan is used again
}

RunRequest RunContext::take_next_request() {
  next->earlier = EarlierSegment{.amendments = std::move(amendments),
                                 .events = log.events().all(),
                                 .lock = std::move(lock),
                                 .clock = clock,
                                 .first = position.first,
                                 .steps = position.of_start(),
                                 .skipped = log.skipped()};
  return *std::move(next);
}

}  // namespace mylos
