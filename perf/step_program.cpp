#include "step_program.hpp"

#include <fmt/ranges.h>
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>

#include "commands.hpp"
#include "mylos/base/device/timing.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/plan/assembly.hpp"
#include "mylos/train/plan/calibration.hpp"
#include "mylos/train/step/trainer.hpp"
#include "step_breakdown.hpp"

namespace mylos {
namespace {

Chain chain_of(const Options& options) {
  return make_chain(options.model, options.precision, options.run.seed, false);
}

/// The number after `suffix` in a name; 0 if it has none.
std::int64_t number_behind(const std::string& name, const std::string& suffix) {
  const std::size_t position = name.find(suffix);
  return position == std::string::npos ? 0 : std::atoll(name.c_str() + position + suffix.size());
}

/// Plans with measured times.
MemoryPlan plan_of(const std::string& name, const Options& options, const Engines& engines) {
  const NetworkPlan network = plan_network(options, 0, 1);
  MemoryPlan result{state_memory({network, engines}), {}, 0};
  ChainCost& cost = result.statement.cost;
  result.plan = plan_of_list(cost, store_all(cost.blocks.size()));
  MemoryOptions memory;
  memory.every = number_behind(name, "-every-");
  memory.recompute = memory.every > 0 ? RecomputeMode::every : RecomputeMode::automatic;
  const std::int64_t saved_percent = number_behind(name, "-save-");
  if (memory.every == 0 && saved_percent == 0) return result;
  if (!name.ends_with("-model")) cost = calibrate(network, engines, result.statement, SIZE_MAX)->cost;
  const auto share = static_cast<double>(100 - saved_percent) / 100;
  const auto budget = static_cast<std::size_t>(share * static_cast<double>(result.plan.placement.bytes));
  std::optional<Plan> plan = make_plan(cost, memory.every > 0 ? SIZE_MAX : budget, memory);
  if (!plan)
    fail_input(errors::does_not_fit, "\"{}\" does not fit: {} of {} bytes", name,
               smallest_plan(cost).placement.bytes, budget);
  result.plan = *std::move(plan);
  return result;
}

/// The samples of a batch on this rank.
std::int64_t share_of(std::int64_t batch) {
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return make_step_plan(batch, 0, rank, ranks).own_samples;
}

class StepRun {
 public:
  StepRun(const std::string& name, const StepSubject& subject) {
    Options options = subject.options(name);
    if (const std::int64_t batch = number_behind(name, "-batch-"); batch > 0) options.data.batch = batch;
    if (const std::int64_t kib = number_behind(name, "-bucket-"); kib > 0)
      options.communication.bucket_bytes = kib << 10;
    if (name.find("-health") != std::string::npos) options.health.every = 1;
    if (name.find("-state") != std::string::npos) options.optimizer.shard = Shard::state;
    const bool alone = name.find("-alone") != std::string::npos;
    if (alone) options.data.batch = share_of(options.data.batch);
    parts_.communicator = make_communicator(alone ? MPI_COMM_SELF : MPI_COMM_WORLD, options.communication);
    parts_.engines = make_timed_engines();
    parts_.network = plan_network(options, parts_.communicator->rank(), parts_.communicator->size());
    batch_ = subject.batch(options, parts_.network.step.own_samples);
    parts_.memory = plan_of(name, options, *parts_.engines);
    assemble(parts_, 1 << 20);
  }

  void step() {
    parts_.trainer->step(*batch_, false);
    parts_.trainer->execution().fence();
  }
  void finish() { parts_.trainer->quiesce(); }
  /// Throws Error if steps were skipped: they would be too fast.
  void expect_no_skips() const {
    const StepState state = parts_.trainer->read_state();
    if (state.updates != state.step)
      fail_run(errors::not_finite, "{} of {} steps were skipped", state.step - state.updates, state.step);
  }
  [[nodiscard]] std::size_t activation_bytes() const { return parts_.trainer->model().activation_bytes(); }
  [[nodiscard]] const MemoryPlan& memory_plan() const { return parts_.memory; }

 private:
  Assembly parts_;
  std::unique_ptr<BatchSource> batch_;
};

class Program {
 public:
  explicit Program(const StepSubject& subject) : subject_(subject) {}

  void answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    std::string name;
    int count = 1;
    words >> command >> name >> count;
    if (command == "step") {
      fmt::print("{:.3f}\n", step(name, count));
    } else if (command == "floor") {
      const FloorTimes times = floor(name).measure();
      fmt::print("{:.3f} {:.3f} {:.3f} {:.3f}\n", times.total(), times.gemms, times.other, times.passes);
    } else if (command == "floor-detail") {
      floor(name).measure();
      fmt::print("{}", floor(name).describe());
    } else if (command == "breakdown") {
      print_breakdown(name, count);
    } else if (command == "memory") {
      const MemoryPlan& plan = run(name).memory_plan();
      fmt::print("{} {:.4f} {:.3f}\n", run(name).activation_bytes(), plan.overhead(), plan.step_time());
    } else {
      fail_input(errors::unknown_command,
                 "unknown command \"{}\"; there are step, floor, floor-detail, breakdown, memory", command);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  double step(const std::string& name, int count) {
    StepRun& chosen = run(name);
    const double time = median_milliseconds(2, count, [&] { chosen.step(); });
    chosen.finish();
    chosen.expect_no_skips();
    return time;
  }

  void print_breakdown(const std::string& name, int count) {
    step(name, count);
    Breakdown book;
    double total = 0;
    {
      const Booking booking(book);
      for (int i = 0; i < count; ++i) total += milliseconds([&] { run(name).step(); });
      run(name).finish();
    }
    double rest = total;
    for (const auto& [what, time] : book) {
      fmt::print("  {:32} {:8.3f} ms\n", what, time / count);
      rest -= time;
    }
    fmt::print("  {:32} {:8.3f} ms\n  {:32} {:8.3f} ms\n", "between them", rest / count, "step",
               total / count);
  }

  StepRun& run(const std::string& name) {
    auto& chosen = runs_[name];
    if (chosen == nullptr) chosen = std::make_unique<StepRun>(name, subject_);
    return *chosen;
  }
  StepFloor& floor(const std::string& name) {
    auto& chosen = floors_[name];
    if (chosen == nullptr) {
      StepWork work = subject_.work(type_of(name));
      work.weights = chain_of(subject_.options(name)).parameter_count();
      chosen = std::make_unique<StepFloor>(work);
    }
    return *chosen;
  }

  const StepSubject& subject_;
  std::map<std::string, std::unique_ptr<StepRun>> runs_;
  std::map<std::string, std::unique_ptr<StepFloor>> floors_;
};

}  // namespace

DType type_of(const std::string& name) {
  const std::string type = name.substr(0, name.find('-'));
  for (const DType known : {DType::fp32, DType::bf16, DType::fp16}) {
    if (type == name_of(known)) return known;
  }
  fail_input(errors::bad_argument, "\"{}\" is not one of fp32, bf16, fp16", name);
}

int answer_commands(const StepSubject& subject, const std::vector<std::string>& commands) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank != 0 && std::freopen("/dev/null", "w", stdout) == nullptr) return 1;  // the first rank answers
  try {
    Program program(subject);
    if (!commands.empty()) {
      program.answer(fmt::format("{}", fmt::join(commands, " ")));
    } else {
      while (const auto line = next_line()) program.answer(*line);
    }
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}

}  // namespace mylos
