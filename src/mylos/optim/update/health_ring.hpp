// HealthRing: the records of the last observed steps, in device memory: a step needs no host.
//
// A pass stores sums of its blocks, which are then added in order, so that results do not depend on threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mylos/base/device/device_array.hpp"
#include "mylos/base/execution_fwd.hpp"
#include "mylos/model/parameters/parameter_layout.hpp"
#include "mylos/optim/update/parameter_health.hpp"

namespace mylos {

class HealthRing {
 public:
  HealthRing() = default;
  /// Allocates `records` records, each of all parameters.
  HealthRing(std::int64_t records, const ParameterLayout& layout);
  [[nodiscard]] static std::size_t memory_bytes(std::int64_t records, const ParameterLayout& layout);

  [[nodiscard]] std::int64_t records() const { return count_; }
  /// Returns the record of all parameters by slot, in device memory.
  [[nodiscard]] ParameterHealth* record(std::int64_t index) const {
    return records_.data() + index * parameters_;
  }
  [[nodiscard]] std::int64_t parameters() const { return parameters_; }
  /// Returns the sums of the blocks of one pass at a time, in device memory.
  [[nodiscard]] ParameterHealth* blocks() const { return blocks_.data(); }
  /// Returns a record after `exec` has completed its work: this rank's part of each parameter, by slot.
  [[nodiscard]] std::vector<ParameterHealth> read(const Execution& exec, std::int64_t index) const;

 private:
  std::int64_t count_ = 0;
  std::int64_t parameters_ = 0;
  DeviceArray<ParameterHealth> records_;  // [record][slot]
  DeviceArray<ParameterHealth> blocks_;
};

}  // namespace mylos
