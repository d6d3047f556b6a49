// A host's convolutions: by minimal filtering where that is faster, else by oneDNN.
#include <algorithm>

#include "convolution_winograd.hpp"

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
  [[nodiscard]] bool filters(const LibraryPass& pass) override {
    return suits_filtering(pass) && filtering_->samples_at_a_time(pass) > 0;
  }
  [[nodiscard]] std::int64_t samples_at_a_time(const LibraryPass& pass) override {
    return way_of(pass).samples_at_a_time(pass);
  }
  [[nodiscard]] std::size_t workspace_bytes(const LibraryPass& pass) override {
    return way_of(pass).workspace_bytes(pass);
  }
  [[nodiscard]] bool run(const LibraryPass& pass, const LibraryOperands& operands, void* workspace) override {
    return way_of(pass).run(pass, operands, workspace);
  }

 private:
  /// Where the products that it saves take longer than its transforms (on Zen 3 by one thread, beside oneDNN
  /// 2.6), which want whole vectors of channels, and tiles of more than a point.
  [[nodiscard]] static bool suits_filtering(const LibraryPass& pass) {
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
    return filters(pass) ? *filtering_ : *onednn_;
  }

  std::unique_ptr<LibraryConvolution> filtering_ = make_winograd_convolution();
  std::unique_ptr<LibraryConvolution> onednn_ = make_onednn_convolution();
};

}  // namespace

std::unique_ptr<LibraryConvolution> make_host_convolution() {
  return std::make_unique<HostConvolution>();
}

}  // namespace mylos
