// The first 512 bytes of a checkpoint or model file and what follows them, which is checked before HDF5 sees
// the file.
#include "mylos/checkpoint/file/user_block.hpp"

#include "hostile_input.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mylos;
  const std::string path = fuzz::scratch_path("checkpoint.h5");
  fuzz::write_file(path, fuzz::text_of(data, size));
  fuzz::take_or_refuse(size, [&] {
    static_cast<void>(kind_of_file(path));
    static_cast<void>(verify_user_block(path, ReadableKinds::all));
  });
  return 0;
}
