// Picture: pixels in colour, and the PNG file of them. Written with zlib alone, so that every build has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "mylos/io/pictures/colour_map.hpp"

namespace mylos {

struct Picture {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::vector<Colour> pixels;  // [height, width], the first row on top

  Picture(std::int64_t rows, std::int64_t columns, Colour background)
      : height(rows), width(columns), pixels(static_cast<std::size_t>(rows * columns), background) {}
  [[nodiscard]] Colour& at(std::int64_t row, std::int64_t column) {
    return pixels[static_cast<std::size_t>(row * width + column)];
  }
};

/// Returns the bytes of a PNG file of the picture: 8 bits of red, green and blue (RFC 2083).
[[nodiscard]] std::string png_of(const Picture& picture);

/// Returns the bytes in base64 (RFC 4648), as data URIs of pages and SVG files have them.
[[nodiscard]] std::string base64_of(std::string_view bytes);

}  // namespace mylos
