// StartNoise: normal noise by which the forecasts of an ensemble begin with different levels.
//
// Each number of the state that a window begins with, at each of its levels, gets a number of its own, of a
// standard deviation that is given in the units in which the network reads it (normalised, as a rule by the
// standard deviation of the channel in training). It is a function of the seed, the member, the forecast and
// the column alone.
#pragma once

#include <cstdint>

#include "mylos/base/numbers/random_words.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"

namespace mylos {

class StartNoise {
 public:
  /// `inputs`: how the network's inputs are scaled; must outlive the object.
  StartNoise(double deviation, const ColumnScaling& inputs, std::uint64_t seed)
      : deviation_(deviation), inputs_(inputs), stream_(seed, RandomPurpose::sampling, "perturbed starts") {}

  /// Returns the noise of a column of the network's row of a sample (of all points of the grid), in the units
  /// of the data; 0 where the network does not read the column, which was constant in training.
  [[nodiscard]] double at(std::int64_t member, std::int64_t forecast, std::size_t column) const {
    const double scale = inputs_.identity() ? 1.0 : inputs_.scale[column % inputs_.scale.size()];
    return scale == 0 ? 0.0 : deviation_ / scale * normal(member, forecast, column);
  }

 private:
  [[nodiscard]] double normal(std::int64_t member, std::int64_t forecast, std::size_t column) const {
    const RandomBlock block =
        stream_.block(static_cast<std::uint64_t>(forecast), static_cast<std::uint64_t>(member),
                      static_cast<std::uint32_t>(column / 4));
    const std::uint32_t* words = block.word + column % 4 / 2 * 2;
    const auto uniform = [](std::uint32_t word) { return (static_cast<double>(word) + 0.5) * 0x1p-32; };
    const NormalPair pair = normal_pair(uniform(words[0]), uniform(words[1]));
    return column % 2 == 0 ? pair.first : pair.second;
  }

  double deviation_;
  const ColumnScaling& inputs_;
  RandomStream stream_;
};

}  // namespace mylos
