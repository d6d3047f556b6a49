// EnsemblePass: mean and standard deviation of the predictions of several networks.
//
// The memory is that of one network: the members are loaded one after the other. What is summed over them
// takes at most max_sum_bytes on each rank; of more samples than have room, all members are loaded again for
// the next ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/comm/ranks/rank_group.hpp"
#include "mylos/inference/ensemble/uncertain_pass.hpp"
#include "mylos/inference/opened_network.hpp"

namespace mylos {

/// A checkpoint or model file.
struct EnsembleMember {
  std::string path;
  bool average = false;  // use the moving average of its weights instead of them
};

/// All ranks. Throws Error (bad_input) on all ranks for fewer than two members, a file that is given twice,
/// and as require_same_meaning() does.
void require_ensemble(RankGroup& ranks, const std::vector<EnsembleMember>& members);

class EnsemblePass final : public UncertainPass {
 public:
  static constexpr std::size_t max_sum_bytes = std::size_t{256} << 20;

  /// `members`: of require_ensemble(). `first`: the network of the first with its data. `data`: how it opened
  /// them, by which the others do. What is referred to must outlive the object.
  EnsemblePass(const Execution& exec, const Engines& engines, RankGroup& ranks,
               std::vector<EnsembleMember> members, const OpenedNetwork& first, const NetworkData& data,
               DataPart part, std::size_t sum_bytes = max_sum_bytes);

  [[nodiscard]] std::int64_t members() const override { return static_cast<std::int64_t>(members_.size()); }
  [[nodiscard]] std::int64_t width() const override;
  [[nodiscard]] bool has_deviation() const override { return true; }
  void run(const ConsumeUncertain& consume, const ConsumeMember& consume_member = {}) override;
  [[nodiscard]] OutsideRange outside_range() const override { return outside_; }

 private:
  struct Block;
  void run_member(std::int64_t number, Block& block, const ConsumeMember& consume_member);

  const Execution& exec_;
  Engines engines_;
  RankGroup& ranks_;
  std::vector<EnsembleMember> members_;
  const OpenedNetwork& first_;
  NetworkData data_;
  DataPart part_;
  std::size_t sum_bytes_;
  std::int64_t piece_;  // samples of a batch
  OutsideRange outside_;
};

}  // namespace mylos
