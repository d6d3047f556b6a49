// FieldMeasures: relative norms of the errors of predicted fields, in the units of the targets.
//
// The norms are those of the losses relative_l2 and relative_h1 (docs/reference/formulas.md), with the deck's
// weights of points, model.loss_per and model.derivative, of values before normalisation. Results are means
// over samples, in double, the same bits for any order of samples and any distribution over ranks. Targets
// that are missing (NaN) do not count, nor samples without any.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "mylos/base/numbers/exact_sum.hpp"
#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/model/chain/chain.hpp"
#include "mylos/model/losses/field_norm.hpp"
#include "mylos/train/options.hpp"

namespace mylos {

[[nodiscard]] constexpr bool is_of_fields(Measure measure) {
  return measure == Measure::relative_l2 || measure == Measure::relative_h1;
}
[[nodiscard]] bool has_field_measure(std::span<const Measure> wanted);

/// Throws Error (bad_input) if the network's outputs do not have one of these measures. `location`: the start
/// of the message.
void require_field_measures(std::span<const Measure> wanted, const Chain& chain,
                            const std::string& location = "");

class FieldMeasures {
 public:
  /// `targets`: how training scaled the targets. Throws as require_field_measures().
  FieldMeasures(std::span<const Measure> wanted, const Chain& chain, ColumnScaling targets);

  FieldMeasures(const FieldMeasures&) = delete;
  FieldMeasures& operator=(const FieldMeasures&) = delete;

  /// Adds samples; both arguments are [samples, outputs], normalised.
  void add(std::span<const float> predictions, std::span<const float> targets);
  /// Adds the sums of all ranks. All ranks must call it.
  void add_up(RankGroup& ranks);

  /// Return the mean over all samples; NaN if that of a sample is not finite.
  [[nodiscard]] double relative_l2() const { return l2_.mean(samples_); }
  [[nodiscard]] double relative_h1() const { return h1_.mean(samples_); }

  /// Return the bytes in host memory: of the fields of a sample and the scaling, and of the weights and
  /// tables of its norm. constant_bytes() throws as require_field_measures().
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t outputs);
  [[nodiscard]] static std::size_t constant_bytes(std::span<const Measure> wanted, const Chain& chain);

 private:
  struct Sum {
    ExactSum sum;
    std::int64_t not_finite = 0;

    void add(double value);
    [[nodiscard]] double mean(std::int64_t count) const;
  };

  /// Sets `l2` and `h1` of each group of channels to the squares of the norms of a field.
  void square_norms(const std::vector<double>& field, std::vector<double>& l2, std::vector<double>& h1) const;
  /// Returns of each group of channels whether the sample has targets of it. Sets any_missing_.
  [[nodiscard]] std::vector<bool> groups_with_targets();
  [[nodiscard]] double derivative_at(const std::vector<double>& field, int axis, std::int64_t point,
                                     std::int64_t channel) const;

  ColumnScaling scaling_;
  FieldNorm norm_;
  FieldPoints points_;
  FieldDerivatives derivatives_;
  std::vector<std::vector<double>> tables_;  // of the spectral derivative along each axis
  std::int64_t samples_ = 0;
  Sum l2_, h1_;
  std::vector<double> error_, target_;  // of a sample
  bool any_missing_ = false;            // of its targets
};

}  // namespace mylos
