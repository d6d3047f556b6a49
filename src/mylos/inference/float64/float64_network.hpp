// Float64Network: a network of vectors that computes in double, from the weights in float of its file.
#pragma once

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "mylos/inference/float64/float64_program.hpp"
#include "mylos/inference/stored/stored_network.hpp"
#include "mylos/model/source/source_layer.hpp"

namespace mylos {

/// What workspaces and clones share. Nothing changes it.
class Float64Network {
 public:
  /// `derivatives`: tangents and pullbacks too. Throws Error (bad_input): unsupported_feature that names the
  /// first layer without a computation in double, not_finite.
  Float64Network(const StoredNetwork& network, const ReadSourceWeight& read, bool derivatives);

  /// Returns weights that are all 0, with which a network states its memory.
  [[nodiscard]] static ReadSourceWeight zeros(const Chain& chain);
  /// Returns what constructing one takes at most, in bytes.
  [[nodiscard]] static std::size_t bytes_of_loading(const Chain& chain, bool derivatives);

  [[nodiscard]] std::int64_t inputs() const { return inputs_; }
  [[nodiscard]] std::int64_t outputs() const { return outputs_; }
  [[nodiscard]] bool has_deviations() const { return has_deviations_; }
  [[nodiscard]] const std::optional<ConformalCalibration>& calibration() const { return calibration_; }
  [[nodiscard]] bool has_derivatives() const { return tangent_.has_value(); }
  [[nodiscard]] std::size_t weight_bytes() const {
    return constants_.size() * sizeof(double) - scaling_bytes_;
  }
  [[nodiscard]] std::size_t scaling_bytes() const { return scaling_bytes_; }

  [[nodiscard]] const float64::Buffers& buffers() const { return buffers_; }
  /// Buffers of arguments. y: means, then standard deviations if there are any.
  struct Places {
    std::size_t x = 0, y = 0;
    std::size_t dx = 0, dy = 0;  // with derivatives
    std::size_t bounds = 0;      // with a calibration
  };
  [[nodiscard]] const Places& places() const { return places_; }
  [[nodiscard]] const float64::Program& forward() const { return *forward_; }
  /// The same, with every value on the tape.
  [[nodiscard]] const float64::Program& tape() const { return *tape_; }
  [[nodiscard]] const float64::Program& tangent() const { return *tangent_; }
  [[nodiscard]] const float64::Program& pullback() const { return *pullback_; }

 private:
  std::int64_t inputs_;
  std::int64_t outputs_;
  bool has_deviations_;
  std::optional<ConformalCalibration> calibration_;
  std::size_t scaling_bytes_ = 0;
  Kokkos::View<double*, Kokkos::HostSpace> constants_;
  float64::Buffers buffers_;
  Places places_;
  std::optional<float64::Program> forward_, tape_, tangent_, pullback_;
};

}  // namespace mylos
