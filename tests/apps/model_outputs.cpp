// model_outputs MODEL IN TYPE LAYOUT OUT [units]: the outputs of a model for an array of samples.
//
// IN: float [samples, inputs] in binary, which the program's array of TYPE (float, double) and LAYOUT (right,
// left, stride) holds. OUT: the outputs, likewise as floats; the array of outputs has the same type and
// layout. MPI is never started. An error's message goes to standard error.
#include <Kokkos_Core.hpp>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "mylos/mylos.hpp"

namespace {

std::vector<float> read_floats(const char* path) {
  std::vector<float> values(std::filesystem::file_size(path) / sizeof(float));
  std::ifstream(path, std::ios::binary)
      .read(reinterpret_cast<char*>(values.data()),
            static_cast<std::streamsize>(values.size() * sizeof(float)));
  return values;
}

template <class View>
void run(mylos::Model& model, const std::vector<float>& values, const View& x, const View& y,
         mylos::Units units, const char* out) {
  for (std::size_t i = 0; i < x.extent(0); ++i) {
    for (std::size_t j = 0; j < x.extent(1); ++j) x(i, j) = values[i * x.extent(1) + j];
  }
  const mylos::Execution exec;
  model.infer(exec, typename View::const_type(x), y, units);
  exec.fence();
  std::vector<float> found;
  for (std::size_t i = 0; i < y.extent(0); ++i) {
    for (std::size_t j = 0; j < y.extent(1); ++j) found.push_back(static_cast<float>(y(i, j)));
  }
  std::ofstream(out, std::ios::binary)
      .write(reinterpret_cast<const char*>(found.data()),
             static_cast<std::streamsize>(found.size() * sizeof(float)));
}

template <class T>
void run_as(const char* path, const char* in, std::string_view layout, const char* out, mylos::Units units) {
  mylos::Model model(path);
  const std::vector<float> values = read_floats(in);
  const auto inputs = static_cast<std::size_t>(model.inputs());
  const auto outputs = static_cast<std::size_t>(model.outputs());
  const std::size_t samples = values.size() / inputs;
  using Host = Kokkos::HostSpace;
  if (layout == "right") {
    using View = Kokkos::View<T**, Kokkos::LayoutRight, Host>;
    run(model, values, View("x", samples, inputs), View("y", samples, outputs), units, out);
  } else if (layout == "left") {
    using View = Kokkos::View<T**, Kokkos::LayoutLeft, Host>;
    run(model, values, View("x", samples, inputs), View("y", samples, outputs), units, out);
  } else {
    using Whole = Kokkos::View<T***, Kokkos::LayoutRight, Host>;
    using View = Kokkos::View<T**, Kokkos::LayoutStride, Host>;
    const Whole x("x", samples, inputs, 3);
    const Whole y("y", samples, outputs, 2);
    run(model, values, View(Kokkos::subview(x, Kokkos::ALL, Kokkos::ALL, 1)),
        View(Kokkos::subview(y, Kokkos::ALL, Kokkos::ALL, 1)), units, out);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Kokkos::ScopeGuard kokkos(argument_count, arguments);
  if (argument_count < 6) return 2;
  const std::string_view type = arguments[3];
  const bool is_raw = argument_count > 6 && std::string_view(arguments[6]) == "network";
  const mylos::Units units = is_raw ? mylos::Units::network : mylos::Units::data;
  try {
    (type == "double" ? run_as<double> : run_as<float>)(arguments[1], arguments[2], arguments[4],
                                                        arguments[5], units);
  } catch (const mylos::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.code());
  }
}
