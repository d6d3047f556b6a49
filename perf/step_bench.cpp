// The whole training step of an MLP 784-2048-2048-10 at batch 512 with AdamW, on commands, so that another
// program can take turns with this one. No data are read: every step sees the same batch.
//
//   step NAME COUNT        median time of a step in ms; NAME: fp32, bf16, fp16, fp16-off (without the loss
//   scaler) floor TYPE             ms of: the floor, its products, its passes over memory floor-detail TYPE
//   the floor by product and engine breakdown NAME COUNT   where the time of a step goes
//
// A command comes as arguments, or one after the other on standard input; every answer ends with an empty
// line.
#include <fmt/core.h>
#include <mpi.h>

#include <iostream>
#include <map>
#include <sstream>

#include "mylos/base/random.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/train/trainer.hpp"
#include "step_floor.hpp"
#include "timing.hpp"

namespace mylos {
namespace {

constexpr std::int64_t batch = 512;
const std::vector<std::int64_t> widths = {784, 2048, 2048, 10};

class OneBatch final : public BatchSource {
 public:
  explicit OneBatch(DType type)
      : inputs_("inputs", static_cast<std::size_t>(batch * widths.front()) * size_of(type)),
        labels_("labels", static_cast<std::size_t>(batch)),
        type_(type) {
    const Arena floats("floats", static_cast<std::size_t>(batch * widths.front()) * sizeof(float));
    const Tensor values = floats.tensor(0, DType::fp32, batch, widths.front());
    const RandomStream stream(1, RandomPurpose::sampling, "inputs");
    for (std::int64_t i = 0; i < values.size(); ++i) {
      values.as<float>()[i] = 2 * uniform_from(stream.word(0, 0, static_cast<std::uint64_t>(i))) - 1;
    }
    convert(Execution{}, values, inputs());
    for (std::int64_t i = 0; i < batch; ++i) {
      labels_(static_cast<std::size_t>(i)) = static_cast<std::int32_t>(i % widths.back());
    }
  }
  MicroBatch next(const Execution&) override { return {inputs(), {.labels = labels_.data()}, 0}; }

 private:
  [[nodiscard]] Tensor inputs() const { return inputs_.tensor(0, type_, batch, widths.front()); }

  Arena inputs_;
  Kokkos::View<std::int32_t*, Kokkos::HostSpace> labels_;
  DType type_;
};

/// Milliseconds by what they went into, added up over steps.
using Breakdown = std::map<std::string, double>;

/// Passes products on and books their times.
class TimedGemm final : public GemmEngine {
 public:
  [[nodiscard]] std::string_view name() const override { return engine_->name(); }
  [[nodiscard]] std::size_t workspace_bytes(const GemmProblem& problem) const override {
    return engine_->workspace_bytes(problem);
  }
  void run(const Execution& exec, const GemmProblem& problem, const void* a, const void* b, void* c,
           const void* bias, void* workspace) override {
    if (breakdown == nullptr) return engine_->run(exec, problem, a, b, c, bias, workspace);
    Breakdown* const book = std::exchange(breakdown, nullptr);  // not the kernels inside the product
    (*book)[fmt::format("product {} x {} x {}", problem.m, problem.n, problem.k)] +=
        milliseconds([&] { engine_->run(exec, problem, a, b, c, bias, workspace); });
    breakdown = book;
  }

  /// Where the times of products and kernels go, if anywhere.
  static inline Breakdown* breakdown = nullptr;

 private:
  std::unique_ptr<GemmEngine> engine_ = make_gemm_engine({});
};

namespace tools = Kokkos::Tools::Experimental;

/// Books the times of kernels, which on a host are done when they return.
class KernelTimes {
 public:
  KernelTimes() {
    tools::set_begin_parallel_for_callback([](const char* name, std::uint32_t, std::uint64_t*) {
      kernel_ = name;
      start_ = std::chrono::steady_clock::now();
    });
    tools::set_end_parallel_for_callback([](std::uint64_t) {
      if (TimedGemm::breakdown == nullptr) return;
      const auto now = std::chrono::steady_clock::now();
      (*TimedGemm::breakdown)["kernel " + kernel_] +=
          std::chrono::duration<double, std::milli>(now - start_).count();
    });
  }
  ~KernelTimes() {
    tools::set_begin_parallel_for_callback(nullptr);
    tools::set_end_parallel_for_callback(nullptr);
  }
  KernelTimes(const KernelTimes&) = delete;
  KernelTimes& operator=(const KernelTimes&) = delete;

