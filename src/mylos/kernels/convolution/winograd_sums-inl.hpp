// The weights' gradient by Winograd convolution. For some tiles at a time, all threads transform what the
// tiles see and the gradients of their outputs; then each thread adds the GEMMs that are assigned to it.
//
// GEMMs are summed in parts of `tiles_of_sum` tiles, in their order, independent of how many parts are
// transformed at a time.
#include <algorithm>

#include "mylos/kernels/convolution/library_convolution.hpp"

#if defined(MYLOS_KERNELS_WINOGRAD_SUMS_INL_HPP) == defined(HWY_TARGET_TOGGLE)
#ifdef MYLOS_KERNELS_WINOGRAD_SUMS_INL_HPP
#undef MYLOS_KERNELS_WINOGRAD_SUMS_INL_HPP
#else
#define MYLOS_KERNELS_WINOGRAD_SUMS_INL_HPP
#endif

#include <hwy/highway.h>

#include "mylos/kernels/convolution/winograd_panels-inl.hpp"
#include "mylos/kernels/convolution/winograd_transforms-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace mylos::HWY_NAMESPACE {

class WinogradSums {
 public:
  WinogradSums(const LibraryPass& pass, void* workspace)
      : planes_(pass.map.kernel[0]),
        tiles_(pass.map.from, pass.map.to, pass.map.padding, pass.samples),
        inputs_(pass.map.from.channels),
        outputs_(pass.map.to.channels),
        rows_(round_up(outputs_, std::max(register_rows, lanes()))),
        max_tiles_(std::min(tiles_at_a_time(max_workers()),
                            round_up(std::max<std::int64_t>(tiles_.count(), 1), tiles_of_sum))),
        panels_(max_tiles_, inputs_),
        seen_stride_(winograd::matrix_stride(planes_ * panels_.size())),
        gradient_stride_(winograd::matrix_stride(max_tiles_ * rows_)),
        sum_stride_(winograd::matrix_stride(planes_ * rows_ * panels_.columns())),
        pieces_(workspace) {
    zeros_ = pieces_.take<float>(std::max(inputs_, outputs_));
    seen_ = pieces_.take<float>(winograd::gemms * seen_stride_);
    gradients_ = pieces_.take<float>(winograd::gemms * gradient_stride_);
    sums_ = pieces_.take<float>(winograd::gemms * sum_stride_);
  }

  [[nodiscard]] std::size_t workspace_bytes() const { return pieces_.bytes(); }

  void run(const Execution& exec, const LibraryOperands& operands) const {
    std::fill_n(zeros_, std::max(inputs_, outputs_), 0.0f);
    const WinogradSums sums = *this;
    const std::int64_t step = std::min(max_tiles_, tiles_at_a_time(exec.concurrency()));
    for (std::int64_t first = 0; first < tiles_.count(); first += step) {
      const std::int64_t count = std::min(step, tiles_.count() - first);
      for_each_row(exec, "winograd_tiles", count,
                   [sums, operands, first](std::int64_t tile, const Row&)
                       HWY_ATTR { sums.transform_tile(operands, first + tile, tile); });
      for_each_row(exec, "winograd_sums", winograd::gemms * planes_ * panels_.count(),
                   [sums, first, count](std::int64_t part, const Row&)
                       HWY_ATTR { sums.add_gemm(part, first == 0, count); });
    }
    for_each_row(exec, "winograd_dw", outputs_ * planes_,
                 [sums, operands](std::int64_t row, const Row&)
                     HWY_ATTR { sums.transform_sums(operands, row / sums.planes_, row % sums.planes_); });
  }

 private:
  static constexpr std::int64_t tiles_of_sum = 64;

  /// Returns complete parts; more of them for more threads, which wait for each other after each transform.
  static std::int64_t tiles_at_a_time(std::int64_t workers) { return tiles_of_sum * (2 + workers / 2); }

