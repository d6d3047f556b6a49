// Small networks of vectors, for tests of exported source.
#pragma once

#include "mylos/model/source/source_network.hpp"

namespace mylos::test {

inline SourceLinear linear(std::int64_t inputs, std::int64_t outputs) {
  return {std::vector<float>(static_cast<std::size_t>(inputs * outputs), 0.5F),
          std::vector<float>(static_cast<std::size_t>(outputs), 0.25F)};
}

/// Two dense layers with an activation, and a sum with the first layer's result.
inline SourceNetwork residual_network() {
  SourceNetwork network;
  network.inputs = 2;
  network.operations = {{"first", 0, 16, linear(2, 16)},
                        {"first", 1, 16, SourceActivation{Activation::tanh}},
                        {"second", 2, 16, linear(16, 16)},
                        {"sum", 3, 16, SourceAdd{2, {}}},
                        {"head", 4, 3, linear(16, 3)}};
  return network;
}

}  // namespace mylos::test
