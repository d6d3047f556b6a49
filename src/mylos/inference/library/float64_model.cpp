#include "mylos/inference/library/float64_model.hpp"

#include <algorithm>
#include <utility>

#include "mylos/base/device/each_index.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/inference/arrays/double_transfer.hpp"

namespace mylos {
namespace {

using float64::Columns;

/// A multiple of the columns whose sums are in registers at the same time; 128 numbers of each fit in L1.
constexpr std::int64_t max_columns = 24;

std::int64_t columns_of_block(std::int64_t max_samples) {
  return std::min(max_columns, max_samples);
}

void require_on_host(const ArraySamples& array) {
  if (!array.on_device) return;
  fail_input(
      errors::bad_call,
      "{} lies in device memory, and a model that computes in double (LoadOptions::in_double) reads and "
      "writes the host's; copy it there",
      array.name);
}

/// Calls body(block, lane) for all blocks, those of a lane one after the other.
template <class Body>
void share_out(const Execution& exec, std::int64_t blocks, std::int64_t lanes, const Body& body) {
  const auto run_lane = [&](std::int64_t lane) {
    for (std::int64_t block = lane; block < blocks; block += lanes)
      body(block, static_cast<std::size_t>(lane));
  };
  if constexpr (runs_on_host) {
    if (blocks > 1) return for_each_index(exec, "double", std::min(blocks, lanes), run_lane);
  }
  for (std::int64_t lane = 0; lane < std::min(blocks, lanes); ++lane) run_lane(lane);
}

void fill(const Columns& columns, std::int64_t count, double value) {
  for (std::int64_t c = 0; c < count; ++c) std::fill_n(columns.of(c), columns.stride, value);
}

void set(const Columns& columns, std::int64_t count, std::int64_t number, double value) {
  for (std::int64_t c = 0; c < count; ++c) columns.of(c)[number] = value;
}

}  // namespace

/// Samples [first, first + count), whose results are written from `to` on, and the buffers of the lane that
/// computes them.
struct Float64Model::Block {
  std::int64_t first;
  std::int64_t count;
  std::int64_t to;
  const std::vector<Columns>& buffers;

