#include "mylos/interchange/onnx/tensor_bytes.hpp"

#include <cstring>

#include "mylos/base/float16.hpp"

namespace mylos {
namespace {

/// Appends each element of type `Stored` as `number` returns it.
template <class Stored, class Values, class Number>
void append(Values& values, std::string_view bytes, std::int64_t size, const Number& number) {
  values.reserve(static_cast<std::size_t>(size));
  for (std::int64_t i = 0; i < size; ++i) {
    Stored stored;
    std::memcpy(&stored, bytes.data() + static_cast<std::size_t>(i) * sizeof(Stored), sizeof(Stored));
    values.push_back(number(stored));
  }
}

}  // namespace

void fill_from_bytes(ForeignTensor& tensor, TensorType type, std::string_view bytes, std::int64_t size) {
  const auto same = [](auto value) { return value; };
  const auto as_integer = [](auto value) { return static_cast<std::int64_t>(value); };
  switch (type) {
    case TensorType::float32:
      return append<float>(tensor.reals, bytes, size, same);
    case TensorType::float16:
      return append<std::uint16_t>(tensor.reals, bytes, size, float16::float_from_half_bits);
    case TensorType::bfloat16:
      return append<std::uint16_t>(tensor.reals, bytes, size, float16::float_from_bfloat16_bits);
    case TensorType::float64:
      return append<double>(tensor.reals, bytes, size,
                            [](double value) { return static_cast<float>(value); });
    case TensorType::int64:
      return append<std::int64_t>(tensor.integers, bytes, size, same);
    case TensorType::int32:
      return append<std::int32_t>(tensor.integers, bytes, size, as_integer);
    case TensorType::boolean:
      return append<std::uint8_t>(tensor.integers, bytes, size, as_integer);
  }
}

}  // namespace mylos
