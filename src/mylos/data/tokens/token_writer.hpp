// TokenWriter: makes a token file from a stream of tokens; it appears when it is whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mylos/data/tokens/token_format.hpp"

namespace mylos {

class TokenWriter {
 public:
  /// Creates the file beside its name and reserves its space. A vocabulary of 0 tokens: as many as the
  /// largest token needs. `source` says where the tokens come from.
  TokenWriter(const std::string& path, DType type, std::int64_t tokens, const Vocabulary& vocabulary,
              const std::string& source);
  ~TokenWriter();

  /// The next tokens. They are checked by the caller, who can say where a wrong one comes from.
  void add(std::span<const std::uint32_t> tokens);

  /// Vocabulary, identity, publication.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos
