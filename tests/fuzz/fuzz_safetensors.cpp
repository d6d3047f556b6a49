// A safetensors file: its header, and the elements that the header claims.
//
// With a first byte of 0 the rest is the file; else the header's length is put right in front of a header of
// so many bytes, which mutations would hardly ever do.
#include <algorithm>

#include "hostile_input.hpp"
#include "mylos/io/safetensors/safetensors.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mylos;
  if (size < 3) return 0;
  std::string file(fuzz::text_of(data + 3, size - 3));
  if (data[0] != 0) {
    const std::uint64_t length = std::min<std::uint64_t>(file.size(), data[1] | data[2] << 8u);
    file.insert(0, reinterpret_cast<const char*>(&length), sizeof(length));
  }
  const std::string path = fuzz::scratch_path("weights.safetensors");
  fuzz::write_file(path, file);
  fuzz::take_or_refuse(file.size(), [&] {
    safetensors::Reader reader(path);
    for (const auto& entry : reader.entries()) {
      if (reader.find(entry.name) != &entry) std::abort();
      if (reader.read(entry).size() != static_cast<std::size_t>(entry.size())) std::abort();
    }
  });
  return 0;
}
