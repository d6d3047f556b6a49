#include "mylos/io/pictures/picture.hpp"

#include <zlib.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {
namespace {

void append_big_endian(std::string& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(number >> shift & 0xFF));
}

/// Appends a chunk: length, name and contents, and the CRC-32 of the latter two.
void append_chunk(std::string& file, std::string_view name, std::string_view contents) {
  append_big_endian(file, static_cast<std::uint32_t>(contents.size()));
  const std::size_t checked = file.size();
  file.append(name).append(contents);
  append_big_endian(file, crc32_of(file.data() + checked, file.size() - checked, 0));
}

std::string header_of(const Picture& picture) {
  std::string header;
  append_big_endian(header, static_cast<std::uint32_t>(picture.width));
  append_big_endian(header, static_cast<std::uint32_t>(picture.height));
  // 8 bits each of red, green, blue; deflate; rows that may have filters; not interlaced.
  header.append({8, 2, 0, 0, 0});
  return header;
}

/// The rows, each behind the number of its filter (0: none), deflated.
std::string compressed_rows(const Picture& picture) {
  std::string rows;
  rows.reserve(static_cast<std::size_t>(picture.height * (1 + 3 * picture.width)));
  auto pixel = picture.pixels.begin();
  for (std::int64_t row = 0; row < picture.height; ++row) {
    rows.push_back(0);
    for (std::int64_t column = 0; column < picture.width; ++column, ++pixel) {
      for (const std::uint8_t part : {pixel->red, pixel->green, pixel->blue})
        rows.push_back(static_cast<char>(part));
    }
  }
  uLongf bytes = compressBound(static_cast<uLong>(rows.size()));
  std::string compressed(bytes, '\0');
  const int failure =
      compress2(reinterpret_cast<Bytef*>(compressed.data()), &bytes,
                reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()), 6);
  if (failure != Z_OK) fail_run(errors::internal, "a picture cannot be compressed: zlib's error {}", failure);
  compressed.resize(bytes);
  return compressed;
}

}  // namespace

std::string png_of(const Picture& picture) {
  std::string file("\x89PNG\r\n\x1A\n");
  append_chunk(file, "IHDR", header_of(picture));
  append_chunk(file, "IDAT", compressed_rows(picture));
  append_chunk(file, "IEND", "");
  return file;
}

std::string base64_of(std::string_view bytes) {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t first = 0; first < bytes.size(); first += 3) {
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t index = first + i;
      group = group << 8 | (index < bytes.size() ? static_cast<std::uint8_t>(bytes[index]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool is_padding = first + i > bytes.size();
      text.push_back(is_padding ? '=' : digits[group >> (18 - 6 * i) & 63]);
    }
  }
  return text;
}

}  // namespace mylos
