#include "gemm_engine_table.hpp"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/timing.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/instructions.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/gemm/gemm_measure.hpp"
#include "mylos/kernels/gemm/layer_gemms.hpp"

extern char** environ;  // NOLINT: what a child inherits

namespace mylos {
namespace {

constexpr const char* matrix_unit = "matrix-unit";
constexpr int rounds = 40;
constexpr double within = 1.10;           // of "auto"
constexpr double measured_within = 1.05;  // of "measure"
// A bound in a line must reduce the mean time of the GEMMs by this fraction.
constexpr double worth_a_bound = 0.003;
constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();

/// A GEMM, and the best times of the two engines in milliseconds.
struct Timed {
  NamedGemm gemm;
  double onednn = std::numeric_limits<double>::infinity();
  double tiles = std::numeric_limits<double>::infinity();
  std::string automatic = {};
  std::string measured = {};

  [[nodiscard]] double ratio(bool by_tiles) const {
    return (by_tiles ? tiles : onednn) / std::min(onednn, tiles);
  }
};

KernelOptions options_of(const std::string& target, GemmChoice choice) {
  KernelOptions options{.gemm = choice, .instructions = {}};
  if (target != matrix_unit) options.instructions = instructions_named(target);
  return options;
}

/// The two engines, and memory for the operands of any of the GEMMs.
class Rivals {
 public:
  Rivals(const std::string& target, DType type, const std::vector<Timed>& gemms)
      : onednn_(make_gemm_engine(options_of(target, GemmChoice::onednn))),
        tiles_(make_gemm_engine(options_of(target, GemmChoice::tiles))) {
    std::int64_t most = 0;
    std::size_t workspace = 0;
    for (const Timed& timed : gemms) {
      const GemmProblem& problem = timed.gemm.problem;
      most = std::max({most, problem.m * problem.k, problem.k * problem.n, problem.m * problem.n});
      workspace = std::max({workspace, onednn_->workspace_bytes(problem), tiles_->workspace_bytes(problem)});
    }
    stride_ = aligned_bytes(static_cast<std::size_t>(most) * size_of(type));
    arena_ = Arena("GEMMs", 3 * stride_ + workspace);
    for (std::size_t i = 0; i < 3; ++i) fill(execution_, arena_.tensor(i * stride_, type, 1, most), 0.25f);
  }

  /// True if each engine computes the GEMM itself.
  [[nodiscard]] bool differ(const GemmProblem& problem) const {
    return onednn_->engine_of(problem) != tiles_->engine_of(problem);
  }
  void run_round(Timed& timed) {
    timed.onednn = std::min(timed.onednn, time(*onednn_, timed.gemm.problem));
    timed.tiles = std::min(timed.tiles, time(*tiles_, timed.gemm.problem));
  }

 private:
  double time(GemmEngine& engine, const GemmProblem& problem) const {
    std::byte* data = arena_.data();
    return milliseconds([&] {
      engine.run(execution_, problem, {data, data + stride_, data + 2 * stride_}, data + 3 * stride_);
      execution_.fence();
    });
  }

  std::unique_ptr<GemmEngine> onednn_, tiles_;
  Execution execution_;
  std::size_t stride_ = 0;
  Arena arena_;
};

/// Measures one type for which both engines have their own GEMMs. Every round measures all GEMMs, so that a
/// temporary disturbance of the machine does not affect a GEMM in all rounds.
std::vector<Timed> measure(const std::string& target, DType type) {
  std::vector<Timed> all;
  std::vector<GemmProblem> problems;
  for (const NamedGemm& gemm : gemms_to_measure(type)) {
    all.push_back({.gemm = gemm});
    problems.push_back(gemm.problem);
  }
  Rivals rivals(target, type, all);
  if (!rivals.differ(problems.front())) return {};
  for (int round = 0; round < rounds; ++round) {
    for (Timed& timed : all) rivals.run_round(timed);
  }
  const auto automatic = make_gemm_engine(options_of(target, GemmChoice::automatic));
  const auto measuring = make_gemm_engine(options_of(target, GemmChoice::measure));
  measure_gemms(Execution{}, *measuring, problems);
  for (Timed& timed : all) {
    timed.automatic = automatic->engine_of(timed.gemm.problem);
    timed.measured = measuring->engine_of(timed.gemm.problem);
  }
  return all;
}

using Sizes = std::array<std::int64_t, 3>;

Sizes sizes_of(const GemmProblem& problem) {
  return {problem.m, problem.n, problem.k};
}

struct Bounds {
  Sizes from{1, 1, 1};
  Sizes to{any, any, any};

