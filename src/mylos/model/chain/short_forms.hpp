// Short forms of networks on grids: model.type = "cnn", "resnet", "unet", "fno" and "vit" stand for lists of
// layers.
//
//   cnn     for each of `channels` a convolution and a max pool by 2; then dense layers `hidden` and the head
//   resnet  a stem and, for each of `channels`, a stage of `blocks` residual blocks of two convolutions;
//           every stage but the first halves the grid (He et al. 2016, arXiv 1512.03385); then a global pool
//           and the head. At the start of a stage a one-point convolution projects the residual connection
//           to its shape
//   unet    `blocks` convolutions at each level; the grids halve from one of `channels` to the next.
//           Transposed convolutions double them again, and their output is concatenated with that of the
//           same level on the way down (Ronneberger et al. 2015, arXiv 1505.04597); the head is a one-point
//           convolution to `fields` channels
//   fno     a Fourier neural operator (Li et al. 2021, arXiv 2010.08895), the function of the FNO of
//           neuraloperator 2.0.0: coordinates, a lifting of two one-point convolutions, `blocks` Fourier
//           blocks, and a projection of two one-point convolutions to `fields` channels. A block computes,
//           of its input x,
//             z = activation(norm(spectral(x)) + linear(x)),   y = activation(norm(mlp(z) + gate * x))
//           with a channel MLP of two one-point convolutions; the last block has no activations. Margins of
//           zeros surround the grid between lifting and projection
//   vit     a vision transformer (Dosovitskiy et al. 2021, arXiv 2010.11929) without a class token: patches
//           of the grid, each with trained positions, `blocks` blocks of
//             z = x + attention(norm(x)),   y = z + mlp(norm(z))
//           and a norm. To `fields` channels a transposed convolution maps each patch back to its points;
//           with `fields` = 0 the head is a dense layer of the mean over the patches
#pragma once

#include "mylos/model/options.hpp"

namespace mylos {

[[nodiscard]] constexpr bool is_short_form(ModelType type) {
  return type == ModelType::cnn || type == ModelType::resnet || type == ModelType::unet ||
         type == ModelType::fno || type == ModelType::vit;
}

/// Returns the chain that a short form with `channels` stands for; returns other models unchanged.
[[nodiscard]] ModelOptions expand_short_form(ModelOptions model);

}  // namespace mylos
