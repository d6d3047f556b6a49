// Short forms of networks on grids: model.type = "cnn", "resnet" and "unet" stand for lists of layers.
//
//   cnn     for each of `channels` a convolution and a max pool by 2; then dense layers `hidden`, and the
//   head resnet  a stem and, for each of `channels`, a stage of `blocks` residual blocks of two convolutions,
//   which
//           halves the grid but for the first (He et al. 2016, arXiv 1512.03385); a global pool, and the
//           head. Where a stage begins, a convolution of one point brings the connection to its shape
//   unet    `blocks` convolutions at each level, whose grids halve from one of `channels` to the next and are
//           doubled again by transposed convolutions, each beside what its level had before (Ronneberger et
//           al. 2015, arXiv 1505.04597); the head is a convolution of one point to `fields` channels
#pragma once

#include "mylos/model/options.hpp"

namespace mylos {

[[nodiscard]] constexpr bool is_short_form(ModelType type) {
  return type == ModelType::cnn || type == ModelType::resnet || type == ModelType::unet;
}

/// Of a short form with `channels`: the chain that it stands for. Others as they are.
[[nodiscard]] ModelOptions spelled_out(ModelOptions model);

}  // namespace mylos
