// FloatWeights: the weights and statistics of a checkpoint in float, read one at a time.
#pragma once

#include <string>
#include <vector>

#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

class FloatWeights {
 public:
  /// All ranks. `chain`: the stored network. Throws Error (bad_input) unless the checkpoint has the arrays of
  /// the chain, of its shapes, in float, and no others; or if it has no average that is wanted.
  FloatWeights(const CheckpointReader& checkpoint, const Chain& chain, bool average);

  /// Returns the number of weights, without statistics.
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t largest() const { return largest_; }
  /// Returns all numbers of "hidden1/weight" or "norm1/running_mean". Throws Error (bad_input) if they do not
  /// have the CRC-32 of the file.
  [[nodiscard]] std::vector<float> read(const std::string& path) const;

 private:
  const CheckpointReader& checkpoint_;
  bool average_;
  std::int64_t count_ = 0;
  std::int64_t largest_ = 0;
};

}  // namespace mylos
