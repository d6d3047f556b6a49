// FieldLoss: a loss whose targets are numbers. Outputs on a grid may have weights of points, norms by channel
// and derivatives (field_norm.hpp).
#pragma once

#include <optional>
#include <span>

#include "mylos/model/losses/field_norm.hpp"
#include "mylos/model/losses/output_loss.hpp"

namespace mylos {

class FieldLoss : public OutputLoss {
 public:
  /// Throws Error (bad_input) under the conditions of FieldNorm, and if the options need a field but the
  /// outputs do not lie on a grid.
  FieldLoss(const ModelOptions& model, const LossInput& input);

  [[nodiscard]] std::span<const float> constants() const final {
    return norm_ ? norm_->constants() : std::span<const float>();
  }
  [[nodiscard]] std::optional<OutputField> field() const final { return field_; }

 protected:
  /// Returns whether all numbers of all samples count alike.
  [[nodiscard]] bool is_plain() const { return !norm_ && !skips_missing_; }
  /// Returns what the losses of fields read; nothing if all points of the outputs count alike.
  [[nodiscard]] const std::optional<FieldNorm>& norm() const { return norm_; }
  /// Returns the points and channels of the outputs; a vector is one point.
  [[nodiscard]] FieldPoints points(const float* constants) const;

 private:
  bool skips_missing_;
  std::optional<OutputField> field_;
  std::optional<FieldNorm> norm_;
};

}  // namespace mylos
