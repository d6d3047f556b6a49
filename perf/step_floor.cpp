#include "step_floor.hpp"

#include <fmt/format.h>

#include "mylos/base/device/timing.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

constexpr int runs = 5;
/// A candidate that is slower than the best by this factor at its first run is not measured.
constexpr double hopeless = 2;
/// The bytes of one array: several times a third-level cache of 32 MiB, as STREAM's rules require (McCalpin,
/// "Memory bandwidth and machine balance in current high performance computers", 1995). Two arrays of 46 MB
/// were copied from such a cache at twice the speed of memory.
constexpr std::size_t streamed_bytes = std::size_t{256} << 20;

/// Numbers in [-0.5, 0.5), so that no GEMM computes subnormals.
std::shared_ptr<Arena> some_matrix(std::int64_t rows, std::int64_t columns, DType type) {
  const auto count = static_cast<std::size_t>(rows * columns);
  const Arena floats("floats", count * sizeof(float));
  const Tensor values = floats.tensor(0, DType::fp32, rows, columns);
  for (std::size_t i = 0; i < count; ++i) {
    const auto scrambled = static_cast<std::uint32_t>(i) * 2654435761u;
    values.as<float>()[i] = static_cast<float>(scrambled) * 0x1p-32f - 0.5f;
  }
  auto matrix = std::make_shared<Arena>("matrix", count * size_of(type));
  convert(Execution{}, values, matrix->tensor(0, type, rows, columns));
  return matrix;
}

}  // namespace

void StepWork::add_linear(const std::string& name, std::int64_t rows, std::int64_t inputs,
                          std::int64_t outputs, bool input_gradient, int count) {
  gemms.push_back({"y  " + name, linear_output(rows, inputs, outputs, type), count});
  gemms.push_back({"dW " + name, linear_weight_gradient(rows, inputs, outputs, type, type), count});
  if (input_gradient) {
    gemms.push_back({"dx " + name, linear_input_gradient(rows, inputs, outputs, type), count});
  }
}

StepFloor::StepFloor(const StepWork& work) : other_flops_(work.other_flops) {
  for (const auto& name : gemm_engine_names()) {
    const GemmChoice choice = name == "onednn"     ? GemmChoice::onednn
                              : name == "tiles"    ? GemmChoice::tiles
                              : name == "cublaslt" ? GemmChoice::cublaslt
                                                   : GemmChoice::kokkos;
    engines_.push_back(make_gemm_engine({.gemm = choice}));
  }
  for (const auto& gemm : work.gemms) add_gemm(gemm);
  // The check reads the gradients. The update reads them again, reads and writes masters and two moments, and
  // writes the compute weights, which for fp32 are the masters.
  const std::size_t size = size_of(work.type);
  const std::size_t compute_weights = work.type == DType::fp32 ? 0 : size;
  const auto weights = static_cast<std::size_t>(work.weights);
  pass_bytes_ = weights * (2 * size + 6 * sizeof(float) + compute_weights);
  arrays_ = Arena("streams", 2 * streamed_bytes);
}

void StepFloor::add_gemm(const StepWork::Gemm& work) {
  MeasuredGemm gemm{work, {}, {}};
  const GemmProblem& problem = work.problem;
  const auto a = some_matrix(problem.m, problem.k, problem.a);
  const auto b = some_matrix(problem.k, problem.n, problem.b);
  const auto c = some_matrix(problem.m, problem.n, problem.c);
  for (const auto& engine : engines_) {
    const auto workspace = std::make_shared<Arena>("workspace", engine->workspace_bytes(problem));
    gemm.candidates.push_back(
        {std::string(engine->name()), [=] {
           const Execution exec;
           engine->run(exec, problem, {a->data(), b->data(), c->data()}, workspace->data());
           exec.fence();
         }});
  }
  for (auto& candidate : gemms_in_library_layouts(problem, a->data(), b->data())) {
    gemm.candidates.push_back(std::move(candidate));
  }
  gemms_.push_back(std::move(gemm));
}

namespace {

void triad(const Execution& exec, float* sum, const float* term, std::int64_t count) {
  for_each_element(
      exec, "triad", count, KOKKOS_LAMBDA(std::int64_t i) { sum[i] += 0.5f * term[i]; });
}

}  // namespace

double StepFloor::fastest_stream_bytes_per_ms() const {
  const Execution exec;
  const auto count = static_cast<std::int64_t>(arrays_.bytes() / 2 / sizeof(float));
  const Tensor first = arrays_.tensor(0, DType::fp32, 1, count);
  const Tensor second = arrays_.tensor(arrays_.bytes() / 2, DType::fp32, 1, count);
  const double copy = median_milliseconds(1, runs, [&] {
    convert(exec, first, second);
    exec.fence();
  });
  const double addition = median_milliseconds(1, runs, [&] {
    triad(exec, first.as<float>(), second.as<float>(), count);
    exec.fence();
  });
  const auto bytes = static_cast<double>(first.bytes());
  return std::max(2 * bytes / copy, 3 * bytes / addition);
}

FloorTimes StepFloor::measure() {
  FloorTimes result;
  double flops = 0;
  for (MeasuredGemm& gemm : gemms_) {
    if (gemm.times.empty()) drop_hopeless(gemm);
    gemm.times.clear();
    for (const auto& candidate : gemm.candidates) {
      gemm.times.push_back(median_milliseconds(1, runs, candidate.run));
    }
    result.gemms += gemm.work.count * *std::min_element(gemm.times.begin(), gemm.times.end());
    flops += gemm.work.count * flops_of(gemm.work.problem);
  }
  flops_per_ms_ = flops / result.gemms;
  result.other = other_flops_ / flops_per_ms_;
  bytes_per_ms_ = fastest_stream_bytes_per_ms();
  result.passes = static_cast<double>(pass_bytes_) / bytes_per_ms_;
  return result;
}

void StepFloor::drop_hopeless(MeasuredGemm& gemm) {
  std::vector<double> times;
  for (const auto& candidate : gemm.candidates) times.push_back(median_milliseconds(1, 1, candidate.run));
  const double best = *std::min_element(times.begin(), times.end());
  std::vector<GemmCandidate> kept;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] <= hopeless * best) kept.push_back(std::move(gemm.candidates[i]));
  }
  gemm.candidates = std::move(kept);
}

std::string StepFloor::describe() const {
  std::string text;
  for (const auto& [work, candidates, times] : gemms_) {
    const GemmProblem& problem = work.problem;
    text += fmt::format("  {:9} {:2} of {:4} x {:4} x {:4}", work.name, work.count, problem.m, problem.n,
                        problem.k);
    for (std::size_t i = 0; i < times.size(); ++i) {
      text += fmt::format("  {} {:.2f} ms ({:.0f} GFLOP/s)", candidates[i].name, times[i],
                          1e-6 * flops_of(problem) / times[i]);
    }
    text += "\n";
  }
  if (other_flops_ > 0) {
    text += fmt::format("  other GEMMs: {:.2f} GFLOP at {:.0f} GFLOP/s\n", 1e-9 * other_flops_,
                        1e-6 * flops_per_ms_);
  }
  return text + fmt::format("  check and update: {:.1f} MB at {:.1f} GB/s\n",
                            1e-6 * static_cast<double>(pass_bytes_), 1e-6 * bytes_per_ms_);
}

}  // namespace mylos
