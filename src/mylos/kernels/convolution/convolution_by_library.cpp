#include "mylos/kernels/convolution/convolution_by_library.hpp"

#include <algorithm>

#include "mylos/base/dispatch.hpp"
#include "mylos/base/pieces.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/kernels/convolution/convolution.hpp"
#include "mylos/kernels/convolution/convolution_weights.hpp"
#include "mylos/kernels/grid/grid_fold.hpp"
#include "mylos/kernels/grid/padded_grid.hpp"

namespace mylos {
namespace {

bool has_nonzero_padding(const ConvolutionMap& map) {
  return map.copied_edges().padding != Extents{0, 0, 0};
}

/// Returns true if the library is faster than GEMMs for the pass. GEMMs that need no gathering are as fast,
/// except for sums over samples on hosts. For the weights' gradient of a depthwise convolution oneDNN 2.6
/// computes blocks of 16 x 16 channels, of which only the diagonal is needed. cuDNN 9.19 recommends a direct
/// kernel for most depthwise passes, and ours is one. If the grid must also be copied, GEMMs of many gathered
/// channels sum it faster than oneDNN (Zen 3, float, one thread: 66 to 78 GFLOP/s against 54 to 63 with 64
/// channels, 39 against 51 with 16).
bool suits_library(const ConvolutionMap& map, ConvolutionPass pass, bool by_winograd) {
  constexpr std::int64_t many_channels = 32;
  if (!memory_is_host) {
    const bool is_even = map.far_padding() == map.padding;  // few kernels of cuDNN have two paddings
    return is_even && !has_nonzero_padding(map) && !map.is_gemm() && !map.is_depthwise();
  }
  if (pass != ConvolutionPass::weights) return !map.is_gemm();
  if (has_nonzero_padding(map) && map.group_from() >= many_channels && !by_winograd) return false;
  return !map.is_depthwise();
}

/// Writes to = sums + bias, rounded.
template <class T>
void finish_points(const Execution& exec, std::int64_t rows, std::int64_t channels, const float* sums,
                   const T* bias_values, T* to) {
  for_each_tile(
      exec, "finish_points", rows, channels,
      KOKKOS_LAMBDA(std::int64_t row, std::int64_t first, std::int64_t count) {
        const float* const sum = sums + row * channels + first;
        float value[tile_width];
        for_each_in_tile(count, [&](std::int64_t i) { value[i] = sum[i]; });
        const T* const bias = bias_values;
        if (bias != nullptr)
          for_each_in_tile(count, [&](std::int64_t i) { value[i] += to_float(bias[first + i]); });
        write_tile(value, count, to + row * channels + first);
      });
}

/// Returns the number of samples that are processed at a time if the copies of each take `bytes` bytes.
std::int64_t copied_samples(std::int64_t bytes, std::int64_t samples) {
  if (bytes == 0) return samples;
  return std::clamp<std::int64_t>(convolution_gathered_bytes / bytes, 1, samples);
}

std::int64_t sample_bytes(const GridShape& grid, DType type) {
  return grid.columns() * static_cast<std::int64_t>(size_of(type));
}

/// Returns `samples` samples from `first` on.
ConstTensor samples_of(const void* data, DType type, std::int64_t first, std::int64_t samples,
                       const GridShape& grid) {
  const auto offset = static_cast<std::size_t>(first * grid.columns()) * size_of(type);
  return {static_cast<const std::byte*>(data) + offset, type, samples, grid.columns()};
}

/// Returns the tensor converted to float in `memory`, or its own data if `memory` is null.
const void* values(const Execution& exec, const ConstTensor& tensor, std::byte* memory) {
  if (memory == nullptr) return tensor.data();
  convert(exec, tensor, Tensor(memory, DType::fp32, tensor.rows(), tensor.columns()));
  return memory;
}

}  // namespace

struct ConvolutionByLibrary::MapPieces {
  MapPieces(const ConvolutionByLibrary& convolution, std::int64_t all_samples, void* workspace)
      : pieces(workspace) {
    const ConvolutionMap& map = convolution.pass_.map;
    const bool adjoint = convolution.pass_.pass == ConvolutionPass::adjoint;
    const bool copies = convolution.converts() || (convolution.pads() && !adjoint);
    const std::int64_t source_bytes =
        copies ? sample_bytes(adjoint ? map.to : map.from, convolution.pass_.type) : 0;
    const std::int64_t result_bytes =
        convolution.finishes() ? sample_bytes(adjoint ? map.from : map.to, DType::fp32) : 0;
    samples = copied_samples(source_bytes + result_bytes, all_samples);
    if (copies) source = pieces.take_bytes(static_cast<std::size_t>(samples * source_bytes));
    if (convolution.converts()) {
      weights = reinterpret_cast<std::byte*>(pieces.take<float>(map.weight_count()));
    }
    if (convolution.finishes())
      result = reinterpret_cast<float*>(pieces.take_bytes(static_cast<std::size_t>(samples * result_bytes)));
    library_workspace =
        pieces.take_bytes(convolution.library_->workspace_bytes(convolution.pass_of(samples)));
  }

