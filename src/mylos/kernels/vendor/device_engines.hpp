// The engine set of a device's libraries. Each folder of src/mylos/device defines it for its vendor; `none`
// does in builds without such libraries.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "mylos/kernels/attention/fused_attention_shape.hpp"
#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {

struct DeviceEngines {
  std::string_view name;  // in decks; empty if the build has none
  MakeEngines make = nullptr;
  /// Returns a text for --version: the library that computes attention, and its version, or what is missing.
  std::string (*describe_attention)() = nullptr;
};

[[nodiscard]] DeviceEngines device_engines();

/// Returns the library's attention; null if the build or the machine has none.
[[nodiscard]] std::unique_ptr<FusedAttention> device_attention(
    AttentionSums sums = AttentionSums::fixed_order);

}  // namespace mylos
