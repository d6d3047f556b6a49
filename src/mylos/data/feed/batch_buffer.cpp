#include "mylos/data/feed/batch_buffer.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <limits>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/error.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/data/feed/augmentation.hpp"

namespace mylos {
namespace {

/// The largest float that T rounds to a finite value.
template <class T>
constexpr float largest = std::numeric_limits<float>::max();
template <>
constexpr float largest<half> = std::bit_cast<float>(0x477fefffu);  // just below 65520
template <>
constexpr float largest<bfloat16> = std::bit_cast<float>(0x7f7f7fffu);

/// What becomes of NaN, which stands for a missing number: an error where none may be missing, 0 of inputs,
/// which is the mean of what data.normalize makes of them, and NaN of targets, which losses skip.
enum class Missing { refused, zero, kept };

/// Writes a value as T. Returns false if it is not finite in T and no missing number.
template <Missing missing, class T>
bool write_value(float value, T* out) {
  const bool is_missing = missing != Missing::refused && value != value;
  *out = from_float<T>(missing == Missing::zero && is_missing ? 0.0f : value);
  return std::abs(value) <= largest<T> || is_missing;
}

/// out[i] = (in[i] - shift[i]) * scale[i] in double, rounded to float and then to T. Returns false if a value
/// is not finite in T.
template <Missing missing, class Stored, class T>
bool convert_numbers_of_row(const Stored* in, std::size_t count, const ColumnScaling& scaling, T* out) {
  unsigned bad = 0;
  if (scaling.identity()) {
    for (std::size_t i = 0; i < count; ++i) bad |= !write_value<missing>(static_cast<float>(in[i]), out + i);
    return bad == 0;
  }
  const double* shift = scaling.shift.data();
  const double* scale = scaling.scale.data();
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>((static_cast<double>(in[i]) - shift[i]) * scale[i]);
    bad |= !write_value<missing>(value, out + i);
  }
  return bad == 0;
}

template <class Stored, class T>
bool convert_row(const Stored* in, std::size_t count, const ColumnScaling& scaling, Missing missing, T* out) {
  switch (missing) {
    case Missing::zero:
      return convert_numbers_of_row<Missing::zero>(in, count, scaling, out);
    case Missing::kept:
      return convert_numbers_of_row<Missing::kept>(in, count, scaling, out);
    case Missing::refused:
      break;
  }
  return convert_numbers_of_row<Missing::refused>(in, count, scaling, out);
}

/// Returns advice for a value that exceeds the type's range.
const char* advice(bool is_normalised, DType type) {
  if (!is_normalised) return "normalize the data or choose another type";
  return type == DType::fp16 ? "it lies far outside the training samples; correct it or choose another type"
                             : "it lies far outside the training samples; correct it";
}

/// Finds the value that convert_row refused. `location_of`: describes where the value of an index is stored.
template <class Stored, class LocationOf>
[[noreturn]] void fail_value(const Stored* in, const ColumnScaling& scaling, DType type, Missing missing,
                             const LocationOf& location_of) {
  for (std::size_t i = 0;; ++i) {
    const auto value = static_cast<float>(in[i]);
    const double exact = scaling.identity() ? static_cast<double>(value) : scaling.normalised(value, i);
    const auto result = static_cast<float>(exact);
    const auto fits = [&](auto tag) { return std::abs(result) <= largest<typename decltype(tag)::type>; };
    if (dispatch(type, fits) || (missing != Missing::refused && std::isnan(value))) continue;
    const std::string where = location_of(static_cast<std::int64_t>(i));
    if (!std::isfinite(value))
      fail_input(errors::not_finite, "{} is {}, expected a finite number", where, value);
    fail_input(errors::not_finite, "{} is {}{}, too large for {}: {}", where, value,
               scaling.identity() ? "" : fmt::format(" ({:.6g} normalised)", exact), name_of(type),
               advice(!scaling.identity(), type));
  }
}

template <class Stored>
void put_inputs(std::int64_t features, const ColumnScaling& scaling, DType type, Missing missing,
                std::byte* out, const SampleStore& store, const Sample& sample) {
  const auto* in = reinterpret_cast<const Stored*>(sample.input);
  const bool finite = dispatch(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    return convert_row(in, static_cast<std::size_t>(features), scaling, missing, reinterpret_cast<T*>(out));
  });
  if (finite) return;
  fail_value(in, scaling, type, missing, [&](std::int64_t column) {
    return store.location_of_input(
        sample.index, sample.moved_by == nullptr ? column : sample.moved_by->stored_input(column));
  });
}

}  // namespace

BatchBuffer::BatchBuffer(const DatasetShape& shape, DType type, std::int64_t capacity, bool keeps_missing)
    : type_(type),
      keeps_missing_(keeps_missing),
      inputs_("batch inputs", capacity * shape.features * static_cast<std::int64_t>(size_of(type)),
              HostMemory::page_locked) {
  if (shape.task == Task::classification) {
    labels_ = {"batch labels", capacity, HostMemory::page_locked};
  } else if (shape.task == Task::regression) {
    targets_ = {"batch targets", capacity * shape.outputs, HostMemory::page_locked};
  }
}

void BatchBuffer::put(std::int64_t row, const Sample& sample, const SampleStore& store,
                      const Normalizer& normalizer) {
  const DatasetShape& shape = store.shape();
  auto* out = inputs_.data() + row * shape.features * static_cast<std::int64_t>(size_of(type_));
  const auto put_row = shape.input_type == DType::uint8 ? put_inputs<std::uint8_t> : put_inputs<float>;
  const MissingNumbers missing = store.missing();
  const Missing of_inputs = !missing.inputs  ? Missing::refused
                            : keeps_missing_ ? Missing::kept
                                             : Missing::zero;
  put_row(shape.features, normalizer.inputs, type_, of_inputs, out, store, sample);
  if (shape.task == Task::classification) {
    const auto label = *reinterpret_cast<const std::int32_t*>(sample.truth);
    store.require_label(sample.index, label);
    labels_[static_cast<std::size_t>(row)] = label;
  } else if (shape.task == Task::regression) {
    const auto* in = reinterpret_cast<const float*>(sample.truth);
    auto* targets = targets_.data() + row * shape.outputs;
    const Missing of_targets = missing.targets ? Missing::kept : Missing::refused;
    if (!convert_row(in, static_cast<std::size_t>(shape.outputs), normalizer.targets, of_targets, targets)) {
      fail_value(in, normalizer.targets, DType::fp32, of_targets, [&](std::int64_t column) {
        return store.location_of_target(
            sample.index, sample.moved_by == nullptr ? column : sample.moved_by->stored_target(column));
      });
    }
  }
}

Batch BatchBuffer::batch(std::int64_t samples, std::int64_t first_sample, std::int64_t step) const {
  return {.type = type_,
          .inputs = inputs_.data(),
          .labels = labels_.data(),
          .targets = targets_.data(),
          .samples = samples,
          .rows = samples,
          .first_sample = first_sample,
          .step = step};
}

std::int64_t BatchBuffer::memory_bytes(const DatasetShape& shape, DType type, std::int64_t capacity) {
  return capacity * (shape.features * static_cast<std::int64_t>(size_of(type)) + shape.truth_bytes());
}

}  // namespace mylos
