// Float64Model: a workspace of a model that computes in double, on the host.
//
// Columns are computed in blocks, which the threads of a call share out. Each has all buffers of its own.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/inference/arrays/uncertain_samples.hpp"
#include "mylos/inference/float64/float64_network.hpp"
#include "mylos/inference/library/output_derivatives.hpp"

namespace mylos {

class Float64Model final : public OutputDerivatives {
 public:
  /// `lanes`: the threads of a call. `max_samples`: computed at a time.
  Float64Model(std::shared_ptr<const Float64Network> network, int lanes, std::int64_t max_samples);
  /// Another workspace of the same network.
  Float64Model(const Float64Model& other);
  Float64Model& operator=(const Float64Model&) = delete;
  /// Returns the samples that a call computes at a time.
  [[nodiscard]] static std::int64_t samples_of(int lanes, std::int64_t max_samples);
  /// Returns what one allocates.
  [[nodiscard]] static std::size_t memory_bytes(const Float64Network& network, int lanes,
                                                std::int64_t max_samples);

  [[nodiscard]] const std::shared_ptr<const Float64Network>& network() const { return network_; }
  [[nodiscard]] std::int64_t samples() const { return samples_of(static_cast<int>(lanes_.size()), columns_); }

  /// As Model::Parts::infer().
  void infer(const Execution& exec, const ArraySamples& x, const ArraySamples& y, const SampleSpan& range,
             Units units, const UncertainSamples& more);
  void vjp(const Execution& exec, const ArraySamples& x, const ArraySamples& dy, const ArraySamples& dx,
           const SampleSpan& range, Units units) override;
  void jvp(const Execution& exec, const ArraySamples& x, const ArraySamples& dx, const ArraySamples& dy,
           const SampleSpan& range, Units units) override;
  void jacobian(const Execution& exec, const ArraySamples& x, const ArraySamples& to, const SampleSpan& range,
                Units units) override;

 private:
  struct Block;
  template <class Body>
  void for_each_block(const Execution& exec, const ArraySamples& x, const SampleSpan& range,
                      const Body& body) const;
  void write_bounds(const Block& block, double sign, const ArraySamples& to) const;

  std::shared_ptr<const Float64Network> network_;
  std::int64_t columns_;  // of a block
  Kokkos::View<double*, Kokkos::HostSpace> memory_;
  std::vector<std::vector<float64::Columns>> lanes_;  // the buffers of each
};

}  // namespace mylos
