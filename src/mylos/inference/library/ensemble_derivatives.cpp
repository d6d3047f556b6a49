#include "mylos/inference/library/ensemble_derivatives.hpp"

#include <algorithm>
#include <utility>

#include "mylos/inference/library/derivative_arrays.hpp"
#include "mylos/kernels/launch/launch.hpp"

namespace mylos {
namespace {

constexpr std::int64_t max_samples_at_a_time = 256;  // as of its members

/// The numbers of a piece: of a complete Jacobian at least, where there are any.
std::int64_t numbers_of_piece(const Chain& chain) {
  const std::int64_t of_vectors = max_samples_at_a_time * std::max(chain.inputs(), chain.outputs());
  return has_jacobian(chain) ? std::max(of_vectors, chain.inputs() * chain.outputs()) : of_vectors;
}

void add_to_sums(const Execution& exec, const ConstTensor& values, bool is_first, double* sums) {
  const auto* const value = values.as<float>();
  for_each_element(
      exec, "sum_members", values.size(), KOKKOS_LAMBDA(std::int64_t i) {
        sums[i] = (is_first ? 0.0 : sums[i]) + static_cast<double>(value[i]);
      });
}

void write_means(const Execution& exec, const double* sums, std::size_t members, const Tensor& values) {
  auto* const value = values.as<float>();
  const auto count = static_cast<double>(members);
  for_each_element(
      exec, "mean_members", values.size(),
      KOKKOS_LAMBDA(std::int64_t i) { value[i] = static_cast<float>(sums[i] / count); });
}

}  // namespace

EnsembleDerivatives::Tensors::Tensors(std::int64_t count, void* memory) : pieces(memory) {
  values = pieces.take_tensor(DType::fp32, 1, count);
  sums = pieces.take<double>(count);
}

std::size_t EnsembleDerivatives::memory_bytes(const Chain& chain) {
  const std::int64_t count = numbers_of_piece(chain);
  return Tensors(count, nullptr).pieces.bytes() + HostStaging::memory_bytes(count);
}

EnsembleDerivatives::EnsembleDerivatives(std::vector<OutputDerivatives*> members, const Chain& chain)
    : members_(std::move(members)),
      inputs_(chain.inputs()),
      outputs_(chain.outputs()),
      count_(numbers_of_piece(chain)),
      memory_("derivatives of an ensemble", Tensors(count_, nullptr).pieces.bytes()),
      tensors_(count_, memory_.data()),
      staging_(count_) {}

template <class Compute>
void EnsembleDerivatives::average(const Execution& exec, std::int64_t numbers, const ArraySamples& to,
                                  const SampleSpan& span, const Compute& compute) {
  const std::int64_t at_a_time = count_ / numbers;
  for (std::int64_t done = 0; done < span.count; done += at_a_time) {
    const std::int64_t count = std::min(at_a_time, span.count - done);
    const Tensor values(tensors_.values.data(), DType::fp32, count, numbers);
    ArraySamples rows = array_of_rows(values);
    rows.on_device = !memory_is_host;
    for (OutputDerivatives* const member : members_) {
      compute(*member, rows, SampleSpan{span.first + done, count, 0});
      add_to_sums(exec, values, member == members_.front(), tensors_.sums);
    }
    write_means(exec, tensors_.sums, members_.size(), values);
    staging_.write(exec, values, {}, to, span.to + done);
  }
  exec.fence("derivatives of an ensemble");
}

void EnsembleDerivatives::vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy,
                              const ArraySamples& dx, const SampleSpan& span, Units units) {
  average(exec, inputs_, dx, span,
          [&](OutputDerivatives& member, const ArraySamples& rows, SampleSpan piece) {
            member.vjp(exec, x, dy, rows, piece, units);
          });
}

void EnsembleDerivatives::jvp(const Execution& exec, const ArraySamples& x, const ArraySamples& dx,
                              const ArraySamples& dy, const SampleSpan& span, Units units) {
  average(exec, outputs_, dy, span,
          [&](OutputDerivatives& member, const ArraySamples& rows, SampleSpan piece) {
            member.jvp(exec, x, dx, rows, piece, units);
          });
}

void EnsembleDerivatives::jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to,
                                   const SampleSpan& span, Units units) {
  average(exec, inputs_ * outputs_, to, span,
          [&](OutputDerivatives& member, const ArraySamples& rows, SampleSpan piece) {
            member.jacobian(exec, x, rows, piece, units);
          });
}

}  // namespace mylos
