// Converts decoded pixels: to another number of channels, to another size.
#pragma once

#include <cstdint>

#include "mylos/data/prepare/image_decoders.hpp"

namespace mylos {

/// Converts to 1 channel: the luma of ITU-R BT.601, (19595 R + 38470 G + 7471 B + 32768) / 65536 rounded
/// down, like Pillow's "L"; or to 3: three times the grey.
void set_channels(Image& image, std::int64_t channels);

/// Resizes the complete image to `height` x `width` pixels: each is the exact mean of the area that it
/// covers, with halves rounded up. Changes the aspect ratio if height : width differs.
void resize(Image& image, std::int64_t height, std::int64_t width);

}  // namespace mylos