  Pieces pieces;
  std::int64_t samples;  // at a time
  std::byte* source = nullptr;
  std::byte* weights = nullptr;
  float* result = nullptr;
  std::byte* library_workspace;
};

struct ConvolutionByLibrary::SumPieces {
  SumPieces(const ConvolutionByLibrary& convolution, std::int64_t all_samples, void* workspace)
      : pieces(workspace) {
    const ConvolutionMap& map = convolution.pass_.map;
    const bool copies = convolution.converts() || convolution.pads();
    const std::int64_t from_bytes = copies ? sample_bytes(map.from, convolution.pass_.type) : 0;
    const std::int64_t to_bytes = convolution.converts() ? sample_bytes(map.to, DType::fp32) : 0;
    samples = copied_samples(from_bytes + to_bytes, all_samples);
    if (copies) from = pieces.take_bytes(static_cast<std::size_t>(samples * from_bytes));
    if (convolution.converts()) to = pieces.take_bytes(static_cast<std::size_t>(samples * to_bytes));
    const bool adds = !convolution.library_->accumulates();
    if (adds || convolution.type_ != DType::fp32) sums = pieces.take<float>(map.weight_count());
    if (adds) more = pieces.take<float>(map.weight_count());
    library_workspace =
        pieces.take_bytes(convolution.library_->workspace_bytes(convolution.pass_of(samples)));
  }

