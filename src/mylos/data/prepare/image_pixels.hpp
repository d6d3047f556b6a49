// What is made of decoded pixels: another number of channels, another size.
#pragma once

#include <cstdint>

#include "mylos/data/prepare/image_decoders.hpp"

namespace mylos {

/// To 1 channel: the luma of ITU-R BT.601, (19595 R + 38470 G + 7471 B + 32768) / 65536 rounded down, as
/// Pillow's "L" is; to 3: three times the grey.
void set_channels(Image& image, std::int64_t channels);

/// The whole image on `height` x `width` pixels: each is the mean of the area that it covers, exactly, a half
/// rounded up. The shape of what is seen changes where height : width does.
void resize(Image& image, std::int64_t height, std::int64_t width);

}  // namespace mylos
