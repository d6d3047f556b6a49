#include <fmt/format.h>
#include <turbojpeg.h>

#include <memory>

#include "mylos/base/errors/text.hpp"
#include "mylos/data/prepare/image_decoders.hpp"

namespace mylos {

std::string decode_jpeg(std::span<const std::byte> file, Image& image) {
  const std::unique_ptr<void, int (*)(tjhandle)> decoder(tjInitDecompress(), &tjDestroy);
  if (decoder == nullptr) return "cannot be decoded: libjpeg-turbo has no memory";
  const auto damaged = [&] {
    return fmt::format("is damaged: {}", printable(tjGetErrorStr2(decoder.get()), 200));
  };
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  int width = 0;
  int height = 0;
  int sampling = 0;
  int colours = 0;
  if (tjDecompressHeader3(decoder.get(), bytes, file.size(), &width, &height, &sampling, &colours) != 0)
    return damaged();
  if (colours == TJCS_CMYK || colours == TJCS_YCCK) return "has CMYK colours; convert it to RGB";
  const bool is_grey = colours == TJCS_GRAY;
  image.had_alpha = image.had_16_bits = false;
  std::string problem = make_room(image, height, width, is_grey ? 1 : 3);
  if (!problem.empty()) return problem;
  // A progressive file with thousands of scans would take hours.
  constexpr int flags = TJFLAG_ACCURATEDCT | TJFLAG_STOPONWARNING | TJFLAG_LIMITSCANS;
  const int rows_follow = 0;
  if (tjDecompress2(decoder.get(), bytes, file.size(), image.pixels.data(), width, rows_follow, height,
                    is_grey ? TJPF_GRAY : TJPF_RGB, flags) != 0)
    return damaged();
  return "";
}

}  // namespace mylos
