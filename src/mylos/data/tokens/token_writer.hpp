// TokenWriter: makes a token file from a stream of tokens. The file appears under its name when it is
// complete.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mylos/data/tokens/token_format.hpp"

namespace mylos {

class TokenWriter {
 public:
  /// Creates a temporary file and reserves its space. A vocabulary of 0 tokens: as large as the largest token
  /// needs. `source` states the origin of the tokens.
  TokenWriter(const std::string& path, DType type, std::int64_t tokens, const Vocabulary& vocabulary,
              const std::string& source);
  ~TokenWriter();

  /// Adds the next tokens. The caller checks them, because it can name the origin of a wrong one.
  void add(std::span<const std::uint32_t> tokens);

  /// Writes vocabulary and identity, reads the file back, and publishes it.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos
