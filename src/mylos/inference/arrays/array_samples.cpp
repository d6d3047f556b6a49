#include "mylos/inference/arrays/array_samples.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/memory_is_host.hpp"
#include "mylos/data/files/meaning/column_names.hpp"

namespace mylos {
namespace {

/// Returns extents as the caller's language writes them: [100, 8], in Fortran (8, 100).
std::string text_of(std::span<const std::int64_t> extents, ArrayOrder order) {
  if (order == ArrayOrder::c) return fmt::format("[{}]", fmt::join(extents, ", "));
  std::vector<std::int64_t> all(extents.begin(), extents.end());
  if (order == ArrayOrder::fortran) std::reverse(all.begin(), all.end());
  return fmt::format("({})", fmt::join(all, ", "));
}

std::string text_of(const ConstArray& array) {
  return text_of(std::span(array.extents).first(static_cast<std::size_t>(array.rank)), array.order);
}

std::string text_of_samples(const ArraySamples& samples) {
  return text_of({samples.leading.extent, static_cast<std::size_t>(samples.leading.rank)}, samples.order);
}

std::string names_text(const SampleFormat& format) {
  return format.names.empty() ? "" : fmt::format(": {}", list_of_names(format.names));
}

/// Returns how many of the last dimensions are a sample.
int dimensions_of_sample(const ConstArray& array, const SampleFormat& format) {
  const auto dimensions = static_cast<int>(format.shape.size());
  const auto end = array.extents.begin() + array.rank;
  if (dimensions <= array.rank && std::equal(format.shape.begin(), format.shape.end(), end - dimensions))
    return dimensions;
  if (*(end - 1) == format.size) return 1;
  refuse_samples(array, format);
}

void require_valid(const ConstArray& array, const SampleFormat& format) {
  if (array.rank < 1 || array.rank > max_array_rank) {
    fail_input(errors::bad_call, "{} has {} dimensions; 1 to {} are possible", format.name, array.rank,
               max_array_rank);
  }
  for (int d = 0; d < array.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (array.extents[i] < 0) fail_input(errors::bad_call, "{} is {}", format.name, text_of(array));
    if (array.extents[i] <= 1 || array.strides[i] > 0) continue;
    fail_input(errors::bad_call, "{}: dimension {} (counted from {}) has the stride {}; strides are positive",
               format.name, number_of_dimension(array.order, array.rank, d),
               array.order == ArrayOrder::c ? 0 : 1, array.strides[i]);
  }
  if (array.on_device && memory_is_host)
    fail_input(errors::bad_call, "{} lies in device memory, which this build does not use", format.name);
}

std::int64_t bytes_of(ElementType type) {
  return type == ElementType::fp64 ? 8 : type == ElementType::fp32 ? 4 : 2;
}

/// A dimension for the comparison of addresses.
struct Reach {
  std::int64_t extent;
  std::int64_t stride;  // in bytes
};

/// Returns the bytes from the first byte to the end of the last element.
std::int64_t span_of(std::span<const Reach> dimensions, std::int64_t element) {
  return std::accumulate(dimensions.begin(), dimensions.end(), element,
                         [](std::int64_t sum, const Reach& d) { return sum + (d.extent - 1) * d.stride; });
}

/// All dimensions of an array of more than one element, the largest stride first.
class Addresses {
 public:
  explicit Addresses(const ArraySamples& samples) : element_(samples.element_bytes) {
    for (const StridedIndex* index : {&samples.leading, &samples.value}) {
      for (int d = 0; d < index->rank; ++d) {
        if (index->extent[d] > 1) all_[size_++] = {index->extent[d], index->stride[d] * element_};
      }
    }
    std::sort(all_, all_ + size_, [](const Reach& a, const Reach& b) { return a.stride > b.stride; });
  }

  [[nodiscard]] std::span<const Reach> dimensions() const { return {all_, static_cast<std::size_t>(size_)}; }
  [[nodiscard]] std::int64_t element() const { return element_; }

  /// Returns whether two indices have the same address, as far as it shows.
  [[nodiscard]] bool repeats() const {
    std::span<const Reach> rest = dimensions();
    for (; !rest.empty(); rest = rest.subspan(1)) {
      if (span_of(rest.subspan(1), element_) > rest.front().stride) return true;
    }
    return false;
  }

