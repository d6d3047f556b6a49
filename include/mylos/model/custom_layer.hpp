// CustomLayer: a kind of layer that a host program brings. Layers of kind = "custom" in the program's deck
// name it; it makes their blocks (block.hpp), which are planned, recomputed, sharded and checkpointed like
// those of Mylos. apps/custom_layer is an example.
//
//   mylos::Options options = mylos::read_deck("advection.toml");
//   options.model.custom_layers = {std::make_shared<Advection>()};
//   mylos::OnlineTrainer network(options, communicator);
//
// Every program that opens a file of such a network brings the layer too (LoadOptions::custom_layers). All
// ranks bring the same layers. Mylos shares the objects between threads and keeps them as long as options do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"
#include "mylos/model/block.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

/// What a block of a custom layer is made for.
struct CustomLayerInput {
  std::string name;                 // of the layer: Signature::name of its block
  std::vector<std::int64_t> shape;  // of a sample: 1 to 3 extents, then channels; of a vector its length
  DType type = DType::fp32;         // Signature::input_type
  DType compute = DType::fp32;      // of the weights, and the least precise type to compute in
  DType gradient = DType::fp32;     // of the weights' gradients: float or `compute`
  std::int64_t outputs = 0;         // the deck's; 0: not given
  std::map<std::string, double> settings;  // the deck's
};

/// A block, and what it computes of a sample.
struct CustomBlock {
  std::unique_ptr<const Block> block;
  std::vector<std::int64_t> shape;  // as CustomLayerInput::shape, with as many axes, or a vector
};

/// One kind of layer. Threads may call it at the same time.
class CustomLayer {
 public:
  virtual ~CustomLayer() = default;

  /// Returns the name by which decks choose it: layer = "advection".
  [[nodiscard]] virtual std::string name() const = 0;
  /// Returns the names that a deck's table `settings` may have.
  [[nodiscard]] virtual std::vector<std::string> settings() const { return {}; }
  /// Returns a block for this input. Throws Error (bad_input) if the layer does not take it; the message
  /// names the layer. What the block states of itself is checked when the network is made.
  [[nodiscard]] virtual CustomBlock make(const CustomLayerInput& input) const = 0;
};

}  // namespace mylos
