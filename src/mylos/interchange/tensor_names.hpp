// The names of PyTorch's tensors: "encoder.0.weight" is the parameter "weight" of the layer "encoder.0".
#pragma once

#include <string>
#include <string_view>
#include <tuple>
#include <utility>

namespace mylos {

struct TensorNameParts {
  std::string layer;  // "" without a dot
  std::string name;   // our word for it: running_var is running_variance
};

/// TensorLy's tensors, "convs.0.weight.tensor", are called by the name of their parameter.
[[nodiscard]] TensorNameParts parts_of_name(std::string_view tensor);

/// Compares by the numbers in names: "layer.2" is before "layer.10".
[[nodiscard]] bool is_before_by_number(std::string_view a, std::string_view b);

/// Returns the name with '#' for each number: layers of equal pattern are ordered by their numbers.
[[nodiscard]] std::string pattern_of_name(std::string_view layer);

/// Returns the two names up to and with the first part in which they differ: "net.downs" and "net.ups" of
/// "net.downs.1.0" and "net.ups.0.0".
[[nodiscard]] std::pair<std::string, std::string> parts_that_differ(const std::string& a,
                                                                    const std::string& b);

/// Returns whether the layer is `part` or in it: "net.downs.1.0" is in "net.downs".
[[nodiscard]] bool is_in_part(std::string_view layer, std::string_view part);

/// Returns whether the tensor counts batches or is another one without a meaning for the network.
[[nodiscard]] bool is_counter(std::string_view tensor);

/// The position of a layer of neuraloperator's FNO in the network: the part (lifting, blocks, projection),
/// the block, and the kind of layer in the block.
using FnoPosition = std::tuple<int, long, int>;
[[nodiscard]] FnoPosition position_in_fno(std::string_view layer);

/// Returns whether a name is one of neuraloperator's FNO.
[[nodiscard]] bool is_of_fno(std::string_view tensor);

}  // namespace mylos
