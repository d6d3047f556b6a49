// Measures the speed and the error of GEMMs, by size and type, for perf/precision_study.py.
//
//   product_error [--instructions NAME] SIZE...
//
// The matrices are square, with numbers within ±0.5, rounded to the type before and after. Prints a line for
// each size and type: "TYPE SIZE ENGINE MS MEAN LARGEST": milliseconds, types interleaved; the root of the
// mean squared error and the largest error, each over the root of the mean square of the product of the float
// matrices, which is summed in double.
#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "commands.hpp"
#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/timing.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/gemm/gemm.hpp"

namespace mylos {
namespace {

constexpr std::array types = {DType::fp32, DType::bf16, DType::fp16};
constexpr int rounds = 7;
constexpr std::int64_t max_size = 4096;

/// Uniform numbers within ±0.5.
void draw(const Tensor& matrix, const char* name) {
  const RandomStream stream(1, RandomPurpose::sampling, name);
  for (std::int64_t i = 0; i < matrix.size(); ++i)
    matrix.as<float>()[i] = uniform_from(stream.word(0, 0, static_cast<std::uint64_t>(i))) - 0.5f;
}

/// A · Bᵀ in double.
std::vector<double> exact_gemm(const Tensor& a, const Tensor& b) {
  const std::int64_t size = a.rows();
  std::vector<double> product(static_cast<std::size_t>(size * size));
  Kokkos::parallel_for("exact product", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, size),
                       [&](const std::int64_t row) {
                         for (std::int64_t column = 0; column < size; ++column) {
                           double sum = 0;
                           for (std::int64_t k = 0; k < size; ++k)
                             sum += static_cast<double>(a.as<float>()[row * size + k]) *
                                    static_cast<double>(b.as<float>()[column * size + k]);
                           product[static_cast<std::size_t>(row * size + column)] = sum;
                         }
                       });
  Kokkos::DefaultHostExecutionSpace().fence();
  return product;
}

struct Errors {
  double mean = 0;
  double largest = 0;
};

Errors errors_of(const Tensor& computed, const std::vector<double>& exact) {
  double squares = 0;
  double error_squares = 0;
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double error = static_cast<double>(computed.as<float>()[i]) - exact[i];
    squares += exact[i] * exact[i];
    error_squares += error * error;
    largest = std::max(largest, std::fabs(error));
  }
  const double root = std::sqrt(squares / static_cast<double>(exact.size()));
  return {std::sqrt(error_squares / squares), largest / root};
}

/// The GEMM of one type, ready to run.
class TypedGemm {
 public:
  TypedGemm(DType type, const Tensor& a, const Tensor& b)
      : problem_(linear_output(a.rows(), a.rows(), a.rows(), type)),
        engine_(make_gemm_engine({})),
        numbers_("numbers", 3 * static_cast<std::size_t>(a.size()) * size_of(type) + 1024),
        workspace_("workspace", engine_->workspace_bytes(problem_) + 64) {
    convert(exec_, a, matrix(0));
    convert(exec_, b, matrix(1));
    exec_.fence();
  }
  double run() {
    return milliseconds([&] {
      engine_->run(exec_, problem_, {matrix(0).data(), matrix(1).data(), matrix(2).data()},
                   workspace_.data());
      exec_.fence();
    });
  }
  void read(const Tensor& to) {
    convert(exec_, matrix(2), to);
    exec_.fence();
  }
  [[nodiscard]] std::string_view engine() const { return engine_->engine_of(problem_); }

 private:
  [[nodiscard]] Tensor matrix(std::size_t index) const {
    const auto size = problem_.m;
    const std::size_t bytes = aligned_bytes(static_cast<std::size_t>(size * size) * size_of(problem_.a));
    return numbers_.tensor(index * bytes, problem_.a, size, size);
  }

  Execution exec_;
  GemmProblem problem_;
  std::unique_ptr<GemmEngine> engine_;
  Arena numbers_;
  Arena workspace_;
};

void report(std::int64_t size) {
  const auto bytes = static_cast<std::size_t>(size * size) * sizeof(float);
  const Arena floats("floats", 3 * aligned_bytes(bytes));
  const Tensor a = floats.tensor(0, DType::fp32, size, size);
  const Tensor b = floats.tensor(aligned_bytes(bytes), DType::fp32, size, size);
  const Tensor result = floats.tensor(2 * aligned_bytes(bytes), DType::fp32, size, size);
  draw(a, "a");
  draw(b, "b");
  const std::vector<double> exact = exact_gemm(a, b);
  std::vector<TypedGemm> gemms;
  std::array<std::vector<double>, types.size()> times;
  gemms.reserve(types.size());
  for (const DType type : types) gemms.emplace_back(type, a, b).run();
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < types.size(); ++i) times[i].push_back(gemms[i].run());
  for (std::size_t i = 0; i < types.size(); ++i) {
    gemms[i].read(result);
    const Errors errors = errors_of(result, exact);
    fmt::print("{} {} {} {:.4f} {:.4g} {:.4g}\n", name_of(types[i]), size, gemms[i].engine(),
               median(times[i]), errors.mean, errors.largest);
    std::fflush(stdout);
  }
}

}  // namespace
}  // namespace mylos

int main(int argument_count, char** arguments) {
  return mylos::run_program(argument_count, arguments, "product_error", [](std::vector<std::string>& words) {
    for (const std::string& word : words) {
      const std::int64_t size = std::atoll(word.c_str());
      if (size < 1 || size > mylos::max_size)
        mylos::fail_input(mylos::errors::bad_argument, "\"{}\" is not a size from 1 to {}", word,
                          mylos::max_size);
      mylos::report(size);
    }
    return 0;
  });
}
