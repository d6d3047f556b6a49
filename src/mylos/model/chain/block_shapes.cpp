#include "mylos/model/chain/block_shapes.hpp"

#include <algorithm>

namespace mylos {
namespace {

struct Shape {
  Signature signature;                   // name removed
  std::vector<std::int64_t> parameters;  // rows and columns of each
  BlockCost cost;

  bool operator==(const Shape&) const = default;
};

Shape shape_of(const Block& block, const Engines& engines, std::int64_t rows) {
  Shape shape{.signature = block.signature(), .parameters = {}, .cost = block.cost(engines, rows)};
  shape.signature.name.clear();
  for (const ParameterSpec& parameter : block.parameters()) {
    shape.parameters.push_back(parameter.rows);
    shape.parameters.push_back(parameter.columns);
  }
  return shape;
}

}  // namespace

std::vector<std::size_t> first_of_shape(const Chain& chain, const Engines& engines, std::int64_t rows) {
  std::vector<std::size_t> result;
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
    shapes.push_back(shape_of(*chain.blocks[i], engines, rows));
    std::size_t first = std::min<std::size_t>(i, 1);
    while (first < i && (result[first] != first || !(shapes[first] == shapes[i]))) ++first;
    result.push_back(first);
  }
  return result;
}

std::vector<std::size_t> first_copies(const Chain& chain, const std::vector<std::size_t>& shapes,
                                      std::size_t copies) {
  const auto borrowed = chain.head->borrows();
  std::vector<std::size_t> found(shapes.size(), 0);
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (found[shapes[i]]++ < copies || (borrowed && i <= borrowed->block)) result.push_back(i);
  }
  return result;
}

Chain part_of(const Chain& chain, const std::vector<std::size_t>& blocks) {
  Chain part;
  for (const std::size_t block : blocks) part.blocks.push_back(chain.blocks[block]);
  part.head = chain.head;
  part.rows_per_sample = chain.rows_per_sample;
  return part;
}

}  // namespace mylos
