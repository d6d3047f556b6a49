// StatisticsExchange: sums statistics over ranks, during passes and at the end of a step.
#pragma once

#include "mylos/comm/group/communicator.hpp"
#include "mylos/model/sums_over_ranks.hpp"

namespace mylos {

class StatisticsExchange final : public SumsOverRanks {
 public:
  /// `slot`: used only by this exchange, and reserved for exchanged_bytes() of the largest sum. The seconds
  /// of exchanges are added to `communication_s`.
  StatisticsExchange(Communicator& communicator, std::size_t slot, double& communication_s)
      : communicator_(communicator), slot_(slot), communication_s_(communication_s) {}

  /// Returns the bytes of a slot for a sum of `bytes` bytes.
  [[nodiscard]] static std::size_t exchanged_bytes(std::size_t bytes, int ranks) {
    return static_cast<std::size_t>(ranks) * bytes;
  }

  void add_up(const Execution& exec, const Tensor& doubles) override;

 private:
  Communicator& communicator_;
  std::size_t slot_;
  double& communication_s_;
};

}  // namespace mylos
