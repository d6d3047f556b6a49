// The token file (HDF5) that `mylos prepare text` and `mylos prepare tokens` write and h5py reads.
//
//   /tokens      [N]     uint8, uint16 or uint32, each below the attribute vocabulary
//   /vocabulary  scalar  kind "characters": the characters in UTF-8, concatenated, token 0's first
//   /digests/{tokens,vocabulary}  digests of blocks (block_digests.hpp)
//   attributes of /: format, version, vocabulary (count), kind ("bytes", "characters", "tokens"), identity (a
//   digest of the contents), source
//
// A file from another program needs only /tokens and the attribute vocabulary.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "mylos/base/dtype_of.hpp"
#include "mylos/data/files/meaning/vocabulary.hpp"
#include "mylos/io/files/digest.hpp"

namespace mylos {

inline constexpr std::string_view token_format = "mylos-tokens";
inline constexpr std::int64_t token_version = 1;

/// Tokens are std::int32_t in batches.
inline constexpr std::int64_t max_vocabulary = (std::int64_t{1} << 31) - 1;

/// Returns the smallest type for tokens below `vocabulary`.
[[nodiscard]] constexpr DType token_type_for(std::int64_t vocabulary) {
  return vocabulary <= 256 ? DType::uint8 : vocabulary <= 65536 ? DType::uint16 : DType::uint32;
}

/// Returns the bytes of a stored token.
[[nodiscard]] constexpr std::int64_t token_bytes(DType type) {
  return static_cast<std::int64_t>(size_of(type));
}

/// Calls function(TypeTag<T>{}) with the stored type `type`: uint8, uint16 or uint32.
template <class Function>
decltype(auto) with_token_type(DType type, Function&& function) {
  if (type == DType::uint8) return std::forward<Function>(function)(TypeTag<std::uint8_t>{});
  if (type == DType::uint16) return std::forward<Function>(function)(TypeTag<std::uint16_t>{});
  return std::forward<Function>(function)(TypeTag<std::uint32_t>{});
}

/// The digest that identifies a token file: XXH3-128 over type, vocabulary and contents. A restart with other
/// data is refused.
class TokenIdentity {
 public:
  void add(const void* stored, std::int64_t bytes) {
    tokens_.update(stored, static_cast<std::size_t>(bytes));
    bytes_ += bytes;
  }
  [[nodiscard]] std::string finish(DType type, const Vocabulary& vocabulary);

 private:
  Xxh128 tokens_;
  std::int64_t bytes_ = 0;
};

}  // namespace mylos
