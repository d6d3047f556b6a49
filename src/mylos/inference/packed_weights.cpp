#include "mylos/inference/packed_weights.hpp"

#include "mylos/base/pieces.hpp"
#include "mylos/model/block/block_product.hpp"

namespace mylos {
namespace {

/// Beyond a processor's caches, packed weights are read no faster than others.
constexpr std::size_t max_packed_bytes_of_network = std::size_t{16} << 20;

/// Calls function(stage, gemm, bytes) for every GEMM of a forward pass whose weights are packed.
template <class Function>
void for_each_packed(const Chain& chain, const Engines& engines, const Function& function) {
  for (std::size_t stage = 0; stage < chain.blocks.size(); ++stage) {
    for (const BlockProduct& gemm : chain.blocks[stage]->products(1)) {
      if (form_of(gemm.problem) != GemmForm::output) continue;
      const std::size_t bytes = engines.gemm.packed_bytes(gemm.problem);
      if (bytes > 0) function(stage, gemm, bytes);
    }
  }
}

}  // namespace

std::size_t PackedWeights::memory_bytes(const Chain& chain, const Engines& engines) {
  Pieces pieces(nullptr);
  for_each_packed(chain, engines,
                  [&](std::size_t, const BlockProduct&, std::size_t bytes) { pieces.take_bytes(bytes); });
  return pieces.bytes() <= max_packed_bytes_of_network ? pieces.bytes() : 0;
}

PackedWeights::PackedWeights(const Chain& chain, const Engines& engines,
                             const ForwardPass::StageWeights& weights)
    : arena_("packed weights", memory_bytes(chain, engines)) {
  for (const std::span<const NamedTensor> stage : weights) stages_.emplace_back(stage.begin(), stage.end());
  if (arena_.bytes() > 0) {
    Pieces pieces(arena_.data());
    for_each_packed(chain, engines, [&](std::size_t stage, const BlockProduct& gemm, std::size_t bytes) {
      const ParameterTensors all(weights[stage]);
      std::byte* const packed = pieces.take_bytes(bytes);
      entries_.push_back({gemm.problem, all.of(gemm.linear)["weight"], packed});
      stages_[stage].emplace_back(parameter_name(gemm.linear, "packed"),
                                  Tensor(packed, DType::uint8, 1, static_cast<std::int64_t>(bytes)));
    });
  }
  spans_.assign(stages_.begin(), stages_.end());
}

void PackedWeights::pack(const Execution& exec, GemmEngine& gemm) const {
  for (const Entry& entry : entries_) gemm.pack(exec, entry.problem, entry.weight.data(), entry.packed);
}

}  // namespace mylos
