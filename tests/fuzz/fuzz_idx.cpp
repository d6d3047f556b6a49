// IDX images and labels, plain or compressed. The first byte says which of the two are compressed here, so
// that what is inside is mutated too; the next two how many bytes are labels.
#include <zlib.h>

#include <algorithm>

#include "hostile_input.hpp"
#include "mylos/data/prepare/prepare_idx.hpp"

namespace {

void write_compressed(const std::string& path, std::string_view bytes) {
  gzFile file = gzopen(path.c_str(), "wb1");
  if (!bytes.empty()) gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mylos;
  if (size < 3) return 0;
  const std::string_view bytes = fuzz::text_of(data + 3, size - 3);
  const std::size_t label_bytes = std::min<std::size_t>(bytes.size(), data[1] | data[2] << 8u);
  PrepareIdx job{.images = fuzz::scratch_path("images"),
                 .labels = fuzz::scratch_path("labels"),
                 .out = fuzz::scratch_path("images.h5")};
  if (data[0] >= 8) job.classes = data[0];
  (data[0] % 2 == 0 ? fuzz::write_file : write_compressed)(job.labels, bytes.substr(0, label_bytes));
  (data[0] % 4 < 2 ? fuzz::write_file : write_compressed)(job.images, bytes.substr(label_bytes));
  fuzz::take_or_refuse(size, [&] { prepare(job); });
  return 0;
}
