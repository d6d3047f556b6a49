// SampleExchange: what the ranks that share samples exchange during passes, over the communicator of all
// ranks.
#pragma once

#include <array>
#include <vector>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/device/memory_entry.hpp"
#include "mylos/comm/group/communicator.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/model/sample_ranks.hpp"

namespace mylos {

/// What a rank sends to the others that share its samples.
struct SampleTraffic {
  std::size_t bytes = 0;
  std::size_t messages = 0;

  SampleTraffic& operator+=(const SampleTraffic& other);
  bool operator==(const SampleTraffic&) const = default;
};

class SampleExchange final : public SampleRanks {
 public:
  /// `communicator` must outlive this object. `slot`: used only by this exchange, and reserved for
  /// slot_bytes(). The seconds of exchanges are added to `communication_s`.
  SampleExchange(Communicator& communicator, const Mesh& mesh, std::size_t slot,
                 const SampleExchangeSizes& sizes, double& communication_s);

  /// Returns what the slot is reserved for if `boxes` ranks share a sample; nothing if one rank has it.
  [[nodiscard]] static SlotBytes slot_bytes(int boxes, const SampleExchangeSizes& sizes);
  /// Returns the memory of this object.
  [[nodiscard]] static PartMemory memory(int boxes, const SampleExchangeSizes& sizes);

  /// Returns what a rank sends in a call.
  [[nodiscard]] static SampleTraffic traffic(const Mesh& mesh, const SampleCall& call);
  /// Returns what this rank has sent so far; without the replays of captured graphs.
  [[nodiscard]] const SampleTraffic& sent() const { return sent_; }

  void exchange_faces(const Execution& exec, std::size_t axis, bool periodic, const ConstTensor& sent,
                      const Tensor& received) override;
  void add_up(const Execution& exec, const Tensor& doubles) override;

 private:
  void exchange(const Execution& exec, std::size_t messages);

  Communicator& communicator_;
  Mesh mesh_;
  std::vector<int> ranks_;  // that share this rank's samples, in the order of their boxes
  std::size_t slot_;
  double& communication_s_;
  Arena sums_;                         // of the other ones of these ranks
  std::vector<RankMessage> messages_;  // of the exchange in progress
  SampleTraffic sent_;
};

}  // namespace mylos
