// How long a call of a model takes: Mylos' side of call_vs_runtimes.py and vjp_vs_pytorch.py.
//
//   call_bench MODEL INPUTS [double]      double: the model computes in double
//
// INPUTS: float [samples, inputs] in binary. Commands, one per line on standard input; every answer ends with
// an empty line.
//
//   step SAMPLES COUNT    ms of a call for the first SAMPLES rows: the median of COUNT measurements, each of
//   as
//                         many calls as take 20 ms, and of 4 at least
//   vjp SAMPLES COUNT     likewise of Model::vjp(), of the same weights for all outputs
//   write SAMPLES FILE    writes the outputs of such a call as float in binary
//   memory 1 1            MB of the model without and with derivatives
//
// Arrays are those of a program: float in host memory. Every call is complete before the next one.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mylos/base/execution.hpp"
#include "mylos/inference/model.hpp"

namespace {

using Array = Kokkos::View<float**, Kokkos::LayoutRight, Kokkos::HostSpace>;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

class Calls {
 public:
  Calls(const std::string& model, const std::string& inputs, bool in_double)
      : path_(model), in_double_(in_double), model_(model, {.in_double = in_double}) {
    const auto columns = static_cast<std::size_t>(model_.inputs());
    const std::size_t rows = std::filesystem::file_size(inputs) / sizeof(float) / columns;
    inputs_ = Array("inputs", rows, columns);
    outputs_ = Array("outputs", rows, static_cast<std::size_t>(model_.outputs()));
    std::ifstream(inputs, std::ios::binary)
        .read(reinterpret_cast<char*>(inputs_.data()),
              static_cast<std::streamsize>(inputs_.size() * sizeof(float)));
  }

  void call(std::size_t samples) {
    const auto rows = std::make_pair(std::size_t{0}, samples);
    model_.infer(exec_, Kokkos::subview(inputs_, rows, Kokkos::ALL),
                 Kokkos::subview(outputs_, rows, Kokkos::ALL));
    exec_.fence();
  }

  void call_vjp(std::size_t samples) {
    const auto rows = std::make_pair(std::size_t{0}, samples);
    derivatives().vjp(exec_, Kokkos::subview(inputs_, rows, Kokkos::ALL),
                      Kokkos::subview(seeds_, rows, Kokkos::ALL),
                      Kokkos::subview(gradients_, rows, Kokkos::ALL));
    exec_.fence();
  }

  /// MB of the model without and with derivatives.
  [[nodiscard]] std::pair<double, double> megabytes() {
    return {static_cast<double>(model_.bytes().total()) * 1e-6,
            static_cast<double>(derivatives().bytes().total()) * 1e-6};
  }

  /// `call`: of the samples.
  template <class Call>
  [[nodiscard]] double median_milliseconds(const Call& call, int count) {
    for (int i = 0; i < 2; ++i) call();
    std::vector<double> times;
    for (int i = 0; i < count; ++i) {
      const auto start = Clock::now();
      int calls = 0;
      for (; calls < 4 || milliseconds_since(start) < 20; ++calls) call();
      times.push_back(milliseconds_since(start) / calls);
    }
    std::nth_element(times.begin(), times.begin() + count / 2, times.end());
    return times[static_cast<std::size_t>(count / 2)];
  }

  void write(std::size_t samples, const std::string& path) {
    call(samples);
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(outputs_.data()),
               static_cast<std::streamsize>(samples * outputs_.extent(1) * sizeof(float)));
  }

  [[nodiscard]] std::size_t rows() const { return inputs_.extent(0); }

 private:
  /// Opened when it is asked for.
  [[nodiscard]] mylos::Model& derivatives() {
    if (!with_derivatives_) {
      with_derivatives_.emplace(path_, mylos::LoadOptions{.derivatives = true, .in_double = in_double_});
      seeds_ = Array("seeds", inputs_.extent(0), outputs_.extent(1));
      gradients_ = Array("gradients", inputs_.extent(0), inputs_.extent(1));
      Kokkos::deep_copy(seeds_, 1.0F);
    }
    return *with_derivatives_;
  }

  std::string path_;
  bool in_double_;
  mylos::Model model_;
  std::optional<mylos::Model> with_derivatives_;
  mylos::Execution exec_;
  Array inputs_, outputs_, seeds_, gradients_;
};

int answer(Calls& calls) {
  std::string command;
  std::string rest;
  for (std::size_t samples = 0; std::cin >> command >> samples >> rest;) {
    if (samples < 1 || samples > calls.rows()) {
      fmt::print(stderr, "call_bench: {} samples: there are 1 to {}\n", samples, calls.rows());
      return 2;
    }
    const int count = std::max(1, std::atoi(rest.c_str()));
    if (command == "step") {
      fmt::print("{:.6f}\n\n", calls.median_milliseconds([&] { calls.call(samples); }, count));
    } else if (command == "vjp") {
      fmt::print("{:.6f}\n\n", calls.median_milliseconds([&] { calls.call_vjp(samples); }, count));
    } else if (command == "memory") {
      const auto [without, with] = calls.megabytes();
      fmt::print("{:.3f} {:.3f}\n\n", without, with);
    } else if (command == "write") {
      calls.write(samples, rest);
      fmt::print("\n");
    } else {
      fmt::print(stderr, "call_bench: \"{}\" is not one of step, vjp, write, memory\n", command);
      return 2;
    }
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Kokkos::ScopeGuard kokkos(argument_count, arguments);
  const bool in_double = argument_count == 4 && std::string(arguments[3]) == "double";
  if (argument_count != 3 && !in_double) {
    fmt::print(stderr, "usage: call_bench MODEL INPUTS [double]\n");
    return 2;
  }
  try {
    Calls calls(arguments[1], arguments[2], in_double);
    return answer(calls);
  } catch (const mylos::Error& error) {
    fmt::print(stderr, "call_bench: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}
