// An image file. With an odd first byte the checksums of a PNG's chunks are made right, so that what is
// inside is mutated too.
#include <zlib.h>

#include <cstring>
#include <span>

#include "hostile_input.hpp"
#include "mylos/data/prepare/image_decoders.hpp"

namespace {

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

void correct_checksums(std::string& png) {
  for (std::size_t at = 8; at + 12 <= png.size();) {
    const std::size_t size = big_endian(png.data() + at);
    if (size > png.size() - at - 12) return;
    const auto crc =
        crc32(0, reinterpret_cast<const Bytef*>(png.data() + at + 4), static_cast<uInt>(size + 4));
    for (int i = 0; i < 4; ++i)
      png[at + 8 + size + static_cast<std::size_t>(i)] = static_cast<char>(crc >> (24 - 8 * i));
    at += size + 12;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mylos;
  if (size < 1) return 0;
  std::string file(fuzz::text_of(data + 1, size - 1));
  if (data[0] % 2 == 1) correct_checksums(file);
  Image image;  // may be as large as its header says, which the command bounds
  const std::string problem = decode_image(std::as_bytes(std::span(file)), image);
  if (problem.empty() && image.pixels.size() != static_cast<std::size_t>(image.numbers())) std::abort();
  return 0;
}
