#include "mylos/api/arrays.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/float16.hpp"
#include "mylos/inference/arrays/array_samples.hpp"

namespace mylos::api {
namespace {

static_assert(static_cast<int>(ElementType::fp32) == MYLOS_FP32);
static_assert(static_cast<int>(ElementType::fp64) == MYLOS_FP64);
static_assert(static_cast<int>(ElementType::fp16) == MYLOS_FP16);
static_assert(static_cast<int>(ElementType::bf16) == MYLOS_BF16);
static_assert(max_array_rank == MYLOS_MAX_RANK);
static_assert(static_cast<int>(ArrayOrder::c) == MYLOS_C_ORDER);
static_assert(static_cast<int>(ArrayOrder::fortran) == MYLOS_FORTRAN_ORDER);
static_assert(static_cast<int>(ArrayOrder::columns_first) == MYLOS_COLUMNS_FIRST);

/// Beyond it, offsets of elements would not fit their type.
constexpr std::int64_t max_elements = std::int64_t{1} << 48;

ArrayOrder order_of(std::int32_t order, const char* name) {
  if (order < MYLOS_C_ORDER || order > MYLOS_COLUMNS_FIRST)
    fail_input(errors::bad_call, "{}: {} is no mylos_order; set it to 0", name, order);
  return static_cast<ArrayOrder>(order);
}

template <class Elements, class Given>
Elements checked(const Given* given, const char* name) {
  if (given == nullptr) fail_input(errors::bad_call, "{}: the description of the array is null", name);
  if (given->rank < 1 || given->rank > MYLOS_MAX_RANK)
    fail_input(errors::bad_call, "{}: an array of rank {}; ranks are 1 to {}", name, given->rank,
               MYLOS_MAX_RANK);
  if (given->type < MYLOS_FP32 || given->type > MYLOS_BF16)
    fail_input(errors::bad_call, "{}: {} is no mylos_type; it is MYLOS_FP32, _FP64, _FP16 or _BF16", name,
               given->type);
  Elements elements;
  elements.data = given->data;
  elements.type = static_cast<ElementType>(given->type);
  elements.rank = given->rank;
  elements.on_device = flag_of(given->on_device, "on_device");
  elements.order = order_of(given->order, name);
  std::int64_t count = 1;
  for (std::size_t d = 0; d < static_cast<std::size_t>(given->rank); ++d) {
    const std::int64_t extent = given->extents[d];
    const std::int64_t stride = given->strides[d];
    const int number = number_of_dimension(elements.order, given->rank, static_cast<int>(d));
    if (extent < 0 || extent > max_elements / std::max<std::int64_t>(count, 1))
      fail_input(errors::bad_call,
                 "{}: extent {} of dimension {}; extents are 0 or more, of at most 2^48 "
                 "elements together",
                 name, extent, number);
    count *= extent;
    if (extent > 1 && (stride < 1 || stride > max_elements / extent))
      fail_input(
          errors::bad_call,
          "{}: stride {} of dimension {}; strides are in elements, 1 or more, and an array spans at most "
          "2^48",
          name, stride, number);
    elements.extents[d] = extent;
    elements.strides[d] = stride;
  }
  if (elements.data == nullptr && count > 0)
    fail_input(errors::bad_call, "{}: the data pointer is null; in Fortran, the array is not allocated",
               name);
  if (elements.on_device && memory_is_host)
    fail_input(errors::bad_call, "{}: on_device is set, but this build has no device", name);
  return elements;
}

struct Sizes {
  std::int64_t samples = 1;
  std::int64_t values = 1;
};

template <class T>
SampleRows<T> rows_at(T* data, const Sizes& sizes) {
  return SampleRows<T>(data, static_cast<std::size_t>(sizes.samples), static_cast<std::size_t>(sizes.values));
}

template <class T>
float float_of(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<float>(value);
  else
    return to_float(value);
}

template <class T>
T element_of(float value) {
  if constexpr (std::is_floating_point_v<T>)
    return static_cast<T>(value);
  else
    return from_float<T>(value);
}

/// How the last dimensions make a sample of `values`.
Sizes sizes_of(const ConstArray& array, std::int64_t values, const char* name) {
  const auto product = [&](int begin, int end) {
    std::int64_t count = 1;
    for (int d = begin; d < end; ++d) count *= array.extents[static_cast<std::size_t>(d)];
    return count;
  };
  for (int first = array.rank - 1; first >= 0; --first) {
    if (product(first, array.rank) == values) return {product(0, first), values};
  }
  if (product(0, array.rank) == 0) return {0, values};
  refuse_samples(array, {name, "values", {values}, {}, values});
}

/// Whether the elements lie one after the other.
template <class Elements>
bool is_contiguous(const Elements& array) {
  std::int64_t expected = 1;
  for (int d = array.rank - 1; d >= 0; --d) {
    const std::int64_t extent = array.extents[static_cast<std::size_t>(d)];
    if (extent > 1 && array.strides[static_cast<std::size_t>(d)] != expected) return false;
    expected *= extent;
  }
  return true;
}

template <class Elements>
bool is_rows_of_kernels(const Elements& array) {
  return array.type == ElementType::fp32 && is_contiguous(array) && (memory_is_host || array.on_device);
}

/// Calls f(data of the array's type).
template <class Elements, class Function>
void with_type(const Elements& array, const Function& f) {
  constexpr bool read_only = std::is_const_v<std::remove_pointer_t<decltype(array.data)>>;
  const auto as = [&]<class T>(T) {
    f(static_cast<std::conditional_t<read_only, const T*, T*>>(array.data));
  };
  switch (array.type) {
    case ElementType::fp32:
      return as(float{});
    case ElementType::fp64:
      return as(double{});
    case ElementType::fp16:
      return as(half{});
    case ElementType::bf16:
      return as(bfloat16{});
  }
}

/// Calls f(offset of an element, its number) for all elements in the order of rows.
template <class Elements, class Function>
void for_each_element(const Elements& array, const Function& f) {
  const auto last = static_cast<std::size_t>(array.rank) - 1;
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < last; ++d) outer *= array.extents[d];
  std::array<std::int64_t, MYLOS_MAX_RANK> index{};
  std::int64_t number = 0;
  for (std::int64_t line = 0; line < outer; ++line) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < last; ++d) offset += index[d] * array.strides[d];
    for (std::int64_t i = 0; i < array.extents[last]; ++i) f(offset + i * array.strides[last], number++);
    for (std::size_t d = last; d-- > 0;) {
      if (++index[d] < array.extents[d]) break;
      index[d] = 0;
    }
  }
}

}  // namespace

