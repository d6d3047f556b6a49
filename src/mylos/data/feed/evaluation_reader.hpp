// EvaluationReader: an evaluation pass over the samples of a store.
#pragma once

#include <memory>

#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/data/files/sample_store.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"

namespace mylos {

class EvaluationReader final : public EvaluationPass {
 public:
  /// `store` must outlive the reader.
  EvaluationReader(const SampleStore& store, Split split, const Normalizer& normalizer,
                   const EvaluationOptions& options);
  ~EvaluationReader() override;

  [[nodiscard]] Share share() const override;
  [[nodiscard]] GridPart part() const override;
  [[nodiscard]] bool shares_truth() const override;
  /// Throws under the conditions of Loader::next.
  [[nodiscard]] const Batch* next() override;
  void rewind() override;
  [[nodiscard]] OutsideRange outside_range() const override;
  [[nodiscard]] std::span<const std::int64_t> outside_samples() const override;

  /// Returns the host memory of such a reader in bytes.
  [[nodiscard]] static std::int64_t memory_bytes(const DatasetShape& shape, Split split,
                                                 const EvaluationOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace mylos
