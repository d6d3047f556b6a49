// [precision], [precision.scaler] and [precision.adaptation]: types of computation and storage, the loss
// scaler, and what a run may adapt of both.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"

namespace mylos {

enum class ScalerMode { automatic, dynamic, fixed, off };  // "auto", "dynamic", "static", "off"
enum class HysteresisRefill { growth, good_step };

/// The loss scaler's parameters (names as in the deck; defaults are the standard preset).
struct ScalerOptions {
  ScalerMode mode = ScalerMode::automatic;
  double initial_scale = 65536;
  double growth_factor = 2;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;
  std::int64_t hysteresis = 1;
  HysteresisRefill hysteresis_refill = HysteresisRefill::growth;
  double min_scale = 1;
  double max_scale = 16777216;
  std::int64_t max_consecutive_skips = 20;
  std::int64_t backoff_window = 0;  // 0: the hysteresis decides
  std::int64_t backoff_overflows = 2;
  bool reset = false;

  bool operator==(const ScalerOptions&) const = default;
};

/// The type of the gradient buffer. automatic: the compute type if a step has one micro-batch, else float.
enum class GradientType { automatic, compute, fp32 };

/// The compute type of some layers. `pattern` is a layer's name, a pattern with '*', or a layer kind. A name
/// takes precedence over a pattern, a pattern over a kind, and among equals the later rule wins.
struct PrecisionRule {
  std::string pattern;
  DType type = DType::fp32;

  bool operator==(const PrecisionRule&) const = default;
};

/// The master weights of 16-bit weights: float masters, or none. Without masters the 16-bit weights are
/// updated directly and rounded stochastically.
enum class MasterWeights { fp32, none };

inline constexpr std::array<DType, 3> compute_types{DType::fp32, DType::bf16, DType::fp16};

/// Options of a run with precision.adapt: the trials at its start, and later checks (docs/numerics.md).
struct AdaptationOptions {
  std::vector<DType> types{compute_types.begin(), compute_types.end()};  // candidates for `compute`
  std::int64_t steps = 20;   // steps of a trial, whose losses are compared
  double loss_gap = 0.02;    // largest accepted loss gap, relative to float
  double least_gain = 0.1;   // fraction of float's step time that 16 bits must save
  std::int64_t every = 200;  // steps between two checks of the loss scaler

  bool operator==(const AdaptationOptions&) const = default;
};

struct PrecisionOptions {
  DType compute = DType::bf16;
  GradientType gradient = GradientType::automatic;
  std::vector<PrecisionRule> rules;  // in the deck's order
  ScalerOptions scaler;
  MasterWeights masters = MasterWeights::fp32;
  bool adapt = false;
  AdaptationOptions adaptation;

  bool operator==(const PrecisionOptions&) const = default;
};

}  // namespace mylos
