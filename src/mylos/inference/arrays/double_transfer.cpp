#include "mylos/inference/arrays/double_transfer.hpp"

#include "mylos/inference/arrays/element_types.hpp"

namespace mylos {
namespace {

/// Calls each(element of the array, number of a row) for all samples and values.
template <class Element, class Number, class Each>
void for_each_number(const SampleRange& samples, const ValueRange& values, Number* rows, std::int64_t stride,
                     const Each& each) {
  auto* const data = static_cast<Element*>(samples.array.data);
  const StridedIndex& value = samples.array.value;
  const std::int64_t step = value.step() * values.step;
  for (std::int64_t s = 0; s < samples.count; ++s, rows += stride) {
    Element* const sample = data + samples.array.sample.offset(samples.first + s);
    if (step != 0) {
      Element* const first = sample + value.offset(values.first);
      for (std::int64_t i = 0; i < values.count; ++i) each(first[i * step], rows[i]);
    } else {
      for (std::int64_t i = 0; i < values.count; ++i)
        each(sample[value.offset(values.first + i * values.step)], rows[i]);
    }
  }
}

template <class To>
To leaving_double(double value) {
  if constexpr (std::is_same_v<To, double>) {
    return value;
  } else {
    return leaving<To>(static_cast<float>(value));
  }
}

}  // namespace

void read_doubles(const SampleRange& from, const ValueRange& values, double* rows, std::int64_t stride) {
  dispatch_element(from.array.type, [&](auto element) {
    using Element = const typename decltype(element)::type;
    for_each_number<Element>(from, values, rows, stride, [](Element& value, double& number) {
      if constexpr (std::is_same_v<Element, const double>) {
        number = value;
      } else {
        number = static_cast<double>(entering(value));
      }
    });
  });
}

void write_doubles(const double* rows, std::int64_t stride, const SampleRange& to, const ValueRange& values) {
  dispatch_element(to.array.type, [&](auto element) {
    using Element = typename decltype(element)::type;
    for_each_number<Element>(to, values, rows, stride, [](Element& value, const double& number) {
      value = leaving_double<Element>(number);
    });
  });
}

}  // namespace mylos
