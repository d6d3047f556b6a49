#include "commands/data_speed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <vector>

#include "mylos/base/errors/units.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/data/run/run_data.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/train/plan/engine_choice.hpp"
#include "mylos/train/plan/memory_plan.hpp"

namespace mylos::app {
namespace {

constexpr double reading_s = 0.5;
constexpr std::int64_t piece_bytes = std::int64_t{4} << 20;

std::int64_t bytes_of_sample(const SampleStore& store) {
  return store.shape().input_bytes() + store.shape().truth_bytes();
}

/// As the loader reads: what the store says, or some MiB.
std::int64_t samples_of_piece(const SampleStore& store, Split part) {
  const std::int64_t fitting =
      std::max<std::int64_t>(1, piece_bytes / std::max<std::int64_t>(1, bytes_of_sample(store)));
  const std::int64_t given = store.block_samples();
  return std::clamp<std::int64_t>(given > 0 ? std::min(given, fitting) : fitting, 1, part.count);
}

/// Milliseconds of a step of this deck on one rank of this machine, by the plan's model and measured rates.
double predicted_step_ms(Options options) {
  const std::unique_ptr<RunData> data = open_run_data(options);
  data->complete(options.model);
  const std::unique_ptr<EngineSet> engines = make_engines(options.kernels);
  MemoryProblem problem{.network = plan_network(options, 0, 1),
                        .engines = *engines,
                        .processes = {1, process_memory()},
                        .data = data.get()};
  problem.budget = rank_budget(options.memory.budget_bytes, problem.processes, 1);
  static_cast<void>(choose_engines(problem, {}));
  std::vector<DType> types;
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16})
    if (problem.network.chain.computes_in(type)) types.push_back(type);
  problem.rates = measure_rates(Execution{}, engines->gemm(), types, problem.budget);
  return plan_memory(problem).step_time();
}

std::string milliseconds(double ms) {
  return ms < 10'000 ? fmt::format("{:.3g} ms", ms) : fmt::format("{:.3g} s", ms / 1000);
}

/// Compares reading a batch with computing it.
std::string compare(double reading_ms, const Options& options) {
  double step_ms = 0;
  try {
    step_ms = predicted_step_ms(options);
  } catch (const Error& error) {
    return fmt::format("the time of a step is not known: {}\n", error.message());
  }
  std::string text =
      fmt::format("a step of {} samples: {} to read, about {} to compute here (as `mylos plan` predicts)\n",
                  options.data.batch, milliseconds(reading_ms), milliseconds(step_ms));
  if (reading_ms <= step_ms) {
    return text + fmt::format("reading keeps up: it is {:.1f} times as fast as computing\n",
                              step_ms / std::max(reading_ms, 1e-6));
  }
  return text +
         fmt::format(
             "reading does NOT keep up: steps will wait for it, {:.1f} times as long as they compute; larger "
             "chunks, fewer filters or a faster disk make it faster\n",
             reading_ms / std::max(step_ms, 1e-6));
}

}  // namespace

ReadingSpeed measure_reading(const SampleStore& store, Split part) {
  using Clock = std::chrono::steady_clock;
  ReadingSpeed speed{.piece = samples_of_piece(store, part)};
  const std::int64_t pieces = (part.count + speed.piece - 1) / speed.piece;
  std::vector<std::byte> inputs(static_cast<std::size_t>(speed.piece * store.shape().input_bytes()));
  std::vector<std::byte> truth(static_cast<std::size_t>(speed.piece * store.shape().truth_bytes()));
  // A stride near the golden section of the count, without a common divisor: every piece once, far from the
  // one before.
  std::int64_t stride = std::max<std::int64_t>(1, pieces * 382 / 1000);
  while (std::gcd(stride, pieces) != 1) ++stride;
  const Clock::time_point begin = Clock::now();
  for (std::int64_t i = 0; i < pieces && speed.seconds < reading_s; ++i) {
    const std::int64_t first = i * stride % pieces * speed.piece;
    const std::int64_t count = std::min(speed.piece, part.count - first);
    store.read_inputs(part.first + first, count, inputs.data());
    store.read_truth(part.first + first, count, truth.data());
    speed.samples += count;
    speed.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  speed.seconds = std::max(speed.seconds, 1e-9);
  return speed;
}

std::string describe_reading(const ReadingSpeed& speed, const SampleStore& store, Split part,
                             const Options& options) {
  const auto bytes =
      static_cast<std::int64_t>(speed.per_second() * static_cast<double>(bytes_of_sample(store)));
  std::string text = fmt::format(
      "reading: {:.0f} samples/s, {}/s as they are computed with ({} samples in {}, {} adjacent ones at a "
      "time)\n",
      speed.per_second(), format_bytes(bytes), speed.samples, milliseconds(1000 * speed.seconds),
      speed.piece);
  if (options.data.shuffle == Shuffle::samples) {
    const double all_ms = 1000 * static_cast<double>(part.count) / speed.per_second();
    text += fmt::format(
        "data.shuffle = \"samples\" reads all {} training samples once, at the start, in about {}, and holds "
        "{} in "
        "memory; \"blocks\" reads them as they are needed\n",
        part.count, milliseconds(all_ms), format_bytes(part.count * bytes_of_sample(store)));
    return text;
  }
  return text + compare(1000 * static_cast<double>(options.data.batch) / speed.per_second(), options);
}

}  // namespace mylos::app