  void read(const ArraySamples& from, std::size_t buffer, std::int64_t values) const {
    const Columns& rows = buffers[buffer];
    read_doubles({from, first, count}, {.count = values}, rows.data, rows.stride);
  }
  /// Writes numbers of the buffer from `offset` on.
  void write(std::size_t buffer, std::int64_t offset, const ArraySamples& array,
             const ValueRange& values) const {
    const Columns& rows = buffers[buffer];
    write_doubles(rows.data + offset, rows.stride, {array, to, count}, values);
  }
};

Float64Model::Float64Model(std::shared_ptr<const Float64Network> network, int lanes, std::int64_t max_samples)
    : network_(std::move(network)),
      columns_(columns_of_block(max_samples)),
      memory_(Kokkos::view_alloc(Kokkos::WithoutInitializing, "columns in double"),
              memory_bytes(*network_, lanes, max_samples) / sizeof(double)) {
  for (int lane = 0; lane < lanes; ++lane)
    lanes_.push_back(
        network_->buffers().placed(memory_.data() + lane * columns_ * network_->buffers().width(), columns_));
}

Float64Model::Float64Model(const Float64Model& other)
    : Float64Model(other.network_, static_cast<int>(other.lanes_.size()), other.columns_) {}

std::int64_t Float64Model::samples_of(int lanes, std::int64_t max_samples) {
  return lanes * columns_of_block(max_samples);
}

std::size_t Float64Model::memory_bytes(const Float64Network& network, int lanes, std::int64_t max_samples) {
  return static_cast<std::size_t>(samples_of(lanes, max_samples) * network.buffers().width()) *
         sizeof(double);
}

template <class Body>
void Float64Model::for_each_block(const Execution& exec, const ArraySamples& x, const SampleSpan& range,
                                  const Body& body) const {
  const std::int64_t blocks = (range.count + columns_ - 1) / columns_;
  share_out(exec, blocks, static_cast<std::int64_t>(lanes_.size()),
            [&](std::int64_t block, std::size_t lane) {
              const std::int64_t done = block * columns_;
              const Block of{range.first + done, std::min(columns_, range.count - done), range.to + done,
                             lanes_[lane]};
              of.read(x, network_->places().x, network_->inputs());
              body(of);
            });
}

void Float64Model::write_bounds(const Block& block, double sign, const ArraySamples& to) const {
  const std::int64_t outputs = network_->outputs();
  const ConformalCalibration& calibration = *network_->calibration();
  const auto [y, all_bounds] =
      std::pair(block.buffers[network_->places().y], block.buffers[network_->places().bounds]);
  for (std::int64_t c = 0; c < block.count; ++c) {
    const double* const means = y.of(c);
    double* const bounds = all_bounds.of(c);
    for (std::int64_t o = 0; o < outputs; ++o) {
      const double deviation = network_->has_deviations() ? means[outputs + o] : 0;
      bounds[o] = means[o] + sign * calibration.half_width(static_cast<std::size_t>(o), deviation);
    }
  }
  block.write(network_->places().bounds, 0, to, {.count = outputs});
}

void Float64Model::infer(const Execution& exec, const ArraySamples& x, const ArraySamples& y,
                         const SampleSpan& range, Units units, const UncertainSamples& more) {
  for (const ArraySamples* const array : {&x, &y, more.deviation, more.lower, more.upper})
    if (array != nullptr) require_on_host(*array);
  const std::int64_t outputs = network_->outputs();
  const std::size_t found = network_->places().y;
  for_each_block(exec, x, range, [&](const Block& block) {
    network_->forward().run(block.count, units, block.buffers);
    block.write(found, 0, y, {.count = outputs});
    if (more.deviation != nullptr) block.write(found, outputs, *more.deviation, {.count = outputs});
    if (more.lower != nullptr) write_bounds(block, -1, *more.lower);
    if (more.upper != nullptr) write_bounds(block, 1, *more.upper);
  });
}

void Float64Model::vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy,
                       const ArraySamples& dx, const SampleSpan& range, Units units) {
  for (const ArraySamples* const array : {&x, &dy, &dx}) require_on_host(*array);
  const Float64Network::Places& places = network_->places();
  for_each_block(exec, x, range, [&](const Block& block) {
    network_->tape().run(block.count, units, block.buffers);
    fill(block.buffers[places.dy], block.count, 0);  // of standard deviations too
    fill(block.buffers[places.dx], block.count, 0);  // where no output depends on the inputs
    block.read(dy, places.dy, network_->outputs());
    network_->pullback().run(block.count, units, block.buffers);
    block.write(places.dx, 0, dx, {.count = network_->inputs()});
  });
}

void Float64Model::jvp(const Execution& exec, const ArraySamples& x, const ArraySamples& dx,
                       const ArraySamples& dy, const SampleSpan& range, Units units) {
  for (const ArraySamples* const array : {&x, &dx, &dy}) require_on_host(*array);
  const Float64Network::Places& places = network_->places();
  for_each_block(exec, x, range, [&](const Block& block) {
    network_->tape().run(block.count, units, block.buffers);
    block.read(dx, places.dx, network_->inputs());
    network_->tangent().run(block.count, units, block.buffers);
    block.write(places.dy, 0, dy, {.count = network_->outputs()});
  });
}

/// By rows or by columns of J, whichever are fewer.
void Float64Model::jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to,
                            const SampleSpan& range, Units units) {
  for (const ArraySamples* const array : {&x, &to}) require_on_host(*array);
  const std::int64_t inputs = network_->inputs();
  const std::int64_t outputs = network_->outputs();
  const Float64Network::Places& places = network_->places();
  const bool by_rows = outputs <= inputs;
  const std::size_t seed = by_rows ? places.dy : places.dx;
  const std::size_t found = by_rows ? places.dx : places.dy;
  const float64::Program& program = by_rows ? network_->pullback() : network_->tangent();
  for_each_block(exec, x, range, [&](const Block& block) {
    network_->tape().run(block.count, units, block.buffers);
    for (std::int64_t i = 0; i < std::min(inputs, outputs); ++i) {
      fill(block.buffers[seed], block.count, 0);
      fill(block.buffers[found], block.count, 0);
      set(block.buffers[seed], block.count, i, 1);
      program.run(block.count, units, block.buffers);
      const ValueRange row{.first = i * inputs, .step = 1, .count = inputs};
      const ValueRange column{.first = i, .step = inputs, .count = outputs};
      block.write(found, 0, to, by_rows ? row : column);
    }
  });
}

}  // namespace mylos
