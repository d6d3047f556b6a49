// Copies parts of a matrix into panels of floats, as the product kernel reads them.
#pragma once

#include <algorithm>

#include "lanes_transpose.hpp"

namespace mylos {

/// Copies `width` x `depth` elements into panels of `panel` neighbours: target[width / panel][depth][panel],
/// panels `panel_stride` floats apart. `along_depth`: neighbours in the source's memory differ in depth, else
/// in width.
template <int panel, class T>
void pack(const T* source, std::int64_t stride, bool along_depth, std::int64_t width, std::int64_t depth,
          float* target, std::int64_t panel_stride) {
  const auto put = [&](const lanes::Floats& value, std::int64_t w, std::int64_t p) {
    if constexpr (panel >= lanes::count) {
      lanes::store(value, target + w / panel * panel_stride + p * panel + w % panel);
    } else {
      for (int part = 0; part < lanes::count; part += panel) {
        std::memcpy(target + (w + part) / panel * panel_stride + p * panel,
                    reinterpret_cast<const float*>(&value) + part, panel * sizeof(float));
      }
    }
  };
  if (!along_depth) {
    for (std::int64_t p = 0; p < depth; ++p) {
      const T* row = source + p * stride;
      std::int64_t w = 0;
      lanes::Floats value;
      for (; w + lanes::count <= width; w += lanes::count) {
        lanes::load(row + w, value);
        put(value, w, p);
      }
      if (w < width) {
        lanes::load_some(row + w, width - w, value);
        put(value, w, p);
      }
    }
    return;
  }
  for (std::int64_t w = 0; w < width; w += lanes::count) {
    const std::int64_t rows = std::min<std::int64_t>(lanes::count, width - w);
    for (std::int64_t p = 0; p < depth; p += lanes::count) {
      const std::int64_t columns = std::min<std::int64_t>(lanes::count, depth - p);
      lanes::Floats block[lanes::count] = {};
      for (std::int64_t row = 0; row < rows; ++row) {
        const T* start = source + (w + row) * stride + p;
        if (columns == lanes::count) {
          lanes::load(start, block[row]);
        } else {
          lanes::load_some(start, columns, block[row]);
        }
      }
      lanes::transpose(block);
      for (std::int64_t column = 0; column < columns; ++column) {
        put(block[column], w, p + column);
      }
    }
  }
}

}  // namespace mylos
