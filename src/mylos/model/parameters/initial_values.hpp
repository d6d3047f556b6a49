// Initial values by the rules of the deck ([[model.initialize]]), which replace a layer's default
// distribution.
//
//   xavier_uniform  uniform in [-b, b), b = gain · sqrt(6 / (fan_in + fan_out))
//   xavier_normal   normal, standard deviation gain · sqrt(2 / (fan_in + fan_out))
//                                                         (Glorot, Bengio, AISTATS 2010)
//   he_uniform      uniform in [-b, b), b = gain · sqrt(3 / fan_in); default gain: sqrt(2)
//   he_normal       normal, standard deviation gain / sqrt(fan_in); default gain: sqrt(2)
//                                                         (He, Zhang, Ren, Sun, arXiv 1502.01852)
//   orthogonal      gain times a matrix with orthonormal rows, or orthonormal columns if there are fewer
//                   columns than rows
//                                                         (Saxe, McClelland, Ganguli, arXiv 1312.6120)
//   normal, uniform, constant
//
// fan_in is the number of columns of a matrix. fan_out is the number of its rows, times the taps of a
// convolution's kernel, whose matrix is [outputs, taps · channels / groups]. As in PyTorch, fan_out does not
// count groups, and a transposed convolution's matrix, [inputs, taps · outputs / groups], is used as it is
// stored. fan_in and fan_out of a spectral layer's weights are its input and output channels.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/base/places.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// Returns the last rule that matches the parameter `path`, "hidden1/weight", or nullptr.
[[nodiscard]] const InitialRule* rule_of(std::span<const InitialRule> rules, const std::string& path);

/// Returns `spec` with the distribution of the rule; for an orthogonal matrix the spec's distribution stays.
[[nodiscard]] ParameterSpec with_initial_values(ParameterSpec spec, const InitialRule& rule);

/// Returns [rows, columns], row-major: gain times the orthonormal basis that the Gram-Schmidt method makes
/// from normal numbers, which has the uniform (Haar) distribution (Mezzadri, Notices of the AMS 54, 2007).
/// The result depends on the stream and the sizes alone. The calling thread computes it in double, with 8
/// bytes per element.
[[nodiscard]] std::vector<float> orthogonal_matrix(const RandomStream& stream, std::int64_t rows,
                                                   std::int64_t columns, double gain);

/// Throws Error (bad_input) if a pattern of model.initialize matches no parameter of the network, if a kind
/// with fans or the orthogonal kind matches a vector, or if a constant exceeds the range of the type that the
/// parameter's layer computes in. `places`: positions of the deck's keys.
void require_initial_rules_apply(const Chain& chain, const ModelOptions& model, const Places& places = {});

}  // namespace mylos
