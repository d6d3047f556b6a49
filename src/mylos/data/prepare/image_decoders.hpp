// PNG and JPEG files to pixels, by libpng and libjpeg-turbo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mylos {

/// A file of some kilobytes may say that it holds an image of gigabytes.
inline constexpr std::int64_t max_pixels = std::int64_t{1} << 26;

struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;         // 1: grey, 3: red, green, blue
  std::vector<std::uint8_t> pixels;  // [height, width, channels]
  bool had_alpha = false;            // or a transparent colour
  bool had_16_bits = false;

  [[nodiscard]] std::int64_t numbers() const { return height * width * channels; }
};

/// Throws Error (bad_input) in a build without decoders, and says how to get them.
void require_image_decoders();

/// The image in a file of these bytes, whatever the file is called. Returns what is wrong with them, to stand
/// behind the file's name and ": "; empty where nothing is. A decoder's warning counts: it fills in what is
/// missing with grey.
[[nodiscard]] std::string decode_image(std::span<const std::byte> file, Image& image);

[[nodiscard]] std::string decode_png(std::span<const std::byte> file, Image& image);
[[nodiscard]] std::string decode_jpeg(std::span<const std::byte> file, Image& image);

/// Sets the size and takes the memory; what is wrong with such a size, or nothing.
[[nodiscard]] std::string make_room(Image& image, std::int64_t height, std::int64_t width,
                                    std::int64_t channels);

}  // namespace mylos
