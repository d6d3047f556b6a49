// `mylos prepare tokens FILE ... --out FILE`: converts streams of token numbers, as tokenizers write them, to
// a token file.
//
// A stream is little-endian uint16 or uint32, with or without the header of llm.c's .bin files: 256 int32, of
// which the first three are a magic number, a version and the count of tokens (20240520, version 1: uint16;
// 20240801, version 7: uint32; https://github.com/karpathy/llm.c, dev/data/data_common.py).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mylos/data/tokens/token_format.hpp"

namespace mylos {

struct PrepareTokens {
  std::vector<std::string> files;  // concatenated
  std::optional<DType> type;       // uint16 or uint32; none: from the header, without header uint16
  std::int64_t vocabulary = 0;     // 0: largest token + 1
  std::string out;                 // the token file to make
};

/// Throws Error: bad_input for errors in the files (a token outside the vocabulary with its position), failed
/// if `out` cannot be written. Holds one piece of a file at a time in memory.
void prepare(const PrepareTokens& job);

}  // namespace mylos
