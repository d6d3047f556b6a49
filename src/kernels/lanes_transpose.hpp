// A 16 x 16 transposition in registers.
#pragma once

#include "lanes.hpp"

namespace mylos::lanes {

/// rows[i][j] <-> rows[j][i]: in step `distance`, lane bit and row bit of that weight change places.
template <int distance>
inline void exchange(Floats (&rows)[count]) {
  Integers low;
  Integers high;
  for (int lane = 0; lane < count; ++lane) {
    low[lane] = (lane & distance) != 0 ? lane - distance + count : lane;
    high[lane] = (lane & distance) != 0 ? lane + count : lane + distance;
  }
  for (int row = 0; row < count; ++row) {
    if ((row & distance) != 0) continue;
    const Floats upper = rows[row];
    const Floats lower = rows[row + distance];
    rows[row] = __builtin_shuffle(upper, lower, low);
    rows[row + distance] = __builtin_shuffle(upper, lower, high);
  }
}

inline void transpose(Floats (&rows)[count]) {
  exchange<8>(rows);
  exchange<4>(rows);
  exchange<2>(rows);
  exchange<1>(rows);
}

}  // namespace mylos::lanes
