// Measures a pool's forward and backward pass on commands, so that it can be interleaved with another
// program.
//
//   step NAME COUNT     median time of both passes in ms; an empty line ends the answer
//
// NAME is KIND/TYPE/GRID/CHANNELS/BATCH/KERNEL/STRIDE, "max/fp32/64x64/32/8/31/1": the kernel has the
// same length along each axis, with half as much padding. Commands come from standard input. pytorch_pool.py
// has the same commands.
#include <fmt/format.h>

#include <Kokkos_Core.hpp>
#include <algorithm>
#include <chrono>
#include <iostream>
#include <map>
#include <sstream>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/numbers/random.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/grid/pooling.hpp"

namespace {

using namespace mylos;

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

class Pool {
 public:
  explicit Pool(const std::string& name) {
    const std::vector<std::string> words = split(name, '/');
    if (words.size() != 7)
      fail_input(errors::bad_argument, "\"{}\" is not KIND/TYPE/GRID/CHANNELS/BATCH/KERNEL/STRIDE", name);
    is_max_ = words[0] == "max";
    if (!is_max_ && words[0] != "average")
      fail_input(errors::bad_argument, "\"{}\" is neither max nor average", words[0]);
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16})
      if (words[1] == name_of(type)) type_ = type;
    const std::vector<std::string> grid = split(words[2], 'x');
    shape_.input.channels = std::stoll(words[3]);
    samples_ = std::stoll(words[4]);
    for (std::size_t i = 0; i < grid.size() && i < 3; ++i) {
      const std::size_t axis = 3 - grid.size() + i;
      shape_.input.extent[axis] = std::stoll(grid[i]);
      shape_.window[axis] = std::stoll(words[5]);
      shape_.stride[axis] = std::stoll(words[6]);
      shape_.padding[axis] = shape_.window[axis] / 2;
    }
    check(shape_);
    x_ = filled(shape_.input.columns());
    dx_ = filled(shape_.input.columns());
    y_ = filled(output_grid(shape_).columns());
    dy_ = filled(output_grid(shape_).columns());
    const PoolWorkspace bytes =
        is_max_ ? max_pool_workspace(shape_, type_, samples_) : average_pool_workspace(shape_, samples_);
    workspace_ = Arena("workspace", std::max(bytes.forward, bytes.backward));
  }

  void step() const {
    const Execution exec;
    const Tensor x = tensor(x_, shape_.input.columns());
    const Tensor dx = tensor(dx_, shape_.input.columns());
    const Tensor y = tensor(y_, output_grid(shape_).columns());
    const Tensor dy = tensor(dy_, output_grid(shape_).columns());
    if (is_max_) {
      max_pool_forward(exec, shape_, x, y, workspace_.data());
      max_pool_backward(exec, shape_, x, y, dy, dx, workspace_.data());
    } else {
      average_pool_forward(exec, shape_, x, y, workspace_.data());
      average_pool_backward(exec, shape_, dy, dx, workspace_.data());
    }
    exec.fence("step");
  }

 private:
  [[nodiscard]] Tensor tensor(const Arena& arena, std::int64_t columns) const {
    return arena.tensor(0, type_, samples_, columns);
  }
  [[nodiscard]] Arena filled(std::int64_t columns) const {
    const std::int64_t count = samples_ * columns;
    const Kokkos::View<float*, Kokkos::HostSpace> drawn("drawn", static_cast<std::size_t>(count));
    const RandomStream stream(1, RandomPurpose::sampling, "pool");
    for (std::int64_t i = 0; i < count; ++i)
      drawn(static_cast<std::size_t>(i)) =
          2 * uniform_from(stream.word(0, 0, static_cast<std::uint64_t>(i))) - 1;
    const Arena floats("floats", static_cast<std::size_t>(count) * sizeof(float));
    const Kokkos::View<float*, Device, Kokkos::MemoryTraits<Kokkos::Unmanaged>> target(
        reinterpret_cast<float*>(floats.data()), static_cast<std::size_t>(count));
    Kokkos::deep_copy(target, drawn);
    Arena arena("matrix", static_cast<std::size_t>(count) * size_of(type_));
    convert(Execution{}, floats.tensor(0, DType::fp32, samples_, columns), tensor(arena, columns));
    Kokkos::fence("filled");
    return arena;
  }

  PoolShape shape_;
  std::int64_t samples_ = 1;
  DType type_ = DType::fp32;
  bool is_max_ = true;
  Arena x_, dx_, y_, dy_, workspace_;
};

double milliseconds(const Pool& pool, bool of_processor) {
  const auto start = std::chrono::steady_clock::now();
  const std::clock_t used = std::clock();
  pool.step();
  if (of_processor) return 1e3 * static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void answer(std::istream& commands, bool of_processor) {
  std::map<std::string, Pool> pools;
  for (std::string word, name; commands >> word >> name;) {
    int count = 0;
    commands >> count;
    if (word != "step" || count < 1)
      fail_input(errors::bad_argument, "\"{} {} {}\" is not \"step NAME COUNT\"", word, name, count);
    if (!pools.contains(name)) pools.emplace(name, name);
    const Pool& pool = pools.at(name);
    pool.step();
    std::vector<double> times;
    for (int i = 0; i < count; ++i) times.push_back(milliseconds(pool, of_processor));
    std::nth_element(times.begin(), times.begin() + count / 2, times.end());
    fmt::print("{:.4f}\n\n", times[static_cast<std::size_t>(count / 2)]);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argument_count, char** arguments) {
  const Kokkos::ScopeGuard kokkos(argument_count, arguments);
  try {
    answer(std::cin, argument_count > 1 && std::string(arguments[1]) == "--cpu-time");
  } catch (const Error& error) {
    fmt::print(stderr, "pool_bench: {}\n", error.what());
    return 2;
  }
  return 0;
}