 private:
  std::int64_t element_;
  Reach all_[2 * max_array_rank] = {};
  int size_ = 0;
};

/// Returns whether the elements of `a`, from address 0 on, and those of `b`, from `distance` on, may have
/// bytes in common. Arrays interleaved with the same strides are distinguished; others are taken to overlap
/// if their ranges of addresses do.
bool may_overlap(std::span<const Reach> a, std::int64_t of_a, std::span<const Reach> b, std::int64_t of_b,
                 std::int64_t distance) {
  if (distance >= span_of(a, of_a) || -distance >= span_of(b, of_b)) return false;
  if (a.empty() || b.empty() || a.front().stride != b.front().stride) return true;
  const std::int64_t stride = a.front().stride;
  a = a.subspan(1);
  b = b.subspan(1);
  if (span_of(a, of_a) > stride || span_of(b, of_b) > stride) return true;
  const std::int64_t shift = (distance % stride + stride) % stride;
  return may_overlap(a, of_a, b, of_b, shift) || may_overlap(a, of_a, b, of_b, shift - stride);
}

}  // namespace

int number_of_dimension(ArrayOrder order, int rank, int d) {
  if (order == ArrayOrder::c) return d;
  return order == ArrayOrder::fortran ? rank - d : d + 1;
}

void refuse_samples(const ConstArray& array, const SampleFormat& format) {
  const char* const dimension = array.order == ArrayOrder::fortran ? "first" : "last";
  const char* const otherwise = array.order == ArrayOrder::c ? ""
                                : array.order == ArrayOrder::fortran
                                    ? " (the last with columns_first = .true.)"
                                    : " (the first without columns_first)";
  if (format.shape.size() == 1) {
    fail_input(errors::bad_call,
               "{} is {}, but a sample of the network has {} {}{}; they are the {} dimension{}", format.name,
               text_of(array), format.size, format.values, names_text(format), dimension, otherwise);
  }
  fail_input(
      errors::bad_call,
      "{} is {}, but a sample of the network is {}{}; these are the {} dimensions{}, or the {} one is {}",
      format.name, text_of(array), text_of(format.shape, array.order), names_text(format), dimension,
      otherwise, dimension, format.size);
}

void StridedIndex::append(std::int64_t its_extent, std::int64_t its_stride) {
  if (its_extent == 1) return;
  if (rank > 0 && stride[rank - 1] == its_extent * its_stride) {
    extent[rank - 1] *= its_extent;
    stride[rank - 1] = its_stride;
    return;
  }
  extent[rank] = its_extent;
  stride[rank] = its_stride;
  ++rank;
}

ArraySamples samples_of(const ConstArray& array, const SampleFormat& format) {
  require_valid(array, format);
  const int first = array.rank - dimensions_of_sample(array, format);
  ArraySamples samples;
  samples.name = format.name;
  samples.data = const_cast<void*>(array.data);
  samples.type = array.type;
  samples.element_bytes = bytes_of(array.type);
  samples.on_device = array.on_device;
  samples.order = array.order;
  samples.count = 1;
  for (int d = 0; d < array.rank; ++d) {
    const auto i = static_cast<std::size_t>(d);
    if (d >= first) {
      samples.value.append(array.extents[i], array.strides[i]);
      continue;
    }
    samples.count *= array.extents[i];
    if (array.extents[i] == 1) continue;
    samples.leading.extent[samples.leading.rank] = array.extents[i];
    samples.leading.stride[samples.leading.rank++] = array.strides[i];
  }
  if (samples.data == nullptr && samples.count > 0)
    fail_input(errors::bad_call, "{} is {}, but its address is null", format.name, text_of(array));
  return samples;
}

ArraySamples samples_of(const Array& array, const SampleFormat& format) {
  return samples_of(const_array_of(array), format);
}

ArraySamples numbers_of(const Array& array, const char* name) {
  if (array.rank >= max_array_rank)
    fail_input(errors::bad_call, "{} has {} dimensions; x has fewer besides those of a sample", name,
               array.rank);
  static const std::vector<std::int64_t> shape{1};
  static const std::vector<std::string> no_names;
  Array of_ones = array;  // samples of one value
  if (array.rank >= 1) {
    const auto last = static_cast<std::size_t>(of_ones.rank++);
    of_ones.extents[last] = of_ones.strides[last] = 1;
  }
  return samples_of(of_ones, {name, "numbers", shape, no_names, 1});
}

ArraySamples numbers_of(const FlagArray& array, const char* name) {
  ArraySamples samples = numbers_of(
      Array{array.data, ElementType::fp32, array.rank, array.extents, array.strides, array.on_device}, name);
  samples.element_bytes = 1;
  return samples;
}

void require_apart(const ArraySamples& x, const ArraySamples& y) {
  if (x.count == 0 || x.on_device != y.on_device) return;
  const Addresses read(x);
  const Addresses written(y);
  const std::int64_t distance = static_cast<std::byte*>(y.data) - static_cast<std::byte*>(x.data);
  if (may_overlap(read.dimensions(), read.element(), written.dimensions(), written.element(), distance))
    fail_input(errors::bad_call, "{} and {} overlap in memory", x.name, y.name);
}

void match_samples(ArraySamples& x, ArraySamples& y) {
  const StridedIndex& in = x.leading;
  const StridedIndex& out = y.leading;
  if (in.rank != out.rank || !std::equal(in.extent, in.extent + in.rank, out.extent)) {
    fail_input(errors::bad_call,
               "{} has {} samples and {} {}; the dimensions {} those of a sample must agree", x.name,
               text_of_samples(x), y.name, text_of_samples(y),
               x.order == ArrayOrder::fortran ? "after" : "before");
  }
  if (x.count == 0) return;
  if (Addresses(y).repeats())
    fail_input(errors::bad_call, "the strides of {} give several of its elements the same address", y.name);
  require_apart(x, y);
  std::array<std::size_t, max_array_rank> order{};
  const auto is_outer = [&](std::size_t a, std::size_t b) { return in.stride[a] > in.stride[b]; };
  for (std::size_t d = 0; d < static_cast<std::size_t>(in.rank);
       ++d) {  // by insertion: there are at most five
    order[d] = d;
    const auto end = order.begin() + static_cast<std::ptrdiff_t>(d);
    std::rotate(std::upper_bound(order.begin(), end, d, is_outer), end, end + 1);
  }
  x.sample = y.sample = {};
  for (std::size_t d = 0; d < static_cast<std::size_t>(in.rank); ++d) {
    x.sample.append(in.extent[order[d]], in.stride[order[d]]);
    y.sample.append(out.extent[order[d]], out.stride[order[d]]);
  }
}

ArraySamples array_of_rows(const Tensor& rows) {
  ArraySamples array;
  array.data = rows.data();
  array.count = rows.rows();
  array.sample.append(rows.rows(), rows.columns());
  array.value.append(rows.columns(), 1);
  return array;
}

}  // namespace mylos
