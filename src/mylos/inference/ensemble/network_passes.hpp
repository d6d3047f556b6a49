// NetworkPasses: the predictions of one network, or their mean and standard deviation over dropout masks.
//
// With dropout (Gal and Ghahramani, "Dropout as a Bayesian approximation", ICML 2016) pass p of sample s
// drops what the random numbers at (seed, layer, p, s) say, where s is the sample's index in its part of the
// data. Normalisation layers use the statistics of the training.
#pragma once

#include <cstdint>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/ensemble/uncertain_pass.hpp"
#include "mylos/inference/opened_network.hpp"

namespace mylos {

/// The passes over a network.
struct DropoutPasses {
  std::int64_t count = 1;
  bool drops = false;  // false: without dropout, as a rule once
};

class NetworkPasses final : public UncertainPass {
 public:
  /// `opened` has data; `context` runs `model`, its network's. All must outlive the object.
  NetworkPasses(const InferenceContext& context, RankGroup& ranks, const OpenedNetwork& opened,
                const InferenceModel& model, DataPart part, const DropoutPasses& passes = {});

  [[nodiscard]] std::int64_t members() const override { return passes_.count; }
  [[nodiscard]] std::int64_t width() const override;
  [[nodiscard]] bool has_deviation() const override;
  void run(const ConsumeUncertain& consume, const ConsumeMember& consume_member = {}) override;
  [[nodiscard]] OutsideRange outside_range() const override { return outside_; }

 private:
  InferenceContext context_;
  RankGroup& ranks_;
  const OpenedNetwork& opened_;
  const InferenceModel& model_;
  DataPart part_;
  DropoutPasses passes_;
  OutsideRange outside_;
};

}  // namespace mylos
