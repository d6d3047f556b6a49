// Times the pieces of a GPT's training step one by one, as lines of tab-separated values (pieces.hpp).
//
//   step_pieces products|attention|head|kernels [--samples N] [--context N] [--heads N] [--vocabulary N]
//               [--seconds S]
//
// The default sizes are those of GPT-2 124M. scripts/profile-device calls it.
#include <fmt/format.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <string_view>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "pieces.hpp"

namespace mylos::pieces {
namespace {

double seconds_of(const Execution& exec, int count, const std::function<void()>& enqueue) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) enqueue();
  exec.fence();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

template <class T>
void fill_with(const Tensor& tensor, int pattern) {
  T* const to = tensor.as<T>();
  const auto factor = static_cast<std::uint64_t>(pattern);
  for_each_element(
      Execution(), "fill", tensor.rows() * tensor.columns(), KOKKOS_LAMBDA(std::int64_t i) {
        // The high bits of a product with a large odd number look random (Knuth, multiplicative hashing).
        const std::uint64_t hash = (static_cast<std::uint64_t>(i) + factor) * 0x9E3779B97F4A7C15ull;
        to[i] = from_float<T>(static_cast<float>(hash >> 40) * 0x1p-23f - 1.0f);
      });
}

}  // namespace

double milliseconds_of(const Execution& exec, double seconds, const std::function<void()>& enqueue) {
  enqueue();
  exec.fence();
  const double once = seconds_of(exec, 1, enqueue);
  const int count = std::clamp(static_cast<int>(seconds / std::max(once, 1e-9)), 1, 1000);
  std::array<double, 5> found{};
  for (double& each : found) each = seconds_of(exec, count, enqueue) / count;
  std::sort(found.begin(), found.end());
  return 1e3 * found[found.size() / 2];
}

void print_line(const std::string& piece, const std::string& variant, double milliseconds,
                const std::string& detail) {
  fmt::print("{}\t{}\t{:.4f}\t{}\n", piece, variant, milliseconds, detail);
  std::fflush(stdout);
}

void print_refusal(const std::string& piece, const std::string& variant, const std::string& why) {
  fmt::print("{}\t{}\t\t{}\n", piece, variant, why);
  std::fflush(stdout);
}

Matrix::Matrix(DType type, std::int64_t rows, std::int64_t columns, int pattern)
    : memory_("matrix", static_cast<std::size_t>(rows * columns) * size_of(type)),
      tensor_(memory_.tensor(0, type, rows, columns)) {
  dispatch(type, [&]<class T>(TypeTag<T>) { fill_with<T>(tensor_, pattern); });
}

}  // namespace mylos::pieces

namespace {

using mylos::pieces::Subject;

int usage() {
  fmt::print(stderr,
             "usage: step_pieces products|attention|head|kernels [--samples N] [--context N] [--heads N]"
             " [--vocabulary N] [--seconds S]\n");
  return 2;
}

int run(int count, char** arguments) {
  if (count < 2 || count % 2 != 0) return usage();
  Subject subject;
  for (int i = 2; i < count; i += 2) {
    const std::string_view key = arguments[i];
    const char* const value = arguments[i + 1];
    if (key == "--samples") {
      subject.samples = std::atoll(value);
    } else if (key == "--context") {
      subject.context = std::atoll(value);
    } else if (key == "--heads") {
      subject.heads = std::atoll(value);
    } else if (key == "--vocabulary") {
      subject.vocabulary = std::atoll(value);
    } else if (key == "--seconds") {
      subject.seconds = std::atof(value);
    } else {
      return usage();
    }
  }
  if (subject.samples < 1 || subject.context < 1 || subject.heads < 1 || subject.vocabulary < 2)
    return usage();
  const std::string_view what = arguments[1];
  if (what == "products") {
    mylos::pieces::measure_gemms(subject);
  } else if (what == "attention") {
    mylos::pieces::measure_attention(subject);
  } else if (what == "head") {
    mylos::pieces::measure_head(subject);
  } else if (what == "kernels") {
    mylos::pieces::measure_kernels(subject);
  } else {
    return usage();
  }
  return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Kokkos::ScopeGuard kokkos(Kokkos::InitializationSettings().set_disable_warnings(true));
  try {
    return run(argument_count, arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "step_pieces: {}\n", error.what());
    return 1;
  }
}