  Pieces pieces;
  std::int64_t samples;  // at a time
  std::byte* from = nullptr;
  std::byte* to = nullptr;
  float* sums = nullptr;  // if the gradient is not float, or the library does not accumulate
  float* more = nullptr;  // sums of the last samples, if the library does not accumulate
  std::byte* library_workspace;
};

ConvolutionByLibrary::ConvolutionByLibrary(LibraryConvolution& library, const ConvolutionShape& shape,
                                           ConvolutionPass pass, DType type)
    : library_(&library), map_(shape), pass_{.pass = pass, .map = map_}, type_(type) {
  if (has_nonzero_padding(map_)) pass_.map = map_.of_padded();
  pass_.map.padding_kind = PaddingKind::zero;
  pass_.type = library.multiplies(type) ? type : DType::fp32;
  const bool leads_forward = pass == (shape.transposed ? ConvolutionPass::adjoint : ConvolutionPass::apply);
  const bool has_floats_as_result = pass == ConvolutionPass::weights ||
                                    (leads_forward && !library.adds_bias(pass, pass_.type)) ||
                                    (pass == ConvolutionPass::adjoint && pads());
  pass_.result = has_floats_as_result ? DType::fp32 : pass_.type;
}

std::optional<ConvolutionByLibrary> ConvolutionByLibrary::find(const Libraries& libraries,
                                                               const ConvolutionShape& shape,
                                                               ConvolutionPass pass, DType type) {
  LibraryConvolution* const library = libraries.convolution;
  if (library == nullptr) return std::nullopt;
  const ConvolutionByLibrary convolution(*library, shape, pass, type);
  if (!suits_library(convolution.map_, pass, library->uses_winograd(convolution.pass_))) return std::nullopt;
  LibraryPass with_bias = convolution.pass_;
  with_bias.bias = library->adds_bias(pass, convolution.pass_.type);
  if (library->samples_at_a_time(convolution.pass_) < 1 || library->samples_at_a_time(with_bias) < 1)
    return std::nullopt;
  return convolution;
}

LibraryPass ConvolutionByLibrary::pass_of(std::int64_t samples) const {
  LibraryPass pass = pass_;
  pass.samples = samples;
  return pass;
}

std::size_t ConvolutionByLibrary::workspace_bytes(std::int64_t samples) const {
  return pass_.pass == ConvolutionPass::weights ? SumPieces(*this, samples, nullptr).pieces.bytes()
                                                : MapPieces(*this, samples, nullptr).pieces.bytes();
}

void ConvolutionByLibrary::note_passes(std::int64_t samples, std::vector<LibraryPass>& passes) const {
  const bool sums = pass_.pass == ConvolutionPass::weights;
  const std::int64_t at_a_time =
      sums ? SumPieces(*this, samples, nullptr).samples : MapPieces(*this, samples, nullptr).samples;
  std::int64_t count = 0;
  for (std::int64_t first = 0; first < samples; first += count) {
    LibraryPass pass = pass_of(std::min(at_a_time, samples - first));
    pass.bias = !sums && !finishes() && library_->adds_bias(pass_.pass, pass_.type);
    count = pass.samples = library_->samples_at_a_time(pass);
    if (std::find(passes.begin(), passes.end(), pass) == passes.end()) passes.push_back(pass);
  }
}

bool ConvolutionByLibrary::has_thread_independent_sums() const {
  return library_->uses_winograd(pass_);
}

double ConvolutionByLibrary::multiplied_flops(double by_definition) const {
  if (!library_->uses_winograd(pass_)) return by_definition;
  constexpr std::int64_t products_of_tile = 16;  // of 2 x 2 points
  const ConvolutionMap& map = pass_.map;
  const GridShape& grid = pass_.pass == ConvolutionPass::adjoint ? map.from : map.to;
  const std::int64_t tiles = grid.extent[0] * ((grid.extent[1] + 1) / 2) * ((grid.extent[2] + 1) / 2);
  const std::int64_t products =
      tiles * products_of_tile * map.kernel[0] * map.from.channels * map.to.channels;
  return 2 * static_cast<double>(products);
}

bool ConvolutionByLibrary::may_refuse() const {
  return library_->may_refuse();
}

const void* ConvolutionByLibrary::input(const Execution& exec, const ConstTensor& from,
                                        std::byte* memory) const {
  if (!pads()) return values(exec, from, memory);
  dispatch(type_, [&]<class T>(TypeTag<T>) {
    if (converts())
      return pad_grid(exec, map_.copied_edges(), from.rows(), from.as<T>(), reinterpret_cast<float*>(memory));
    pad_grid(exec, map_.copied_edges(), from.rows(), from.as<T>(), reinterpret_cast<T*>(memory));
  });
  return memory;
}

bool ConvolutionByLibrary::run(const Execution& exec, const GatheredOperands& operands, std::int64_t samples,
                               void* workspace) const {
  const bool adjoint = pass_.pass == ConvolutionPass::adjoint;
  const GridShape& source = adjoint ? map_.to : map_.from;
  const GridShape& target = adjoint ? map_.from : map_.to;
  const MapPieces pieces(*this, samples, workspace);
  const ConstTensor weight_matrix(operands.weights, type_, map_.to.channels, map_.taps() * map_.group_from());
  const void* const weights = values(exec, weight_matrix, pieces.weights);
  const bool adds_bias =
      operands.bias != nullptr && (finishes() || !library_->adds_bias(pass_.pass, pass_.type));
  std::int64_t count = 0;
  for (std::int64_t first = 0; first < samples; first += count) {
    LibraryPass pass = pass_of(std::min(pieces.samples, samples - first));
    pass.bias = operands.bias != nullptr && !adds_bias;
    count = pass.samples = library_->samples_at_a_time(pass);
    const ConstTensor from = samples_of(operands.from, type_, first, count, source);
    const Tensor to = Tensor(operands.target, type_, samples, target.columns()).row_range(first, count);
    float* const sums = finishes() ? pieces.result : static_cast<float*>(to.data());
    const LibraryOperands library_operands{
        .first = adjoint ? values(exec, from, pieces.source) : input(exec, from, pieces.source),
        .second = weights,
        .result = sums,
        .bias = pass.bias ? operands.bias : nullptr};
    if (!library_->run(exec, pass, library_operands, pieces.library_workspace)) return false;
    if (!finishes() && !adds_bias) continue;
    dispatch(type_, [&]<class T>(TypeTag<T>) {
      const T* const bias = static_cast<const T*>(operands.bias);
      if (folds()) return fold_padding(exec, map_.copied_edges(), count, sums, bias, to.as<T>());
      finish_points(exec, count * target.points(), target.channels, sums, bias, to.as<T>());
    });
  }
  return true;
}

bool ConvolutionByLibrary::sum_weights(const Execution& exec, const ConstTensor& from,
                                       const ConstTensor& d_to, const Tensor& d_weights, bool accumulate,
                                       void* workspace) const {
  const SumPieces pieces(*this, from.rows(), workspace);
  const bool accumulates = library_->accumulates();
  // Otherwise the sums are collected in the workspace: after a refusal midway everything is recomputed.
  const bool direct = accumulates && d_weights.type() == DType::fp32;
  std::int64_t count = 0;
  for (std::int64_t first = 0; first < from.rows(); first += count) {
    LibraryPass pass = pass_of(std::min(pieces.samples, from.rows() - first));
    count = pass.samples = library_->samples_at_a_time(pass);
    const bool adds = first > 0 && !accumulates;
    const LibraryOperands operands{
        .first = input(exec, samples_of(from.data(), type_, first, count, map_.from), pieces.from),
        .second = values(exec, samples_of(d_to.data(), type_, first, count, map_.to), pieces.to),
        .result = direct ? d_weights.data() : (adds ? pieces.more : pieces.sums),
        .accumulate = accumulates && (first > 0 || (direct && accumulate))};
    if (!library_->run(exec, pass, operands, pieces.library_workspace)) return false;
    if (adds) add_sums(exec, pass_.map.weight_count(), pieces.more, pieces.sums);
  }
  if (direct) return true;
  dispatch(d_weights.type(), [&]<class T>(TypeTag<T>) {
    store_sums(exec, d_weights.size(), pieces.sums, accumulate, d_weights.as<T>());
  });
  return true;
}

}  // namespace mylos
