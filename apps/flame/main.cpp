// A flame that spreads through gas of uneven mixture, once with the closed form of its reaction, and twice
// with a network inside the kernels that was trained on it.
// usage: flame [--side CELLS] [--steps N] [--write FILE] | flame --time [--side CELLS]
#include <Kokkos_Core.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <utility>

#include "step.hpp"

namespace {

using flame::Form;
using flame::Space;
using flame::State;
using flame::Step;

constexpr Form forms[] = {Form::formula, Form::network_by_threads, Form::network_by_teams};
constexpr const char* names[] = {"formula", "network by threads", "network by teams"};
constexpr double cell_width = 0.25;

struct Options {
  int side = 64;
  int steps = 320;
  const char* file = nullptr;
  bool is_timed = false;
};

/// Burnt gas in the middle of stripes that have more and less fuel.
State first_state(int side) {
  const State state("state", side * side, 2);
  Kokkos::parallel_for(
      "first state", Kokkos::RangePolicy<Space>(0, side * side), KOKKOS_LAMBDA(int cell) {
        const double x = (cell % side + 0.5) / side - 0.5;
        const double y = (cell / side + 0.5) / side - 0.5;
        const double sum = 1 + 0.2 * Kokkos::sin(4 * Kokkos::numbers::pi * x);
        const double burnt =
            0.5 * (1 - Kokkos::tanh((Kokkos::sqrt(x * x + y * y) - 0.15) * side * cell_width));
        state(cell, 0) = sum * burnt;
        state(cell, 1) = sum * (1 - burnt);
      });
  return state;
}

Step first_step(int side) {
  constexpr double diffusion = 0.2;
  return {first_state(side), State("next state", side * side, 2), side, diffusion * cell_width * cell_width,
          diffusion};
}

struct Sums {
  double temperature = 0;
  double all = 0;
};

Sums sums_of(const State& state) {
  Sums sums;
  Kokkos::parallel_reduce(
      "sums", Kokkos::RangePolicy<Space>(0, state.extent_int(0)),
      KOKKOS_LAMBDA(int cell, double& temperature, double& all) {
        temperature += state(cell, 0);
        all += state(cell, 0) + state(cell, 1);
      },
      sums.temperature, sums.all);
  return sums;
}

struct Differences {
  double root_mean_square = 0;
  double largest = 0;
};

/// Of the temperatures.
Differences differences_of(const State& a, const State& b) {
  double squares = 0;
  double largest = 0;
  Kokkos::parallel_reduce(
      "differences", Kokkos::RangePolicy<Space>(0, a.extent_int(0)),
      KOKKOS_LAMBDA(int cell, double& sum, double& worst) {
        const double difference = a(cell, 0) - b(cell, 0);
        sum += difference * difference;
        worst = Kokkos::max(worst, Kokkos::abs(difference));
      },
      squares, Kokkos::Max<double>(largest));
  return {std::sqrt(squares / a.extent_int(0)), largest};
}

/// Returns the seconds of one step.
double seconds_of(const Space& space, const Step& step, Form form) {
  space.fence();
  const Kokkos::Timer timer;
  advance(space, step, form);
  space.fence();
  return timer.seconds();
}

/// A flame, and the time of the shortest of its steps: other programs disturb some of them.
struct Run {
  Step step;
  double seconds = std::numeric_limits<double>::infinity();
};

Run run(Form form, const Options& options) {
  Run result{first_step(options.side)};
  for (int i = 0; i < options.steps; ++i) {
    result.seconds = std::min(result.seconds, seconds_of(Space(), result.step, form));
    std::swap(result.step.now, result.step.next);
  }
  return result;
}

/// Appends the state, doubles [cell][temperature, fuel].
void append(std::FILE* file, const State& state) {
  const auto copy = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), state);
  for (int cell = 0; cell < copy.extent_int(0); ++cell) {
    const double both[] = {copy(cell, 0), copy(cell, 1)};
    std::fwrite(both, sizeof(double), 2, file);
  }
}

bool write(const char* path, const Run (&runs)[3]) {
  std::FILE* file = std::fopen(path, "wb");
  if (file == nullptr) return false;
  for (const Run& each : runs) append(file, each.step.now);
  const bool is_written = std::ferror(file) == 0;
  return std::fclose(file) == 0 && is_written;
}

