#include "mylos/io/files/digest.hpp"

#include <fmt/format.h>
#include <xxhash.h>
#include <zlib.h>

#include "mylos/base/error.hpp"
#include "mylos/base/errors/memory.hpp"

namespace mylos {

std::uint32_t crc32_joined(std::uint32_t first, std::uint32_t second, std::int64_t second_bytes) {
  return static_cast<std::uint32_t>(::crc32_combine(first, second, static_cast<z_off_t>(second_bytes)));
}

void Xxh128::Free::operator()(XXH3_state_s* state) const {
  XXH3_freeState(state);
}

Xxh128::Xxh128() : state_(XXH3_createState()) {
  if (!state_) fail_run(errors::out_of_memory, "there is no memory for a digest");
  XXH3_128bits_reset(state_.get());
}

void Xxh128::update(const void* data, std::size_t bytes) {
  XXH3_128bits_update(state_.get(), data, bytes);
}

std::string Xxh128::digest() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_.get());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace mylos
