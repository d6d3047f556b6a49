// Decodes PNG and JPEG files to pixels, with libpng and libjpeg-turbo.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mylos {

/// Limits memory: a file of some kilobytes may claim to hold an image of gigabytes.
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

/// Throws Error (bad_input) in a build without decoders, and explains how to get them.
void require_image_decoders();

/// Decodes the image in a file with these bytes, whatever the file's name. Returns the error, worded to
/// follow the file's name and ": "; empty on success. A decoder's warning counts as an error: decoders fill
/// missing parts with grey.
[[nodiscard]] std::string decode_image(std::span<const std::byte> file, Image& image);

[[nodiscard]] std::string decode_png(std::span<const std::byte> file, Image& image);
[[nodiscard]] std::string decode_jpeg(std::span<const std::byte> file, Image& image);

/// Sets the size and allocates the memory. Returns the error for an invalid size, or an empty text.
[[nodiscard]] std::string make_room(Image& image, std::int64_t height, std::int64_t width,
                                    std::int64_t channels);

}  // namespace mylos
