#include "mylos/kernels/tile_values.hpp"

#include "bfloat16_words.hpp"

namespace mylos::host_tile {
namespace {

/// `written(elements, i)` is told what the values from i on have become.
template <class T, class Written>
void write_values(const float* values, std::int64_t count, T* to, const Written& written) {
  std::int64_t i = 0;
  for (; i + lanes::count <= count; i += lanes::count) {
    lanes::Floats vector;
    lanes::load(values + i, vector);
    store_rounded<Bfloat16Words>(vector, to + i);
    written(to + i, i);
  }
  if (i == count) return;
  lanes::Floats vector;
  lanes::load_some(values + i, count - i, vector);
  T padded[lanes::count];
  store_rounded<Bfloat16Words>(vector, padded);
  std::memcpy(to + i, padded, static_cast<std::size_t>(count - i) * sizeof(T));
  written(padded, i);
}

template <class T>
void write_and_keep(float* values, std::int64_t count, T* to) {
  write_values(values, count, to, [=](const T* elements, std::int64_t i) {
    lanes::Floats vector;
    lanes::load(elements, vector);
    if (count - i >= lanes::count) {
      lanes::store(vector, values + i);
    } else {
      lanes::store_some(vector, count - i, values + i);
    }
  });
}

constexpr auto ignore = [](const auto*, std::int64_t) {};

}  // namespace

void read(const half* from, std::int64_t count, float* values) {
  std::int64_t i = 0;
  for (; i + lanes::count <= count; i += lanes::count) {
    lanes::Floats vector;
    lanes::load(from + i, vector);
    lanes::store(vector, values + i);
  }
  if (i == count) return;
  lanes::Floats vector;
  lanes::load_some(from + i, count - i, vector);
  lanes::store_some(vector, count - i, values + i);
}
void write(const float* values, std::int64_t count, half* to) {
  write_values(values, count, to, ignore);
}
void write(const float* values, std::int64_t count, bfloat16* to) {
  write_values(values, count, to, ignore);
}
void write_rounded(float* values, std::int64_t count, half* to) {
  write_and_keep(values, count, to);
}
void write_rounded(float* values, std::int64_t count, bfloat16* to) {
  write_and_keep(values, count, to);
}

}  // namespace mylos::host_tile
