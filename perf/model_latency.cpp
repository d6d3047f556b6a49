// How long a call of Model::infer takes beside the GEMMs of the network alone, for few and for many samples.
//
//   model_latency [seconds of a measurement]
//
// The network is an MLP of 64-256-256-256-32 with relu, in fp32, bf16 and fp16. Arrays of double go in and
// out; inputs and outputs are scaled. A line: type, samples, threads, microseconds of a call, of its GEMMs
// with their biases and relus, and the difference. Times are the least of five measurements.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "mylos/base/device/seconds_since.hpp"
#include "mylos/base/dispatch.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/inference/model.hpp"
#include "mylos/inference/stored/network_state.hpp"
#include "mylos/kernels/engines/engine_set.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/network/training_model.hpp"

namespace mylos {
namespace {

constexpr std::int64_t widths[] = {64, 256, 256, 256, 32};
constexpr std::int64_t numbers_of_samples[] = {1, 16, 64, 1024, 4096};

Options options_for(DType type) {
  Options options;
  options.run.steps = 1;
  options.model.inputs = widths[0];
  options.model.hidden.assign(std::begin(widths) + 1, std::end(widths) - 1);
  options.model.outputs = *std::rbegin(widths);
  options.model.loss = losses::Mse{};
  options.precision.compute = type;
  return options;
}

/// Writes a checkpoint of initial weights.
void write_model(const std::string& path, const Options& options) {
  RankGroup alone;
  const auto engines = make_engines(options.kernels);
  TrainingModel model(make_chain(options.model, options.precision, 1, false), *engines, 1, 1 << 20, 1);
  const Execution exec;
  model.parameters().initialize(exec, 1);
  exec.fence();
  CheckpointHeader header;
  header.deck = resolve(options);
  const auto scaling = [](std::int64_t columns) {
    const auto count = static_cast<std::size_t>(columns);
    return ColumnScaling{std::vector<double>(count, 0.25), std::vector<double>(count, 1.5)};
  };
  StoredData data;
  data.identity = "none";
  data.normalizer = {scaling(options.model.inputs), scaling(options.model.outputs)};
  CheckpointState state = parameter_state(model.parameters());
  add_stored_data(state, data);
  write_checkpoint_file(alone, path, header, state);
}

/// Returns the microseconds of a call: the least of five measurements of many in a row.
template <class Call>
double microseconds_of(double seconds, const Execution& exec, const Call& call) {
  call();
  exec.fence();
  double least = 1e30;
  for (int measurement = 0; measurement < 5; ++measurement) {
    const auto start = std::chrono::steady_clock::now();
    std::int64_t calls = 0;
    for (; calls < 4 || seconds_since(start) < seconds; ++calls) call();
    exec.fence();
    least = std::min(least, 1e6 * seconds_since(start) / static_cast<double>(calls));
  }
  return least;
}

/// Device memory with numbers in (-1, 1): zeros would be multiplied faster.
Arena numbers(std::int64_t count, DType type) {
  std::mt19937 random(3);
  Arena arena("numbers", static_cast<std::size_t>(count) * size_of(type));
  const auto bytes = arena.bytes();
  const Kokkos::View<std::byte*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>> device(arena.data(), bytes);
  const auto host = Kokkos::create_mirror_view(device);
  dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    auto* const values = reinterpret_cast<T*>(host.data());
    std::uniform_real_distribution<float> number(-1, 1);
    for (std::int64_t i = 0; i < count; ++i) values[i] = from_float<T>(number(random));
  });
  Kokkos::deep_copy(device, host);
  return arena;
}

/// The GEMMs of a piece of samples, one after the other.
class Gemms {
 public:
  Gemms(DType type, std::int64_t samples) : engines_(make_engines({})) {
    for (std::size_t layer = 0; layer + 1 < std::size(widths); ++layer) {
      GemmProblem problem = linear_output(samples, widths[layer], widths[layer + 1], type);
      problem.bias = true;
      problem.bias_type = type;
      problem.relu = layer + 2 < std::size(widths);
      problems_.push_back(problem);
      weights_.push_back(numbers(problem.k * problem.n, type));
      workspaces_.emplace_back("workspace", engines_->gemm().workspace_bytes(problem));
      // As Model does for a network of this size.
      packed_.emplace_back("packed", engines_->gemm().packed_bytes(problem));
      if (packed_.back().bytes() > 0)
        engines_->gemm().pack(Execution(), problem, weights_.back().data(), packed_.back().data());
    }
    for (const std::int64_t width : widths) values_.push_back(numbers(samples * width, type));
  }

  void run(const Execution& exec) const {
    for (std::size_t i = 0; i < problems_.size(); ++i) {
      engines_->gemm().run(exec, problems_[i],
                           {.a = values_[i].data(),
                            .b = weights_[i].data(),
                            .c = values_[i + 1].data(),
                            .bias = weights_[i].data(),
                            .packed_b = packed_[i].data()},
                           workspaces_[i].data());
    }
  }

 private:
  std::unique_ptr<EngineSet> engines_;
  std::vector<GemmProblem> problems_;
  std::vector<Arena> weights_, packed_, workspaces_, values_;
};

void measure(const std::string& path, DType type, double seconds) {
  write_model(path, options_for(type));
  Model model(path);
  const Execution exec;
  for (const std::int64_t samples : numbers_of_samples) {
    const Kokkos::View<double**, Kokkos::LayoutRight, Memory> x("x", static_cast<std::size_t>(samples),
                                                                widths[0]);
    const Kokkos::View<double**, Kokkos::LayoutRight, Memory> y("y", static_cast<std::size_t>(samples),
                                                                *std::rbegin(widths));
    Kokkos::deep_copy(x, 0.7);
    const double call = microseconds_of(seconds, exec, [&] { model.infer(exec, x, y); });
    const std::int64_t piece = std::min(samples, model.samples_per_piece());
    const Gemms gemms(type, piece);
    const double alone =
        static_cast<double>(samples / piece) * microseconds_of(seconds, exec, [&] { gemms.run(exec); });
    fmt::print("{:5} {:6} {:8} {:12.2f} {:12.2f} {:12.2f}\n", name_of(type), samples, exec.concurrency(),
               call, alone, call - alone);
  }
}

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  const Kokkos::ScopeGuard kokkos(argument_count, arguments);
  const double seconds = argument_count > 1 ? std::atof(arguments[1]) : 0.1;
  const std::string path =
      (std::filesystem::temp_directory_path() / fmt::format("model_latency_{}.h5", getpid())).string();
  fmt::print("{:5} {:>6} {:>8} {:>12} {:>12} {:>12}\n", "type", "rows", "threads", "call us", "GEMMs us",
             "rest us");
  for (const mylos::DType type : {mylos::DType::fp32, mylos::DType::bf16, mylos::DType::fp16})
    mylos::measure(path, type, seconds);
  std::filesystem::remove(path);
}
