// What a layer of a deck reads: its grid, and the layer's lists of one number per axis.
//
// These functions throw Error (bad_input) and name the layer if its input is not a grid, if its lists do not
// have one entry per axis, or if the shape is not valid.
#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <vector>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/kernels/grid/padding_kinds.hpp"
#include "mylos/model/layers.hpp"

namespace mylos {

/// The input of a layer.
struct LayerInput {
  std::string layer;  // the layer's name, for messages
  GridShape grid;
  std::size_t axes = 0;  // number of axes; the grid uses the last ones of the three; 0: a vector
};

/// Returns the grid of a shape of 1 to 3 extents and the channels.
[[nodiscard]] GridShape grid_of(const std::vector<std::int64_t>& shape);

/// Returns the input's grid. `does`: what the layer does with it, "convolves".
[[nodiscard]] GridShape require_grid(const LayerInput& input, const char* does);

/// Throws Error (bad_input): `key` has `given` numbers, or `what`, for the axes of the input's grid.
[[noreturn]] void refuse_axes(std::size_t given, const LayerInput& input, const char* key,
                              const char* what = "numbers");

/// Returns the deck's numbers on the axes of the grid; missing axes get `absent`.
template <class Number>
std::array<Number, 3> along_axes(const std::vector<Number>& given, std::type_identity_t<Number> absent,
                                 const LayerInput& input, const char* key) {
  std::array<Number, 3> result = {absent, absent, absent};
  if (given.empty()) return result;
  if (given.size() != 1 && given.size() != input.axes) refuse_axes(given.size(), input, key);
  for (std::size_t axis = 0; axis < input.axes; ++axis)
    result[3 - input.axes + axis] = given.size() == 1 ? given.front() : given[axis];
  return result;
}

/// Returns the kinds of the edges on the axes of the grid; missing axes get zeros.
[[nodiscard]] PaddingKinds padding_kinds(const Edges& edges, const LayerInput& input);

/// Checks the shape as the kernels do; messages name the layer. `does`: "convolve".
template <class Shape>
Shape checked(const Shape& shape, const LayerInput& input, const char* does) {
  try {
    check(shape);
  } catch (const Error& error) {
    fail_input(errors::bad_layer, "model.layers: layer '{}' cannot {} {}: {}", input.layer, does,
               describe(input.grid), error.message());
  }
  return shape;
}

/// Returns whether the layer's block computes the activation: those of some kinds do if nothing lies between.
[[nodiscard]] bool has_fused_activation(const LayerOptions& layer);

/// Returns whether batch normalisation computes the activation in place.
[[nodiscard]] bool is_fused_with_norm(const LayerOptions& layer);

}  // namespace mylos
