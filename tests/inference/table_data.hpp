// Training data in memory: rows of inputs.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "mylos/data/run/evaluation_data.hpp"

namespace mylos::test {

class TableData final : public EvaluationData {
 public:
  TableData(std::vector<float> rows, std::int64_t inputs) : rows_(std::move(rows)), inputs_(inputs) {}

  [[nodiscard]] bool has(DataPart part) const override { return part == DataPart::train; }
  [[nodiscard]] std::int64_t samples(DataPart) const override {
    return static_cast<std::int64_t>(rows_.size()) / inputs_;
  }
  [[nodiscard]] std::int64_t pass_bytes(DataPart, const EvaluationOptions&) const override { return 0; }
  [[nodiscard]] std::unique_ptr<EvaluationPass> pass_over(DataPart part, const Normalizer&,
                                                          const EvaluationOptions& options) const override {
    return std::make_unique<Pass>(*this, options.share(samples(part)), options.max_samples);
  }

 private:
  class Pass final : public EvaluationPass {
   public:
    Pass(const TableData& table, const Share& share, std::int64_t max_samples)
        : table_(table), share_(share), max_samples_(max_samples) {}
    [[nodiscard]] Share share() const override { return share_; }
    [[nodiscard]] const Batch* next() override {
      const std::int64_t count = std::min(max_samples_, share_.count - position_);
      if (count == 0) return nullptr;
      batch_.inputs = table_.rows_.data() + (share_.first + position_) * table_.inputs_;
      batch_.samples = batch_.rows = count;
      position_ += count;
      return &batch_;
    }
    void rewind() override { position_ = 0; }

   private:
    const TableData& table_;
    Share share_;
    std::int64_t max_samples_;
    std::int64_t position_ = 0;
    Batch batch_;
  };

  std::vector<float> rows_;
  std::int64_t inputs_;
};

}  // namespace mylos::test
