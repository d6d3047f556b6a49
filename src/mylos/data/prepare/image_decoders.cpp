#include "mylos/data/prepare/image_decoders.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "mylos/base/error.hpp"

namespace mylos {
namespace {

template <std::size_t Size>
bool starts_with(std::span<const std::byte> file, const std::array<std::uint8_t, Size>& signature) {
  return file.size() >= Size && std::equal(signature.begin(), signature.end(), file.begin(),
                                           [](std::uint8_t a, std::byte b) { return std::byte{a} == b; });
}

constexpr std::array<std::uint8_t, 8> png_signature{0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
constexpr std::array<std::uint8_t, 3> jpeg_signature{0xff, 0xd8, 0xff};

}  // namespace

void require_image_decoders() {}

std::string decode_image(std::span<const std::byte> file, Image& image) {
  if (starts_with(file, png_signature)) return decode_png(file, image);
  if (starts_with(file, jpeg_signature)) return decode_jpeg(file, image);
  return "is neither a PNG nor a JPEG file";
}

std::string make_room(Image& image, std::int64_t height, std::int64_t width, std::int64_t channels) {
  if (height < 1 || width < 1) return fmt::format("has {} x {} pixels", height, width);
  if (height > max_pixels / width) {
    return fmt::format("has {} x {} pixels, more than the {} that an image may have", height, width,
                       max_pixels);
  }
  image.height = height;
  image.width = width;
  image.channels = channels;
  image.pixels.resize(static_cast<std::size_t>(image.numbers()));
  return "";
}

}  // namespace mylos
