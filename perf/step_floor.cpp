#include "step_floor.hpp"

#include <fmt/core.h>

#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch.hpp"
#include "timing.hpp"

namespace mylos {
namespace {

constexpr int runs = 5;
/// A candidate that is this much slower than the best at its first run is not measured.
constexpr double hopeless = 2;

/// Numbers in [-0.5, 0.5), so that no product meets subnormals.
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

StepFloor::StepFloor(std::int64_t batch, const std::vector<std::int64_t>& widths, DType type) {
  for (const auto& name : gemm_engine_names()) {
    const GemmChoice choice = name == "onednn"     ? GemmChoice::onednn
                              : name == "tiles"    ? GemmChoice::tiles
                              : name == "cublaslt" ? GemmChoice::cublaslt
                                                   : GemmChoice::kokkos;
    engines_.push_back(make_gemm_engine({.gemm = choice}));
  }
  std::size_t weights = 0;
  for (std::size_t layer = 0; layer + 1 < widths.size(); ++layer) {
    const std::int64_t inputs = widths[layer];
    const std::int64_t outputs = widths[layer + 1];
    add_product(fmt::format("y  {}", layer), linear_output(batch, inputs, outputs, type));
    add_product(fmt::format("dW {}", layer), linear_weight_gradient(batch, inputs, outputs, type, type));
    if (layer > 0) {
      add_product(fmt::format("dx {}", layer), linear_input_gradient(batch, inputs, outputs, type));
    }
    weights += static_cast<std::size_t>((inputs + 1) * outputs);
  }
  // The check reads the gradients. The update reads them again, reads and writes masters and two moments, and
  // writes the compute weights, which for fp32 are the masters.
  const std::size_t size = size_of(type);
  const std::size_t compute_weights = type == DType::fp32 ? 0 : size;
  pass_bytes_ = weights * (2 * size + 6 * sizeof(float) + compute_weights);
  arrays_ = Arena("streams", 2 * aligned_bytes(weights * (size + 3 * sizeof(float) + compute_weights) / 2));
}

void StepFloor::add_product(const std::string& name, const GemmProblem& problem) {
  Product product{name, problem, {}, {}};
  const auto a = some_matrix(problem.m, problem.k, problem.a);
  const auto b = some_matrix(problem.k, problem.n, problem.b);
  const auto c = some_matrix(problem.m, problem.n, problem.c);
  for (const auto& engine : engines_) {
    const auto workspace = std::make_shared<Arena>("workspace", engine->workspace_bytes(problem));
    product.candidates.push_back({std::string(engine->name()), [=] {
                                    const Execution exec;
                                    engine->run(exec, problem, a->data(), b->data(), c->data(), nullptr,
                                                workspace->data());
                                    exec.fence();
                                  }});
  }
  for (auto& candidate : products_in_library_layouts(problem, a->data(), b->data())) {
    product.candidates.push_back(std::move(candidate));
  }
  products_.push_back(std::move(product));
}

double StepFloor::fastest_stream_bytes_per_ms() const {
  const Execution exec;
  const auto count = static_cast<std::int64_t>(arrays_.bytes() / 2 / sizeof(float));
  const Tensor first = arrays_.tensor(0, DType::fp32, 1, count);
  const Tensor second = arrays_.tensor(arrays_.bytes() / 2, DType::fp32, 1, count);
  const double copy = median_milliseconds(1, runs, [&] {
    convert(exec, first, second);
    exec.fence();
  });
  float* sum = first.as<float>();
  const float* term = second.as<float>();
  const double triad = median_milliseconds(1, runs, [&] {
    for_each_element(exec, "triad", count, [=](std::int64_t i) { sum[i] += 0.5f * term[i]; });
    exec.fence();
  });
  const auto bytes = static_cast<double>(first.bytes());
  return std::max(2 * bytes / copy, 3 * bytes / triad);
}

FloorTimes StepFloor::measure() {
  FloorTimes result;
  for (Product& product : products_) {
    if (product.times.empty()) drop_hopeless(product);
    product.times.clear();
    for (const auto& candidate : product.candidates) {
      product.times.push_back(median_milliseconds(1, runs, candidate.run));
    }
    result.products += *std::min_element(product.times.begin(), product.times.end());
  }
  bytes_per_ms_ = fastest_stream_bytes_per_ms();
  result.passes = static_cast<double>(pass_bytes_) / bytes_per_ms_;
  return result;
}

void StepFloor::drop_hopeless(Product& product) {
  std::vector<double> times;
  for (const auto& candidate : product.candidates) times.push_back(median_milliseconds(1, 1, candidate.run));
  const double best = *std::min_element(times.begin(), times.end());
  std::vector<ProductCandidate> kept;
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] <= hopeless * best) kept.push_back(std::move(product.candidates[i]));
  }
  product.candidates = std::move(kept);
}

std::string StepFloor::describe() const {
  std::string text;
  for (const auto& [name, problem, candidates, times] : products_) {
    text += fmt::format("  {}  {:4} x {:4} x {:4}", name, problem.m, problem.n, problem.k);
    for (std::size_t i = 0; i < times.size(); ++i) {
      text += fmt::format("  {} {:.2f} ms ({:.0f} GFLOP/s)", candidates[i].name, times[i],
                          1e-6 * flops_of(problem) / times[i]);
    }
    text += "\n";
  }
  return text + fmt::format("  check and update: {:.1f} MB at {:.1f} GB/s\n",
                            1e-6 * static_cast<double>(pass_bytes_), 1e-6 * bytes_per_ms_);
}

}  // namespace mylos