 private:
  static inline std::string kernel_;
  static inline std::chrono::steady_clock::time_point start_;
};

DType type_of(const std::string& name) {
  const std::string type = name.substr(0, name.find('-'));
  for (const DType known : {DType::fp32, DType::bf16, DType::fp16}) {
    if (type == name_of(known)) return known;
  }
  fail_input("\"{}\" is none of fp32, bf16, fp16, fp16-off", name);
}

Options options_of(const std::string& name) {
  Options options;
  options.model.inputs = widths.front();
  options.model.hidden.assign(widths.begin() + 1, widths.end() - 1);
  options.model.outputs = widths.back();
  options.data.batch = batch;
  options.precision.compute = type_of(name);
  if (name.ends_with("-off")) options.precision.scaler.mode = ScalerMode::off;
  // So slow that thousands of steps on one batch do not fit it: gradients would vanish into subnormals.
  options.optimizer.lr = 1e-7;
  return options;
}

class StepRun {
 public:
  explicit StepRun(const std::string& name)
      : options_(options_of(name)),
        communicator_(make_communicator(MPI_COMM_SELF, options_.communication)),
        batches_(options_.precision.compute),
        trainer_(options_, make_mlp(options_.model, options_.precision, options_.run.seed, false), gemm_,
                 *communicator_, make_step_plan(batch, 0, 0, 1), 1 << 20) {}

  void step() {
    trainer_.step(batches_, false);
    trainer_.execution().fence();
  }
  /// Throws Error if steps were skipped: they would be too fast.
  void expect_no_skips() const {
    const StepState state = trainer_.read_state();
    if (state.updates != state.step)
      fail_run("{} of {} steps were skipped", state.step - state.updates, state.step);
  }

 private:
  Options options_;
  TimedGemm gemm_;
  std::unique_ptr<Communicator> communicator_;
  OneBatch batches_;
  Trainer trainer_;
};

class Bench {
 public:
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
      fmt::print("{:.3f} {:.3f} {:.3f}\n", times.total(), times.products, times.passes);
    } else if (command == "floor-detail") {
      floor(name).measure();
      fmt::print("{}", floor(name).describe());
    } else if (command == "breakdown") {
      print_breakdown(name, count);
    } else {
      fail_input("unknown command \"{}\"; there are step, floor, floor-detail, breakdown", command);
    }
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  double step(const std::string& name, int count) {
    StepRun& chosen = run(name);
    const double time = median_milliseconds(2, count, [&] { chosen.step(); });
    chosen.expect_no_skips();
    return time;
  }

  void print_breakdown(const std::string& name, int count) {
    step(name, count);
    Breakdown book;
    double total = 0;
    {
      const KernelTimes times;
      TimedGemm::breakdown = &book;
      for (int i = 0; i < count; ++i) total += milliseconds([&] { run(name).step(); });
      TimedGemm::breakdown = nullptr;
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
    if (chosen == nullptr) chosen = std::make_unique<StepRun>(name);
    return *chosen;
  }
  StepFloor& floor(const std::string& name) {
    auto& chosen = floors_[name];
    if (chosen == nullptr) chosen = std::make_unique<StepFloor>(batch, widths, type_of(name));
    return *chosen;
  }

  std::map<std::string, std::unique_ptr<StepRun>> runs_;
  std::map<std::string, std::unique_ptr<StepFloor>> floors_;
};

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  MPI_Init(&argument_count, &arguments);
  int exit_code = 0;
  {
    const Kokkos::ScopeGuard kokkos(argument_count, arguments);
    try {
      mylos::Bench bench;
      std::string line;
      for (int i = 1; i < argument_count; ++i) line += std::string(arguments[i]) + " ";
      if (!line.empty()) {
        bench.answer(line);
      } else {
        while (std::getline(std::cin, line)) bench.answer(line);
      }
    } catch (const mylos::Error& error) {
      fmt::print(stderr, "step_bench: {}\n", error.what());
      exit_code = 1;
    }
  }
  MPI_Finalize();
  return exit_code;
}