ConstArray elements_of(const mylos_const_array* array, const char* name) {
  return checked<ConstArray>(array, name);
}

Array elements_of(const mylos_array* array, const char* name) {
  return checked<Array>(array, name);
}

void require_pointer(const void* pointer, const char* call, const char* name) {
  if (pointer == nullptr) fail_input(errors::bad_call, "{}: {} is null", call, name);
}

bool flag_of(std::int32_t value, const char* name) {
  if (value != 0 && value != 1) fail_input(errors::bad_call, "{} is {}; it is 0 or 1", name, value);
  return value == 1;
}

SampleRows<float> Rows::rows() const {
  return rows_at(memory_.data(), {samples_, values_});
}

void Rows::grow(std::int64_t samples, std::int64_t values) {
  samples_ = samples;
  values_ = values;
  const auto count = static_cast<std::size_t>(samples * values);
  if (memory_.extent(0) >= count) return;
  memory_ = Kokkos::View<float*, Memory>(
      Kokkos::view_alloc("rows of the caller", Kokkos::WithoutInitializing), count);
  host_ = Kokkos::create_mirror_view(Kokkos::WithoutInitializing, memory_);
}

SampleRows<const float> Rows::read(const ConstArray& array, std::int64_t values, const char* name) {
  const Sizes sizes = sizes_of(array, values, name);
  copied_ = !is_rows_of_kernels(array);
  if (!copied_) return rows_at(static_cast<const float*>(array.data), sizes);
  if (array.on_device)
    fail_input(errors::bad_call, "a trainer reads contiguous rows of floats in device memory; copy them");
  grow(sizes.samples, sizes.values);
  float* const to = host_.data();
  with_type(array, [&](const auto* from) {
    for_each_element(array, [&](std::int64_t offset, std::int64_t i) { to[i] = float_of(from[offset]); });
  });
  Kokkos::deep_copy(memory_, host_);
  return rows();
}

SampleRows<float> Rows::write(const Array& array, std::int64_t values, const char* name) {
  const Sizes sizes = sizes_of(const_array_of(array), values, name);
  copied_ = !is_rows_of_kernels(array);
  if (!copied_) return rows_at(static_cast<float*>(array.data), sizes);
  if (array.on_device)
    fail_input(errors::bad_call, "a trainer writes contiguous rows of floats in device memory; copy them");
  grow(sizes.samples, sizes.values);
  return rows();
}

void Rows::fetch(const Array& array) const {
  if (!copied_) return;
  Kokkos::deep_copy(host_, memory_);
  const float* const from = host_.data();
  with_type(array, [&](auto* to) {
    using T = std::remove_pointer_t<decltype(to)>;
    for_each_element(array,
                     [&](std::int64_t offset, std::int64_t i) { to[offset] = element_of<T>(from[i]); });
  });
}

SampleValues<const std::int32_t> Labels::copy(const std::int32_t* labels, std::size_t count) {
  if constexpr (memory_is_host) {
    return SampleValues<const std::int32_t>(labels, count);
  } else {
    if (memory_.extent(0) < count)
      memory_ = Kokkos::View<std::int32_t*, Memory>("labels of the caller", count);
    const Kokkos::View<const std::int32_t*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> from(
        labels, count);
    Kokkos::deep_copy(Kokkos::subview(memory_, Kokkos::make_pair(std::size_t{0}, count)), from);
    return SampleValues<const std::int32_t>(memory_.data(), count);
  }
}

}  // namespace mylos::api
