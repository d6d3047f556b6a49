// Initial values by the rules of the deck ([[model.initialize]]), in place of what a layer draws by itself.
//
//   xavier_uniform  uniform in [-b, b), b = gain · sqrt(6 / (fan_in + fan_out))
//   xavier_normal   normal, deviation gain · sqrt(2 / (fan_in + fan_out))
//                                                         (Glorot, Bengio, AISTATS 2010)
//   he_uniform      uniform in [-b, b), b = gain · sqrt(3 / fan_in); gain is the root of 2 where none is
//   given he_normal       normal, deviation gain / sqrt(fan_in); likewise
//                                                         (He, Zhang, Ren, Sun, arXiv 1502.01852)
//   orthogonal      gain times a matrix whose rows, or whose columns where there are fewer, are orthonormal
//                                                         (Saxe, McClelland, Ganguli, arXiv 1312.6120)
//   normal, uniform, constant
//
// fan_in is the columns of a matrix; fan_out its rows, times the taps of a convolution's kernel, whose matrix
// is [outputs, taps · channels / groups]. As in PyTorch, groups are not counted in fan_out, and a transposed
// convolution's matrix, [inputs, taps · outputs / groups], is taken as it lies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "mylos/base/numbers/random.hpp"
#include "mylos/base/places.hpp"
#include "mylos/model/chain/chain.hpp"

namespace mylos {

/// The last one that matches the parameter `path`, "hidden1/weight"; nullptr: none.
[[nodiscard]] const InitialRule* rule_of(std::span<const InitialRule> rules, const std::string& path);

/// `spec` with the distribution that the rule says; of an orthogonal matrix its own.
[[nodiscard]] ParameterSpec with_initial_values(ParameterSpec spec, const InitialRule& rule);

/// [rows, columns], row by row: gain times the orthonormal basis that Gram and Schmidt's method makes of
/// normal numbers, which is one of the uniform (Haar) distribution (Mezzadri, Notices of the AMS 54, 2007).
/// A function of the stream and the sizes alone; in double, by this thread, in 8 bytes for each element.
[[nodiscard]] std::vector<float> orthogonal_matrix(const RandomStream& stream, std::int64_t rows,
                                                   std::int64_t columns, double gain);

/// Throws Error (bad_input) where a pattern of model.initialize matches no parameter of the network, or a
/// kind that has fans or is orthogonal a vector, or where a constant is beyond the numbers that the
/// parameter's layer computes with. `places`: of the deck.
void require_initial_rules_apply(const Chain& chain, const ModelOptions& model, const Places& places = {});

}  // namespace mylos
