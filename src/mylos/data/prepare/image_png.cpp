#include <fmt/format.h>
#include <png.h>

#include <csetjmp>
#include <cstring>

#include "mylos/base/errors/text.hpp"
#include "mylos/data/prepare/image_decoders.hpp"

namespace mylos {
namespace {

constexpr png_uint_32 max_side = 1'000'000;

/// libpng's two structs and their input. libpng leaves its functions by longjmp: only functions that
/// guarded() calls may use it, because no frame that longjmp skips may have destructors.
struct PngReader {
  explicit PngReader(std::span<const std::byte> file) : rest(file) {
    png = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, &PngReader::fail, &PngReader::ignore);
    if (png != nullptr) info = png_create_info_struct(png);
  }
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  [[nodiscard]] bool guarded(void (*work)(PngReader&)) {
    if (setjmp(png_jmpbuf(png)) != 0) return false;
    work(*this);
    return true;
  }

  [[noreturn]] static void fail(png_structp png, png_const_charp message) {
    auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(reader->problem, message, sizeof reader->problem - 1);
    png_longjmp(png, 1);
  }
  /// Ignores chunks that are not pixels.
  static void ignore(png_structp, png_const_charp) {}

  static void read(png_structp png, png_bytep to, std::size_t bytes) {
    auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
    if (bytes > reader->rest.size()) png_error(png, "ends too early");
    std::memcpy(to, reader->rest.data(), bytes);
    reader->rest = reader->rest.subspan(bytes);
  }

  png_structp png = nullptr;
  png_infop info = nullptr;
  std::span<const std::byte> rest;
  png_bytepp rows = nullptr;
  char problem[200] = {};
};

void read_png_header(PngReader& reader) {
  png_set_user_limits(reader.png, max_side, max_side);
  png_set_read_fn(reader.png, &reader, &PngReader::read);
  png_read_info(reader.png, reader.info);
}

/// Converts every kind of PNG to 8 bits of grey, or of red, green and blue.
void choose_png_rows(PngReader& reader) {
  png_structp png = reader.png;
  const png_byte colour = png_get_color_type(png, reader.info);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (colour == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  if (png_get_bit_depth(png, reader.info) == 16) png_set_scale_16(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, reader.info);
}

void read_png_rows(PngReader& reader) {
  png_read_image(reader.png, reader.rows);
  png_read_end(reader.png, nullptr);
}

}  // namespace

std::string decode_png(std::span<const std::byte> file, Image& image) {
  PngReader reader(file);
  if (reader.info == nullptr) return "cannot be decoded: libpng has no memory";
  const auto damaged = [&] {
    return fmt::format("is damaged: {}", printable(reader.problem, sizeof reader.problem));
  };
  if (!reader.guarded(&read_png_header)) return damaged();
  const bool is_grey = (png_get_color_type(reader.png, reader.info) & PNG_COLOR_MASK_COLOR) == 0;
  image.had_alpha = (png_get_color_type(reader.png, reader.info) & PNG_COLOR_MASK_ALPHA) != 0 ||
                    png_get_valid(reader.png, reader.info, PNG_INFO_tRNS) != 0;
  image.had_16_bits = png_get_bit_depth(reader.png, reader.info) == 16;
  std::string problem = make_room(image, png_get_image_height(reader.png, reader.info),
                                  png_get_image_width(reader.png, reader.info), is_grey ? 1 : 3);
  if (!problem.empty()) return problem;
  if (!reader.guarded(&choose_png_rows)) return damaged();
  const auto row_bytes = static_cast<std::size_t>(image.width * image.channels);
  if (png_get_rowbytes(reader.png, reader.info) != row_bytes) return "is damaged: rows of another length";
  std::vector<png_bytep> rows(static_cast<std::size_t>(image.height));
  for (std::size_t row = 0; row < rows.size(); ++row) rows[row] = image.pixels.data() + row * row_bytes;
  reader.rows = rows.data();
  return reader.guarded(&read_png_rows) ? "" : damaged();
}

}  // namespace mylos
