// The map and its adjoint by Winograd convolution. A thread processes some tiles at a time in private memory
// that fits its caches: the transforms of their windows, sixteen GEMMs with the transformed weights, and the
// transforms of the results.
#include <algorithm>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/kernels/convolution/library_convolution.hpp"

#if defined(MYLOS_KERNELS_WINOGRAD_MAP_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_WINOGRAD_MAP_INL_HPP
#undef MYLOS_KERNELS_WINOGRAD_MAP_INL_HPP
#else
#define MYLOS_KERNELS_WINOGRAD_MAP_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/convolution/winograd_panels-inl.hpp"
#include "mylos/kernels/convolution/winograd_transforms-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

class WinogradMap {
 public:
  WinogradMap(const LibraryPass& pass, void* workspace)
      : adjoint_(pass.pass == ConvolutionPass::adjoint),
        planes_(pass.map.kernel[0]),
        tiles_(tiles_of(pass)),
        inputs_(tiles_.seen.channels),
        outputs_(tiles_.output.channels),
        steps_(round_up(inputs_, lanes())),
        panels_(planes_ * steps_, outputs_),
        weight_stride_(winograd::matrix_stride(panels_.size())),
        max_tiles_(tiles_for_caches(planes_ * steps_ + panels_.columns())),
        seen_stride_(winograd::matrix_stride(max_tiles_ * planes_ * steps_)),
        sums_stride_(winograd::matrix_stride(max_tiles_ * panels_.columns())),
        pieces_(workspace) {
    zeros_ = pieces_.take<float>(inputs_);
    weights_ = pieces_.take<float>(winograd::gemms * weight_stride_);
    workers_ = pieces_.take_bytes(bytes_of_workers(worker_bytes()));
  }

  [[nodiscard]] std::size_t workspace_bytes() const { return pieces_.bytes(); }

  void run(const Execution& exec, const LibraryOperands& operands) const {
    std::fill_n(zeros_, inputs_, 0.0f);
    const WinogradMap map = *this;
    const auto* const weights = static_cast<const float*>(operands.second);
    for_each_row(exec, "winograd_weight", planes_ * panels_.vectors(),
                 [map, weights](std::int64_t part, const Row&) HWY_ATTR {
                   map.transform_weights(weights, part / map.panels_.vectors(), part % map.panels_.vectors());
                 });
    const std::int64_t fair = divide_up(tiles_.count(), tasks_of_worker * threads_of(exec));
    const std::int64_t tiles = std::min(max_tiles_, round_up(fair, register_rows));
    for_each_task(exec, "winograd_map", divide_up(tiles_.count(), tiles), workers_, worker_bytes(),
                  [map, operands, tiles](std::int64_t task, std::byte* memory) HWY_ATTR {
                    const std::int64_t first = task * tiles;
                    map.run_tiles(operands, first, std::min(tiles, map.tiles_.count() - first),
                                  reinterpret_cast<float*>(memory));
                  });
  }

 private:
  static constexpr std::int64_t tasks_of_worker = 4;  // at least, if there are enough tiles

  /// Returns the number of tiles per task, whose GEMMs take `floats_of_tile` floats per tile.
  static std::int64_t tiles_for_caches(std::int64_t floats_of_tile) {
    constexpr std::int64_t max_floats = std::int64_t{1} << 18;
    const std::int64_t tiles = max_floats / (winograd::gemms * floats_of_tile);
    return round_up(std::clamp<std::int64_t>(tiles, 16, 64), register_rows);
  }

  static winograd::Tiles tiles_of(const LibraryPass& pass) {
    const ConvolutionMap& map = pass.map;
    if (pass.pass != ConvolutionPass::adjoint) return {map.from, map.to, map.padding, pass.samples};
    Extents padding;
    for (std::size_t axis = 0; axis < 3; ++axis) padding[axis] = map.kernel[axis] - 1 - map.padding[axis];
    return {map.to, map.from, padding, pass.samples};
  }

  [[nodiscard]] std::size_t worker_bytes() const {
    return bytes_of_words(winograd::gemms * (seen_stride_ + sums_stride_));
  }

  /// Transforms the weights of one vector of outputs. In the map these weights are strided in memory.
  void transform_weights(const float* weights, std::int64_t plane, std::int64_t vector) const {
    const std::int64_t column = vector * lanes();
    const std::int64_t panel = panels_.panel_of(vector);
    float* const target = weights_ + panels_.at(panel, plane * steps_) + column - panels_.first_column(panel);
    if (adjoint_) {
      transform_turned(weights + (planes_ - 1 - plane) * winograd::taps * outputs_ + column,
                       outputs_ - column, target);
    } else {
      transform_across(weights + (column * planes_ + plane) * winograd::taps * inputs_,
                       std::min(lanes(), outputs_ - column), target);
    }
    for (std::int64_t step = inputs_; step < steps_; ++step) {
      for (std::int64_t gemm = 0; gemm < winograd::gemms; ++gemm)
        store_weights(hn::Zero(FloatTag()), gemm, step, target);
    }
  }