  void transform_tile(const LibraryOperands& operands, std::int64_t tile, std::int64_t row) const {
    const winograd::PlanePoint output = tiles_.output_of(tile);
    for (std::int64_t plane = 0; plane < planes_; ++plane) {
      const winograd::Window<4> window(static_cast<const float*>(operands.first), tiles_.seen,
                                       tiles_.window_of(output, plane), zeros_);
      for (std::int64_t panel = 0; panel < panels_.count(); ++panel) {
        const std::int64_t first = panels_.first_column(panel);
        transform_window(window, first, std::min(panels_.columns_of(panel), inputs_ - first), seen_stride_,
                         seen_ + plane * panels_.size() + panels_.at(panel, row));
      }
    }
    const winograd::Window<2> gradient(static_cast<const float*>(operands.second), tiles_.output, output,
                                       zeros_);
    for_each_vector(outputs_, [&](auto d, std::int64_t c, auto some) HWY_ATTR {
      transform<OfOutputGradient>(
          [&](int y, int x) HWY_ATTR { return load(d, gradient.point[y][x] + c, some); },
          [&](int i, int j, Floats value) HWY_ATTR {
            hn::StoreU(value, d, gradients_ + (4 * i + j) * gradient_stride_ + row * rows_ + c);
          });
    });
  }

  /// Adds one GEMM for one plane of the kernel and one panel.
  void add_gemm(std::int64_t part, bool is_first, std::int64_t tiles) const {
    const std::int64_t panel = part % panels_.count();
    const std::int64_t plane = part / panels_.count() % planes_;
    const std::int64_t gemm = part / panels_.count() / planes_;
    const float* const seen = seen_ + gemm * seen_stride_ + plane * panels_.size();
    float* const to = sums_ + gemm * sum_stride_ + plane * rows_ * panels_.columns();
    for (std::int64_t tile = 0; tile < tiles; tile += tiles_of_sum) {
      const BySteps<float> a{gradients_ + gemm * gradient_stride_ + tile * rows_, rows_};
      multiply<FloatWords>(rows_, panels_.columns_of(panel), std::min(tiles_of_sum, tiles - tile), a,
                           seen + panels_.at(panel, tile), panels_.width(),
                           {to + panels_.first_column(panel), panels_.columns(), !is_first || tile > 0});
    }
  }

  void transform_sums(const LibraryOperands& operands, std::int64_t output, std::int64_t plane) const {
    float* const target =
        static_cast<float*>(operands.result) + (output * planes_ + plane) * winograd::taps * inputs_;
    for_each_vector(inputs_, [&](auto d, std::int64_t c, auto some) HWY_ATTR {
      const float* const sums = sums_ + (plane * rows_ + output) * panels_.columns() + c;
      transform<ToWeightGradient>(
          [&](int y, int x) HWY_ATTR { return hn::LoadU(d, sums + (4 * y + x) * sum_stride_); },
          [&](int i, int j, Floats value) HWY_ATTR {
            float* const sum = target + (3 * i + j) * inputs_ + c;
            store(d, operands.accumulate ? hn::Add(value, load(d, sum, some)) : value, sum, some);
          });
    });
  }

  std::int64_t planes_;  // of the kernel
  winograd::Tiles tiles_;
  std::int64_t inputs_;
  std::int64_t outputs_;
  std::int64_t rows_;       // outputs, padded to complete vectors and register tiles
  std::int64_t max_tiles_;  // that the workspace holds
  Panels panels_;           // of what the tiles see in one plane: [tile][input]
  std::int64_t seen_stride_;
  std::int64_t gradient_stride_;
  std::int64_t sum_stride_;
  Pieces pieces_;
  float* zeros_;
  float* seen_;       // [GEMM][plane][panel][tile][input]
  float* gradients_;  // [GEMM][tile][output]
  float* sums_;       // [GEMM][plane][output][input]
};

}  // namespace mylos::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
