#include "mylos/model/rollout/feedback_kernels.hpp"

#include "mylos/base/dispatch.hpp"
#include "mylos/base/numbers/random_words.hpp"
#include "mylos/kernels/launch/launch.hpp"
#include "mylos/kernels/pointwise/fields/box_points.hpp"

namespace mylos {
namespace {

/// Returns the normal number of a column by Box and Muller (Annals of Mathematical Statistics 29, 1958): four
/// columns share a random block.
KOKKOS_INLINE_FUNCTION float normal_number(const RandomStream& stream, std::uint64_t step,
                                           std::uint64_t sample, std::int64_t column) {
  const RandomBlock random = stream.block(step, sample, static_cast<std::uint32_t>(column / 4));
  const bool second_pair = column % 4 >= 2;
  const float first = uniform_from(second_pair ? random.word[2] : random.word[0]);
  const float second = uniform_from(second_pair ? random.word[3] : random.word[1]);
  const float radius = Kokkos::sqrt(-2.0f * Kokkos::log(1.0f - first));  // 1 - first is never 0
  const float angle = 6.2831853f * second;
  return radius * (column % 2 == 0 ? Kokkos::cos(angle) : Kokkos::sin(angle));
}

template <class X>
void first_of(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
              const ConstTensor& rows, const InputNoise& noise, const Tensor& input) {
  const X* from = rows.as<X>();
  X* to = input.as<X>();
  const FeedbackEntry* const entries = tables.inputs;
  const std::uint8_t* const counts = tables.counts;
  const Divisor by_channels(shape.inputs);
  const std::int64_t channels = shape.inputs;
  const std::int64_t row_channels = shape.rows;
  const std::int64_t points = shape.points;
  const RandomStream stream = noise.stream;
  const std::uint64_t* const step = noise.step;
  const std::uint64_t first_sample = noise.first_sample;
  const bool is_used = noise.is_used;
  const bool has_box = noise.box.has_value();
  const BoxPoints box(noise.box.value_or(GridBox()));
  for_each_tile(
      exec, "first input", input.rows(), input.columns(),
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i) {
          const std::int64_t point = by_channels.quotient(i);
          const std::int64_t channel = i - point * channels;
          float value = to_float(from[(row * points + point) * row_channels + channel]);
          const bool is_noisy = is_used && (counts == nullptr || counts[i] != 0);
          const float deviation = is_noisy ? entries[channel].noise : 0.0f;
          if (deviation != 0) {
            const std::uint64_t sample = first_sample + static_cast<std::uint64_t>(row);
            const std::int64_t column = has_box ? box.point_of_grid(point) * channels + channel : i;
            value += deviation * normal_number(stream, *step, sample, column);
          }
          to[row * points * channels + i] = from_float<X>(value);
        }
      });
}

template <class X, class Y>
void next_of(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
             std::int64_t copy, const X* previous, const Y* output, const X* rows, const Tensor& next) {
  X* to = next.as<X>();
  const FeedbackEntry* const entries = tables.inputs;
  const std::uint8_t* const counts = tables.counts;
  const Divisor by_channels(shape.inputs);
  const std::int64_t channels = shape.inputs;
  const std::int64_t outputs = shape.outputs;
  const std::int64_t row_channels = shape.rows;
  const std::int64_t points = shape.points;
  for_each_tile(
      exec, "next input", next.rows(), next.columns(),
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i) {
          const std::int64_t point = by_channels.quotient(i);
          const FeedbackEntry entry = entries[i - point * channels];
          const std::int64_t place = row * points + point;
          float value = 0;
          if (entry.previous >= 0) value = to_float(previous[place * channels + entry.previous]);
          if (entry.output >= 0)
            value += entry.scale * to_float(output[place * outputs + entry.output]) + entry.offset;
          if (entry.row >= 0)
            value += to_float(rows[place * row_channels + entry.row + copy * entry.row_step]);
          if (counts != nullptr && counts[i] == 0) value = 0;
          to[row * points * channels + i] = from_float<X>(value);
        }
      });
}

