// How tokens are drawn from a language model.
#pragma once

#include <cstdint>

namespace mylos {

struct DrawOptions {
  double temperature = 0.8;  // 0: always the likeliest token
  std::int64_t top_k = 0;    // tokens that can be drawn, the likeliest; 0 = all
  std::uint64_t seed = 1;
};

}  // namespace mylos
