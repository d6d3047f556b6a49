// Schedule: the list of operations that a training step runs for one micro-batch.
//
// A chain of L blocks has the boundary activations x_0 … x_L; block i computes x_{i+1} from x_i. In x_i's
// place backward leaves δ_i, the gradient of the loss, of the same bytes. Where blocks read earlier
// boundaries too, x_i and δ_i are tuples (skips.hpp), each kept as a whole. The words are those of Beaumont,
// Eyraud-Dubois, Herrmann, Joly, Shilova: Optimal checkpointing for heterogeneous chains (arXiv 1911.13214).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "mylos/model/chain/chain_cost.hpp"

namespace mylos {

enum class OperationKind {
  forward,   // of block i: computes x_{i+1} from x_i
  loss,      // reads x_L, writes δ_L
  backward,  // of block i: reads δ_{i+1}, x_i, x_{i+1} and what forward saved; writes δ_i where i > 0
};

/// What stays in memory after a forward operation besides x_{i+1}. What one operation keeps stays until the
/// block's backward, whatever later operations say.
enum class Keep {
  nothing,  // x_i is released, unless it is x_0 or an earlier operation keeps it
  input,    // x_i: block i will run forward again
  variant,  // x_i, x_{i+1} and the saved bytes of a variant: block i can run backward
};

struct Operation {
  OperationKind kind = OperationKind::forward;
  std::size_t block = 0;  // loss: the number of blocks
  Keep keep = Keep::nothing;
  std::size_t variant = 0;  // of a forward that keeps one, and of the backward that reads it

  bool operator==(const Operation&) const = default;
};

using Schedule = std::vector<Operation>;

/// Every block keeps variant 0: forward through all blocks, loss, backward through all blocks.
[[nodiscard]] Schedule store_all(std::size_t blocks);

/// Milliseconds that the operations take one after the other.
[[nodiscard]] double predicted_time(const ChainCost& cost, const Schedule& schedule);

/// "backward of block 3", for messages.
[[nodiscard]] std::string describe(const Operation& operation);

}  // namespace mylos
