#include "mylos/model/layers/layer_kinds.hpp"

#include <iterator>

namespace mylos {
namespace {

/// In the order of LayerKind.
constexpr void (*kinds[])(GrowingChain&, const LayerOptions&) = {
    append_dense,        append_convolution, append_spectral,      append_max_pool,
    append_average_pool, append_global_pool, append_upsampling,    require_norm,
    require_activation,  append_addition,    append_concatenation, append_branch,
    append_coordinates,  append_padding,     append_crop,          append_custom};
static_assert(std::size(kinds) == std::size(layer_traits));

}  // namespace

void append_kind(GrowingChain& network, const LayerOptions& layer) {
  kinds[static_cast<std::size_t>(layer.kind)](network, layer);
}

}  // namespace mylos
