#include "mylos/inference/rollout/fourier.hpp"

#include <cmath>
#include <numbers>

namespace mylos {
namespace {

std::int64_t smallest_divisor(std::int64_t number) {
  for (std::int64_t divisor = 2; divisor * divisor <= number; ++divisor)
    if (number % divisor == 0) return divisor;
  return number;
}

}  // namespace

FourierTransform::FourierTransform(std::int64_t length)
    : roots_(static_cast<std::size_t>(length)),
      line_(static_cast<std::size_t>(length)),
      factor_(static_cast<std::size_t>(length)) {
  for (std::int64_t j = 0; j < length; ++j) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(length);
    roots_[static_cast<std::size_t>(j)] = {std::cos(angle), std::sin(angle)};
  }
}

void FourierTransform::transform(const std::complex<double>* values, std::int64_t stride, std::int64_t count,
                                 std::complex<double>* to) {
  if (count == 1) {
    *to = *values;
    return;
  }
  const std::int64_t parts = smallest_divisor(count);
  const std::int64_t length = count / parts;  // of a part: every `parts`-th value
  for (std::int64_t part = 0; part < parts; ++part)
    transform(values + part * stride, stride * parts, length, to + part * length);
  const std::int64_t step = this->length() / count;  // exp(-2 pi i j / count) is root j * step
  for (std::int64_t k = 0; k < length; ++k) {
    for (std::int64_t part = 0; part < parts; ++part)
      factor_[static_cast<std::size_t>(part)] = to[part * length + k];
    for (std::int64_t q = 0; q < parts; ++q) {
      const std::int64_t index = q * length + k;
      std::complex<double> sum = factor_[0];
      for (std::int64_t part = 1; part < parts; ++part)
        sum += factor_[static_cast<std::size_t>(part)] *
               roots_[static_cast<std::size_t>(part * index % count * step)];
      to[index] = sum;
    }
  }
}

void FourierTransform::apply(std::complex<double>* values, std::int64_t stride) {
  transform(values, stride, length(), line_.data());
  for (std::int64_t j = 0; j < length(); ++j) values[j * stride] = line_[static_cast<std::size_t>(j)];
}

void transform_field(std::span<const std::int64_t> extents, std::span<FourierTransform> axes,
                     std::span<std::complex<double>> values) {
  const auto total = static_cast<std::int64_t>(values.size());
  std::int64_t stride = total;
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    const std::int64_t around = stride;  // values of a block that this axis and the ones after it span
    stride /= extents[axis];
    for (std::int64_t block = 0; block < total; block += around)
      for (std::int64_t line = 0; line < stride; ++line)
        axes[axis].apply(values.data() + block + line, stride);
  }
}

}  // namespace mylos