template <class X, class Y>
void output_gradient_of(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                        const X* d_next, const Tensor& d_output, bool adds) {
  Y* to = d_output.as<Y>();
  const OutputReader* const readers = tables.outputs;
  const std::uint8_t* const counts = tables.counts;
  const Divisor by_channels(shape.outputs);
  const std::int64_t channels = shape.inputs;
  const std::int64_t outputs = shape.outputs;
  const std::int64_t points = shape.points;
  for_each_tile(
      exec, "d output", d_output.rows(), d_output.columns(),
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i) {
          const std::int64_t point = by_channels.quotient(i);
          const OutputReader reader = readers[i - point * outputs];
          Y* const place = to + row * points * outputs + i;
          float value = adds ? to_float(*place) : 0.0f;
          const bool is_read =
              reader.input >= 0 && (counts == nullptr || counts[point * channels + reader.input] != 0);
          if (is_read)
            value += reader.scale * to_float(d_next[(row * points + point) * channels + reader.input]);
          *place = from_float<Y>(value);
        }
      });
}

template <class X>
void previous_gradient_of(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                          const X* d_next, const Tensor& d_previous, bool adds) {
  X* to = d_previous.as<X>();
  const PreviousReaders* const all_readers = tables.previous;
  const std::uint8_t* const counts = tables.counts;
  const Divisor by_channels(shape.inputs);
  const std::int64_t channels = shape.inputs;
  const std::int64_t columns = d_previous.columns();
  for_each_tile(
      exec, "d previous", d_previous.rows(), columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        for (std::int64_t i = first; i < first + count; ++i) {
          const std::int64_t point = by_channels.quotient(i);
          const PreviousReaders readers = all_readers[i - point * channels];
          const auto is_read = [=](std::int32_t reader) {
            return reader >= 0 && (counts == nullptr || counts[point * channels + reader] != 0);
          };
          const X* const gradients = d_next + row * columns + point * channels;
          X* const place = to + row * columns + i;
          float value = adds ? to_float(*place) : 0.0f;
          if (is_read(readers.first)) value += to_float(gradients[readers.first]);
          if (is_read(readers.second)) value += to_float(gradients[readers.second]);
          *place = from_float<X>(value);
        }
      });
}

}  // namespace

void first_input(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                 const ConstTensor& rows, const InputNoise& noise, const Tensor& input) {
  dispatch(input.type(), [&]<class X>(TypeTag<X>) { first_of<X>(exec, shape, tables, rows, noise, input); });
}

void next_input(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                std::int64_t copy, const ConstTensor& previous, const ConstTensor& output,
                const ConstTensor& rows, const Tensor& next) {
  dispatch(next.type(), [&]<class X>(TypeTag<X>) {
    dispatch(output.type(), [&]<class Y>(TypeTag<Y>) {
      next_of<X, Y>(exec, shape, tables, copy, previous.empty() ? nullptr : previous.as<X>(), output.as<Y>(),
                    rows.as<X>(), next);
    });
  });
}

void add_output_gradient(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                         const ConstTensor& d_next, const Tensor& d_output, bool adds) {
  dispatch(d_next.type(), [&]<class X>(TypeTag<X>) {
    dispatch(d_output.type(), [&]<class Y>(TypeTag<Y>) {
      output_gradient_of<X, Y>(exec, shape, tables, d_next.as<X>(), d_output, adds);
    });
  });
}

void add_previous_gradient(const Execution& exec, const FeedbackShape& shape, const FeedbackTables& tables,
                           const ConstTensor& d_next, const Tensor& d_previous, bool adds) {
  dispatch(d_next.type(), [&]<class X>(TypeTag<X>) {
    previous_gradient_of<X>(exec, shape, tables, d_next.as<X>(), d_previous, adds);
  });
}

void take_channels(const Execution& exec, std::int64_t points, std::int64_t channels, std::int64_t first,
                   std::int64_t count, std::int64_t rows, const float* from, float* to) {
  const Divisor by_channels(count);
  const std::int64_t columns = points * count;
  for_each_tile(
      exec, "take channels", rows, columns,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t begin, std::int64_t width) {
        for (std::int64_t i = begin; i < begin + width; ++i) {
          const std::int64_t point = by_channels.quotient(i);
          const std::int64_t channel = i - point * count;
          to[row * columns + i] = from[(row * points + point) * channels + first + channel];
        }
      });
}

}  // namespace mylos
