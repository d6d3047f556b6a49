// The GPTs whose steps are measured, over 65 characters, with learned positions and a tied head.
//
//   medium   6 layers, 6 heads, 384 wide, context 256, batch 4
//   small    4 layers, 4 heads, 128 wide, context 64, batch 12: the network of
//   inputs/gpt_shakespeare_cpu.toml medium12, deep   medium with 12 and with 24 layers
#pragma once

#include "step_program.hpp"

namespace mylos {

class GptSubject final : public StepSubject {
 public:
  /// Throws Error (bad_input) for an unknown shape.
  explicit GptSubject(const std::string& shape);

  [[nodiscard]] Options options(const std::string& name) const override;
  [[nodiscard]] std::unique_ptr<BatchSource> batch(const Options& options,
                                                   std::int64_t samples) const override;
  [[nodiscard]] StepWork work(DType type) const override;

 private:
  ModelOptions model_;
  std::int64_t samples_ = 0;
};

}  // namespace mylos
