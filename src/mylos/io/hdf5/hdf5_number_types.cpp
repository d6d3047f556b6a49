#include "mylos/io/hdf5/hdf5_number_types.hpp"

#include <iterator>

namespace mylos::hdf5 {
namespace {

struct FloatFields {
  NumberType type;
  std::size_t bytes, exponent_at, exponent_bits, mantissa_bits, bias;
};
constexpr FloatFields float_types[] = {{NumberType::fp16, 2, 10, 5, 10, 15},
                                       {NumberType::bf16, 2, 7, 8, 7, 127},
                                       {NumberType::fp32, 4, 23, 8, 23, 127},
                                       {NumberType::fp64, 8, 52, 11, 52, 1023}};

std::optional<NumberType> float_type(hid_t type) {
  std::size_t sign = 0;
  std::size_t exponent_at = 0;
  std::size_t exponent_bits = 0;
  std::size_t mantissa_at = 0;
  std::size_t mantissa_bits = 0;
  if (H5Tget_fields(type, &sign, &exponent_at, &exponent_bits, &mantissa_at, &mantissa_bits) < 0)
    return std::nullopt;
  for (const FloatFields& known : float_types) {
    if (H5Tget_size(type) == known.bytes && sign == 8 * known.bytes - 1 && exponent_at == known.exponent_at &&
        exponent_bits == known.exponent_bits && mantissa_at == 0 && mantissa_bits == known.mantissa_bits &&
        H5Tget_ebias(type) == known.bias)
      return known.type;
  }
  return std::nullopt;
}

}  // namespace

std::optional<NumberType> number_type(hid_t type) {
  if (H5Tget_class(type) == H5T_ENUM) {
    const Handle base(H5Tget_super(type), H5Tclose);
    return H5Tget_class(base.id()) == H5T_INTEGER ? number_type(base.id()) : std::nullopt;
  }
  const auto bytes = H5Tget_size(type);
  const auto order = H5Tget_order(type);
  if (bytes > 1 && order != H5T_ORDER_LE && order != H5T_ORDER_BE) return std::nullopt;
  if (H5Tget_class(type) == H5T_FLOAT) return float_type(type);
  if (H5Tget_class(type) != H5T_INTEGER || H5Tget_precision(type) != 8 * bytes) return std::nullopt;
  const bool is_signed = H5Tget_sign(type) == H5T_SGN_2;
  switch (bytes) {
    case 1:
      return is_signed ? NumberType::int8 : NumberType::uint8;
    case 2:
      return is_signed ? NumberType::int16 : NumberType::uint16;
    case 4:
      return is_signed ? NumberType::int32 : NumberType::uint32;
    case 8:
      return is_signed ? NumberType::int64 : NumberType::uint64;
    default:
      return std::nullopt;
  }
}

Handle number_in_memory(NumberType type) {
  switch (type) {
    case NumberType::int8:
      return {H5Tcopy(H5T_NATIVE_INT8), H5Tclose};
    case NumberType::int16:
      return {H5Tcopy(H5T_NATIVE_INT16), H5Tclose};
    case NumberType::uint8:
      return type_in_memory(DType::uint8);
    case NumberType::uint16:
      return type_in_memory(DType::uint16);
    case NumberType::int32:
      return type_in_memory(DType::int32);
    case NumberType::uint32:
      return type_in_memory(DType::uint32);
    case NumberType::int64:
      return type_in_memory(DType::int64);
    case NumberType::uint64:
      return type_in_memory(DType::uint64);
    case NumberType::fp16:
      return type_in_memory(DType::fp16);
    case NumberType::bf16:
      return type_in_memory(DType::bf16);
    case NumberType::fp32:
      return type_in_memory(DType::fp32);
    case NumberType::fp64:
      break;
  }
  return type_in_memory(DType::fp64);
}

std::int64_t size_of(NumberType type) {
  constexpr std::int64_t bytes[] = {1, 1, 2, 2, 4, 4, 8, 8, 2, 2, 4, 8};
  return bytes[static_cast<std::size_t>(type)];
}

std::string_view name_of(NumberType type) {
  constexpr std::string_view names[] = {"int8",  "uint8",  "int16",   "uint16",   "int32",   "uint32",
                                        "int64", "uint64", "float16", "bfloat16", "float32", "float64"};
  return names[static_cast<std::size_t>(type)];
}

}  // namespace mylos::hdf5
