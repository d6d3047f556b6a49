// EvaluationData: the parts of the data, and passes over them.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "mylos/base/device/memory_entry.hpp"
#include "mylos/data/feed/evaluation_pass.hpp"
#include "mylos/data/files/scaling/normalizer.hpp"
#include "mylos/data/run/data_part.hpp"

namespace mylos {

class EvaluationData {
 public:
  virtual ~EvaluationData() = default;

  [[nodiscard]] virtual bool has(DataPart part) const = 0;
  /// Returns the number of samples of a part that exists.
  [[nodiscard]] virtual std::int64_t samples(DataPart part) const = 0;
  /// Returns a pass that this object must outlive. `normalizer`: of complete samples. Throws Error
  /// (bad_input) if the samples cannot be divided into boxes.
  [[nodiscard]] virtual std::unique_ptr<EvaluationPass> pass_over(DataPart part, const Normalizer& normalizer,
                                                                  const EvaluationOptions& options) const = 0;
  /// Returns the host memory of such a pass in bytes.
  [[nodiscard]] virtual std::int64_t pass_bytes(DataPart part, const EvaluationOptions& options) const = 0;
};

/// Returns the parts that evaluations during a run use, in this order. `data` may be null.
[[nodiscard]] std::vector<DataPart> evaluated_parts(const EvaluationData* data);

/// Returns the memory of a pass over each of them, which a run holds from its start. `data` may be null.
[[nodiscard]] PartMemory evaluation_pass_memory(const EvaluationData* data, const EvaluationOptions& options);

}  // namespace mylos