  [[nodiscard]] bool hold(const GemmProblem& problem) const {
    const Sizes sizes = sizes_of(problem);
    for (std::size_t i = 0; i < 3; ++i) {
      if (sizes[i] < from[i] || sizes[i] > to[i]) return false;
    }
    return true;
  }
};

/// The mean excess of the GEMMs' times over the best, if the tiles compute those within the bounds.
double excess(const std::vector<const Timed*>& gemms, const Bounds* bounds) {
  double sum = 0;
  for (const Timed* timed : gemms) {
    const bool by_tiles = bounds != nullptr && bounds->hold(timed->gemm.problem);
    sum += std::log(timed->ratio(by_tiles));
  }
  return sum / static_cast<double>(gemms.size());
}

/// Adds bounds as long as one reduces the time enough. Nothing if the tiles should compute no GEMM.
std::optional<Bounds> fit(const std::vector<const Timed*>& gemms) {
  std::optional<Bounds> best;
  double best_excess = excess(gemms, nullptr) - worth_a_bound;
  Bounds now;
  double now_excess = excess(gemms, &now);
  for (bool better = true; better;) {
    if (now_excess < best_excess) {
      best = now;
      best_excess = now_excess;
    }
    better = false;
    Bounds next = now;
    double next_excess = now_excess - worth_a_bound;
    for (const Timed* timed : gemms) {
      const Sizes sizes = sizes_of(timed->gemm.problem);
      for (std::size_t i = 0; i < 3; ++i) {
        for (const bool upper : {false, true}) {
          Bounds tried = now;
          (upper ? tried.to : tried.from)[i] = sizes[i];
          const double tried_excess = excess(gemms, &tried);
          if (tried_excess >= next_excess) continue;
          next = tried;
          next_excess = tried_excess;
          better = true;
        }
      }
    }
    now = next;
    now_excess = next_excess;
  }
  return best;
}

std::string text_of(const Sizes& sizes) {
  if (sizes == Sizes{any, any, any}) return "all";
  const auto word = [](std::int64_t size) { return size == any ? "any" : std::to_string(size); };
  return fmt::format("{{{}, {}, {}}}", word(sizes[0]), word(sizes[1]), word(sizes[2]));
}

void print_line(const std::string& target, DType type, GemmForm form, const std::vector<Timed>& all) {
  std::vector<const Timed*> gemms;
  for (const Timed& timed : all) {
    if (form_of(timed.gemm.problem) == form) gemms.push_back(&timed);
  }
  const std::optional<Bounds> bounds = fit(gemms);
  if (!bounds) return;
  std::string processor = target;
  std::replace(processor.begin(), processor.end(), '-', '_');
  constexpr const char* forms[] = {"output", "input_gradient", "weight_gradient"};
  fmt::print("    {{Processor::{}, DType::{}, GemmForm::{}, {}, {}}},\n", processor, name_of(type),
             forms[static_cast<std::size_t>(form)], text_of(bounds->from), text_of(bounds->to));
}

void print_quality(const std::string& target, DType type, const std::vector<Timed>& all, const char* choice,
                   std::string Timed::*engine, double bound) {
  std::size_t good = 0;
  double worst = 1;
  for (const Timed& timed : all) {
    const double ratio = timed.ratio(timed.*engine == "tiles");
    worst = std::max(worst, ratio);
    if (ratio <= bound) ++good;
  }
  fmt::print(
      "// {} {}: {} is within {:.0f} % of the best in {} of {} GEMMs, at worst {:.2f} times its time\n",
      target, name_of(type), choice, 100 * (bound - 1), good, all.size(), worst);
  for (const Timed& timed : all) {
    const double ratio = timed.ratio(timed.*engine == "tiles");
    if (ratio <= bound) continue;
    fmt::print("//   {}: {} takes {:.2f} times as long (onednn {:.3f} ms, tiles {:.3f} ms)\n",
               timed.gemm.name, timed.*engine, ratio, timed.onednn, timed.tiles);
  }
}

}  // namespace

void print_lines_of(const std::string& target) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    const std::vector<Timed> all = measure(target, type);
    if (all.empty()) {
      fmt::print("// {} {}: by tiles, whatever the sizes\n", target, name_of(type));
      continue;
    }
    for (const GemmForm form : {GemmForm::output, GemmForm::input_gradient, GemmForm::weight_gradient})
      print_line(target, type, form, all);
    print_quality(target, type, all, "auto", &Timed::automatic, within);
    print_quality(target, type, all, "measure", &Timed::measured, measured_within);
  }
  std::fflush(stdout);
}

int print_gemm_table(const char* program) {
  std::vector<std::string> targets;
  for (const Instructions instructions : available_instructions())
    targets.emplace_back(name_of(instructions));
  if (could_use_matrix_unit()) targets.emplace_back(matrix_unit);
  for (const std::string& target : targets) {
    std::string option = "--table=" + target;
    std::string name = program;
    char* arguments[] = {name.data(), option.data(), nullptr};
    pid_t child = 0;
    int status = 1;
    if (posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, arguments, environ) != 0 ||
        waitpid(child, &status, 0) != child || status != 0) {
      fmt::print(stderr, "gemm_bench: {} was not measured\n", option);
      return 1;
    }
  }
  return 0;
}

}  // namespace mylos
