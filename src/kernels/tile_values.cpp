#include "mylos/kernels/tile_values.hpp"

#include "bfloat16_words.hpp"

namespace mylos::host_tile {
namespace {

template <class T>
void write_values(const float* values, std::int64_t count, T* to) {
  std::int64_t i = 0;
  for (; i + lanes::count <= count; i += lanes::count) {
    lanes::Floats vector;
    lanes::load(values + i, vector);
    store_rounded<Bfloat16Words>(vector, to + i);
  }
  if (i == count) return;
  lanes::Floats vector;
  lanes::load_some(values + i, count - i, vector);
  T padded[lanes::count];
  store_rounded<Bfloat16Words>(vector, padded);
  std::memcpy(to + i, padded, static_cast<std::size_t>(count - i) * sizeof(T));
}

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
  write_values(values, count, to);
}
void write(const float* values, std::int64_t count, bfloat16* to) {
  write_values(values, count, to);
}

}  // namespace mylos::host_tile