void print_row(const char* name, const char* format, double formula, double threads, double teams) {
  std::printf("%-40s", name);
  for (const double value : {formula, threads, teams}) std::printf(format, value);
  std::puts("");
}

/// Runs all forms and prints how they differ.
int compare(const Options& options) {
  const Run runs[] = {run(forms[0], options), run(forms[1], options), run(forms[2], options)};
  const Sums before = sums_of(first_state(options.side));
  double microseconds[3];
  double burnt[3];
  double change[3];
  Differences errors[3];
  for (int i = 0; i < 3; ++i) {
    const Sums after = sums_of(runs[i].step.now);
    microseconds[i] = 1e6 * runs[i].seconds / runs[i].step.cells();
    burnt[i] = 100 * (after.temperature - before.temperature) / (before.all - before.temperature);
    change[i] = std::abs(after.all / before.all - 1);
    errors[i] = differences_of(runs[i].step.now, runs[0].step.now);
  }
  std::printf("%d x %d cells, %d steps; %s, concurrency %d\n", options.side, options.side, options.steps,
              Space::name(), Space().concurrency());
  std::printf("%-40s%20s%20s%20s\n", "", names[0], names[1], names[2]);
  print_row("burnt fuel, %", "%20.3f", burnt[0], burnt[1], burnt[2]);
  print_row("temperature: rms error", "%20.2e", 0, errors[1].root_mean_square, errors[2].root_mean_square);
  print_row("temperature: largest error", "%20.2e", 0, errors[1].largest, errors[2].largest);
  print_row("change of the sum of both quantities", "%20.1e", change[0], change[1], change[2]);
  print_row("time per cell, shortest step, us", "%20.4f", microseconds[0], microseconds[1], microseconds[2]);
  std::printf("teams and threads differ by at most %.1e\n",
              differences_of(runs[1].step.now, runs[2].step.now).largest);
  if (options.file != nullptr && !write(options.file, runs)) {
    std::fprintf(stderr, "flame: %s cannot be written\n", options.file);
    return 1;
  }
  return 0;
}

/// Prints the shortest of many times, of all threads and of half of them, interleaved: other programs disturb
/// some of the rounds. Only OpenMP can be halved, where OMP_MAX_ACTIVE_LEVELS is 2.
int measure(const Options& options) {
  constexpr int rounds = 400;
  const Step step = first_step(options.side);
  const Space all;
  const double scale = 1e6 / step.cells();
  const Space half = Kokkos::Experimental::partition_space(all, 1, 1)[0];
  std::printf("shortest time per cell of %d steps, us; %s, concurrency %d and %d\n", rounds, Space::name(),
              half.concurrency(), all.concurrency());
  std::printf("%-24s%12s%12s%12s\n", "", "half", "all", "ratio");
  for (int i = 0; i < 3; ++i) {
    double of_half = std::numeric_limits<double>::infinity();
    double of_all = of_half;
    for (int round = 0; round < rounds; ++round) {
      of_half = std::min(of_half, seconds_of(half, step, forms[i]));
      of_all = std::min(of_all, seconds_of(all, step, forms[i]));
    }
    std::printf("%-24s%12.4f%12.4f%12.2f\n", names[i], scale * of_half, scale * of_all, of_half / of_all);
  }
  return 0;
}

/// Returns whether the arguments are right.
bool read(int count, char** texts, Options& options) {
  for (int i = 1; i < count; ++i) {
    const std::string_view name = texts[i];
    const char* const value = i + 1 < count ? texts[i + 1] : "";
    if (name == "--time") {
      options.is_timed = true;
      continue;
    }
    if (name == "--side") {
      options.side = std::atoi(value);
    } else if (name == "--steps") {
      options.steps = std::atoi(value);
    } else if (name == "--write" && *value != '\0') {
      options.file = value;
    } else {
      return false;
    }
    ++i;
  }
  constexpr int max_side = 10000;  // so that an int counts the cells
  return options.side >= 3 && options.side <= max_side && options.steps >= 1;
}

}  // namespace

int main(int count, char** texts) {
  const Kokkos::ScopeGuard kokkos(count, texts);
  Options options;
  if (!read(count, texts, options)) {
    std::fputs("usage: flame [--side CELLS] [--steps N] [--write FILE] | flame --time [--side CELLS]\n",
               stderr);
    return 2;
  }
  return options.is_timed ? measure(options) : compare(options);
}
