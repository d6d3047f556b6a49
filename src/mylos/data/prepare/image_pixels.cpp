#include "mylos/data/prepare/image_pixels.hpp"

#include <algorithm>

namespace mylos {
namespace {

/// Calls `use` with those of `from` pixels in a row that pixel `to` of `count` covers, and the covered part
/// of each in units of 1 / count of a pixel; the parts add up to `from`.
template <class Use>
void for_each_covered(std::int64_t from, std::int64_t count, std::int64_t to, const Use& use) {
  const std::int64_t begin = to * from;
  const std::int64_t end = begin + from;
  for (std::int64_t i = begin / count; i * count < end; ++i) {
    use(i, std::min(end, (i + 1) * count) - std::max(begin, i * count));
  }
}

}  // namespace

void set_channels(Image& image, std::int64_t channels) {
  if (image.channels == channels) return;
  const std::size_t count = image.pixels.size() / static_cast<std::size_t>(image.channels);
  std::vector<std::uint8_t> result(count * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < count; ++i) {
    if (channels == 1) {
      const std::uint8_t* rgb = image.pixels.data() + 3 * i;
      result[i] =
          static_cast<std::uint8_t>((19595U * rgb[0] + 38470U * rgb[1] + 7471U * rgb[2] + 32768U) >> 16);
    } else {
      std::fill_n(result.begin() + static_cast<std::ptrdiff_t>(3 * i), 3, image.pixels[i]);
    }
  }
  image.channels = channels;
  image.pixels = std::move(result);
}

void resize(Image& image, std::int64_t height, std::int64_t width) {
  if (image.height == height && image.width == width) return;
  const std::int64_t channels = image.channels;
  const auto at = [](std::int64_t index) { return static_cast<std::size_t>(index); };
  std::vector<std::uint8_t> result(at(height * width * channels));
  std::vector<std::uint64_t> sums(at(width * channels));
  const auto area = static_cast<std::uint64_t>(image.height * image.width);
  for (std::int64_t row = 0; row < height; ++row) {
    std::fill(sums.begin(), sums.end(), 0);
    for_each_covered(image.height, height, row, [&](std::int64_t from_row, std::int64_t tall) {
      const std::uint8_t* pixels = image.pixels.data() + from_row * image.width * channels;
      for (std::int64_t column = 0; column < width; ++column) {
        for_each_covered(image.width, width, column, [&](std::int64_t from_column, std::int64_t wide) {
          for (std::int64_t c = 0; c < channels; ++c) {
            sums[at(column * channels + c)] +=
                static_cast<std::uint64_t>(tall * wide) * pixels[from_column * channels + c];
          }
        });
      }
    });
    std::transform(
        sums.begin(), sums.end(), result.begin() + row * width * channels,
        [area](std::uint64_t sum) { return static_cast<std::uint8_t>((2 * sum + area) / (2 * area)); });
  }
  image.height = height;
  image.width = width;
  image.pixels = std::move(result);
}

}  // namespace mylos
