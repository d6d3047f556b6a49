#include "mylos/interchange/onnx/onnx_chain.hpp"

#include "mylos/base/error.hpp"
#include "mylos/base/errors/datasets.hpp"

namespace mylos {

OnnxBoundary onnx_blocks(OnnxBuilder& graph, const Chain& chain, const ReadOnnxWeight& read,
                         OnnxBoundary input) {
  std::vector<OnnxBoundary> boundaries{std::move(input)};
  boundaries.reserve(chain.blocks.size() + 1);
  for (std::size_t i = 0; i < chain.blocks.size(); ++i) {
    const Block& block = *chain.blocks[i];
    const std::size_t from = chain.skip_of(i);
    graph.begin_layer(block.signature().name);
    OnnxLayer layer(graph, read, block.signature(), block.parameters(), &boundaries[i],
                    from == no_skip ? nullptr : &boundaries[from]);
    if (!block.write_onnx(layer)) {
      fail_input(errors::unsupported_feature,
                 "layer '{}' is of the kind '{}', which `mylos export` cannot write as ONNX; export a model "
                 "file, MODEL.h5",
                 layer.name(), block.signature().kind);
    }
    boundaries.push_back(layer.take_output());
  }
  graph.begin_layer("");
  return std::move(boundaries.back());
}

}  // namespace mylos
