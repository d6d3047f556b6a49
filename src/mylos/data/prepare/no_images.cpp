// Replaces the image decoders in builds without libpng or libjpeg-turbo.
#include "mylos/base/error.hpp"
#include "mylos/base/errors/machine.hpp"
#include "mylos/data/prepare/image_decoders.hpp"

namespace mylos {

void require_image_decoders() {
  fail_input(
      errors::not_in_build,
      "this mylos was built without libpng and libjpeg-turbo, which decode images. Install them (Debian: "
      "libpng-dev, libturbojpeg0-dev) and build again with -DMylos_ENABLE_IMAGES=ON");
}

std::string decode_image(std::span<const std::byte>, Image&) {
  return "cannot be decoded by this build";
}

}  // namespace mylos