  /// Transforms weights that are contiguous in the outputs, from a vector's first output on; `valid` outputs
  /// exist.
  void transform_turned(const float* weights, std::int64_t valid, float* target) const {
    const FloatTag d;
    for (std::int64_t input = 0; input < inputs_; ++input) {
      const float* const last = weights + (input * planes_ * winograd::taps + winograd::taps - 1) * outputs_;
      transform<OfWeights>(
          [&](int y, int x) HWY_ATTR { return load_at_most(d, last - (3 * y + x) * outputs_, valid); },
          [&](int i, int j, Floats value) HWY_ATTR { store_weights(value, 4 * i + j, input, target); });
    }
  }

  void transform_across(const float* weights, std::int64_t valid, float* target) const {
    const FloatTag d;
    constexpr std::int64_t max_inputs = 16;  // one cache line for every tap and output
    HWY_ALIGN float across[winograd::taps * max_inputs * hn::MaxLanes(FloatTag())];
    std::fill_n(across, winograd::taps * max_inputs * lanes(), 0.0f);
    for (std::int64_t first = 0; first < inputs_; first += max_inputs) {
      const std::int64_t count = std::min(max_inputs, inputs_ - first);
      for (std::int64_t output = 0; output < valid; ++output) {
        for (std::int64_t tap = 0; tap < winograd::taps; ++tap) {
          const float* const from = weights + (output * planes_ * winograd::taps + tap) * inputs_ + first;
          float* const to = across + tap * max_inputs * lanes() + output;
          for (std::int64_t input = 0; input < count; ++input) to[input * lanes()] = from[input];
        }
      }
      for (std::int64_t input = 0; input < count; ++input) {
        transform<OfWeights>(
            [&](int y, int x)
                HWY_ATTR { return hn::Load(d, across + ((3 * y + x) * max_inputs + input) * lanes()); },
            [&](int i, int j, Floats value)
                HWY_ATTR { store_weights(value, 4 * i + j, first + input, target); });
      }
    }
  }

  void store_weights(Floats value, std::int64_t gemm, std::int64_t step, float* target) const {
    hn::StoreU(value, FloatTag(), target + gemm * weight_stride_ + step * panels_.width());
  }

  void run_tiles(const LibraryOperands& operands, std::int64_t first, std::int64_t count, float* seen) const {
    float* const sums = seen + winograd::gemms * seen_stride_;
    for (std::int64_t i = 0; i < count; ++i) {
      const winograd::PlanePoint output = tiles_.output_of(first + i);
      for (std::int64_t plane = 0; plane < planes_; ++plane) {
        const winograd::Window<4> window(static_cast<const float*>(operands.first), tiles_.seen,
                                         tiles_.window_of(output, plane), zeros_);
        transform_window(window, 0, inputs_, seen_stride_, seen + (i * planes_ + plane) * steps_);
      }
    }
    for (std::int64_t gemm = 0; gemm < winograd::gemms; ++gemm)
      multiply_panels(gemm, round_up(count, register_rows), seen, sums);
    for (std::int64_t i = 0; i < count; ++i)
      transform_sums(sums + i * panels_.columns(), first + i, operands);
  }

  void multiply_panels(std::int64_t gemm, std::int64_t rows, const float* seen, float* sums) const {
    const ByRows<float> a{seen + gemm * seen_stride_, planes_ * steps_};
    for (std::int64_t panel = 0; panel < panels_.count(); ++panel) {
      multiply<FloatWords>(
          rows, panels_.columns_of(panel), planes_ * steps_, a,
          weights_ + gemm * weight_stride_ + panels_.at(panel, 0), panels_.width(),
          {sums + gemm * sums_stride_ + panels_.first_column(panel), panels_.columns(), false});
    }
  }

  void transform_sums(const float* sums, std::int64_t tile, const LibraryOperands& operands) const {
    const winograd::PlanePoint first = tiles_.output_of(tile);
    const GridShape& grid = tiles_.output;
    const bool has_row[] = {true, first.y + 1 < grid.extent[1]};
    const bool has_column[] = {true, first.x + 1 < grid.extent[2]};
    const std::int64_t point = (first.plane * grid.extent[1] + first.y) * grid.extent[2] + first.x;
    float* const target = static_cast<float*>(operands.result) + point * outputs_;
    const auto* const bias = static_cast<const float*>(operands.bias);
    for_each_vector(outputs_, [&](auto d, std::int64_t c, auto some) HWY_ATTR {
      const auto added = bias == nullptr ? hn::Zero(d) : load(d, bias + c, some);
      transform<ToOutput>(
          [&](int y, int x) HWY_ATTR { return hn::LoadU(d, sums + (4 * y + x) * sums_stride_ + c); },
          [&](int i, int j, Floats value) HWY_ATTR {
            if (!has_row[i] || !has_column[j]) return;
            store(d, hn::Add(value, added), target + (i * grid.extent[2] + j) * outputs_ + c, some);
          });
    });
  }

  bool adjoint_;
  std::int64_t planes_;  // of the kernel
  winograd::Tiles tiles_;
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::int64_t steps_;  // of a GEMM and a plane: the inputs, padded to complete vectors
  Panels panels_;       // of the transformed weights: [plane][step][output]
  std::int64_t weight_stride_;
  std::int64_t max_tiles_;    // of a task
  std::int64_t seen_stride_;  // of a worker: [GEMM][tile][plane][step]
  std::int64_t sums_stride_;  // likewise: [GEMM][tile][output]
  Pieces pieces_;
  float* zeros_;
  float* weights_;  // [GEMM][panel][plane][step][output]
  std::byte* workers_;
};

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
