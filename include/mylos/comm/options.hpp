// [communication] and [mesh]: the exchange of gradients between ranks, and what the ranks share.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mylos {

/// Names of the backends in decks.
inline constexpr std::array<std::string_view, 2> communication_backends{"mpi", "nccl"};
/// The type in which ranks exchange gradients. automatic: bfloat16 as bfloat16, half and float as float.
enum class ReduceType { automatic, compute, fp32 };

/// [communication]: the same on all ranks.
struct CommunicationOptions {
  std::string backend = "auto";                    // or one of communication_backends
  std::int64_t bucket_bytes = 0;                   // 0 = auto: see make_parameter_layout()
  ReduceType reduce_type = ReduceType::automatic;  // of gradients on their way; they are summed in float
  double timeout_s = 300;                          // seconds that a rank waits for the others before all end

  bool operator==(const CommunicationOptions&) const = default;
};

/// [mesh]: how ranks share each sample; the same on all ranks. The others share the samples of a batch.
struct MeshOptions {
  std::vector<std::int64_t> space = {};  // boxes along each axis of a sample's grid; empty: samples are whole
  bool automatic = false;                // the start of a run chooses `space`, which is empty until then
  // Boxes by which a reproducible run takes sums over points: multiples of those of `space`. Empty: the same.
  std::vector<std::int64_t> sums = {};
  // The units of each axis of the grid (GridPart::units), which the network determines; empty: boxes are
  // equal. No key sets them.
  std::vector<std::int64_t> units = {};

  /// Returns whether `space` is still to be chosen.
  [[nodiscard]] bool is_open() const { return automatic && space.empty(); }
  bool operator==(const MeshOptions&) const = default;
};

}  // namespace mylos
