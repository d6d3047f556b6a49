// ViewBatch: the caller's views as the single micro-batch of a step.
#pragma once

#include "mylos/base/device/arena.hpp"
#include "mylos/train/online_trainer.hpp"
#include "mylos/train/plan/sample_needs.hpp"
#include "mylos/train/step/batch_source.hpp"

namespace mylos {

class ViewBatch final : public BatchSource {
 public:
  /// `max_samples`: the maximum that next() returns, in the types that `chain` reads. This rank's samples
  /// are numbered from `first_sample`. `model` has the sizes of whole samples.
  ViewBatch(const Chain& chain, const ModelOptions& model, std::int64_t max_samples,
            std::uint64_t first_sample);

  void set(const SampleRows<const float>& inputs, const SampleRows<const float>& targets);
  void set(const SampleRows<const float>& inputs, const SampleValues<const std::int32_t>& labels);
  /// Sets no samples.
  void clear();
  /// Throws Error (bad_input) if the views that were set do not fit the network.
  void require() const;
  /// Returns the views that were set. Throws as require().
  MicroBatch next(const Execution& exec) override;
  /// Returns the number of samples that were set on this rank.
  [[nodiscard]] std::int64_t samples() const { return static_cast<std::int64_t>(inputs_.extent(0)); }

  /// Returns rows [first, first + count) in the chain's input type: a view of `inputs`, or a copy that is
  /// valid until the next call.
  [[nodiscard]] ConstTensor inputs_of(const Execution& exec, const SampleRows<const float>& inputs,
                                      std::int64_t first, std::int64_t count) const;
  /// Throws Error (bad_input) unless `view` has `columns` columns and contiguous rows. `whole`: the values of
  /// a whole sample, model.`key`, of which ranks may have parts.
  static void require_rows(const SampleRows<const float>& view, std::int64_t columns, const char* name,
                           const char* key, std::int64_t whole);

 private:
  std::int64_t features_;
  std::int64_t outputs_;
  std::int64_t whole_features_;
  std::int64_t whole_outputs_;
  Prediction prediction_;
  DType type_;
  SampleNeeds needs_;
  std::int64_t max_samples_;
  std::uint64_t first_sample_;
  Arena copies_;
  SampleRows<const float> inputs_;
  SampleRows<const float> targets_;
  SampleValues<const std::int32_t> labels_;
  bool has_labels_ = false;
};

}  // namespace mylos
