// Convolutions on hosts: by Winograd convolution if that is faster, else by oneDNN.
#include <algorithm>

#include "mylos/kernels/convolution/convolution_winograd.hpp"
#include "mylos/kernels/vendor/host/host_engines.hpp"

namespace mylos {
namespace {

class HostConvolution final : public LibraryConvolution {
 public:
  [[nodiscard]] bool multiplies(DType type) const override { return onednn_->multiplies(type); }
  [[nodiscard]] bool adds_bias(ConvolutionPass pass, DType type) const override {
    return onednn_->adds_bias(pass, type);
  }
  [[nodiscard]] bool accumulates() const override { return true; }
  [[nodiscard]] bool may_refuse() const override { return false; }
  [[nodiscard]] bool uses_winograd(const LibraryPass& pass) override {
    return suits_winograd(pass) && winograd_->uses_winograd(pass);
  }
  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) override {
    return way_of(pass).samples_at_a_time(pass);
  }
  [[nodiscard]] std::size_t workspace_bytes(const LibraryPass& pass) override {
    return way_of(pass).workspace_bytes(pass);
  }
  [[nodiscard]] std::size_t code_bytes(const LibraryPass& pass) override {
    return way_of(pass).code_bytes(pass);
  }
  [[nodiscard]] bool run(const Execution& exec, const LibraryPass& pass, const LibraryOperands& operands,
                         void* workspace) override {
    return way_of(pass).run(exec, pass, operands, workspace);
  }

 private:
  /// Returns true if Winograd convolution was faster than oneDNN 2.6 on Zen 3 with one thread. Its transforms
  /// process complete vectors of channels, and are worthwhile if each channel meets enough others. On a grid
  /// of 3 x 3 points, half of every second tile is empty.
  [[nodiscard]] static bool suits_winograd(const LibraryPass& pass) {
    const std::int64_t enough_channels = pass.pass == ConvolutionPass::weights ? 24 : 16;
    constexpr std::int64_t vector = 8;
    constexpr std::int64_t enough_points = 4;
    const auto is_wide = [&](const GridShape& grid) {
      return grid.channels >= enough_channels && grid.channels % vector == 0 &&
             std::min(grid.extent[1], grid.extent[2]) >= enough_points;
    };
    return is_wide(pass.map.from) && is_wide(pass.map.to);
  }
  [[nodiscard]] LibraryConvolution& way_of(const LibraryPass& pass) {
    return uses_winograd(pass) ? *winograd_ : *onednn_;
  }

  std::unique_ptr<LibraryConvolution> winograd_ = make_winograd_convolution();
  std::unique_ptr<LibraryConvolution> onednn_ = make_onednn_convolution();
};

}  // namespace

std::unique_ptr<LibraryConvolution> make_host_convolution() {
  return std::make_unique<HostConvolution>();
}

}  // namespace mylos
