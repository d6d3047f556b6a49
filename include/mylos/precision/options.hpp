// [precision], [precision.scaler] and [precision.adaptation]: types of computation and storage, the loss
// scaler, and which of them a run may adapt.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "mylos/base/dtype.hpp"

namespace mylos {

/// How the loss scale is determined. In decks: "auto", "dynamic", "static", "off".
enum class ScalerMode { automatic, dynamic, fixed, off };
/// What refills the hysteresis: a growth of the scale, or every good step.
enum class HysteresisRefill { growth, good_step };

/// The loss scaler's parameters (names as in the deck; defaults are the standard preset).
struct ScalerOptions {
  ScalerMode mode = ScalerMode::automatic;  // automatic: dynamic if a layer computes in half, else off
  double initial_scale = 65536;             // factor of the loss in the first step
  double growth_factor = 2;                 // above 1
  double backoff_factor = 0.5;              // below 1
  std::int64_t growth_interval = 2000;      // good steps in a row before the scale grows
  std::int64_t hysteresis = 1;              // overflows at which the scale backs off; 1: the first
  HysteresisRefill hysteresis_refill = HysteresisRefill::growth;  // when that count restarts
  double min_scale = 1;                                           // overflows there count as skips
  double max_scale = 16777216;                                    // growth ends there
  std::int64_t max_consecutive_skips = 20;  // skips that no lower scale prevents; the run has then diverged
  std::int64_t backoff_window = 0;          // 0: the hysteresis decides
  std::int64_t backoff_overflows = 2;       // overflows within backoff_window that lower the scale
  bool reset = false;                       // a restart begins with initial_scale

  bool operator==(const ScalerOptions&) const = default;
};

/// The type of the gradient buffer. automatic: the compute type if a step has one micro-batch, else float.
enum class GradientType { automatic, compute, fp32 };

/// The compute type of some layers. `pattern` is a layer's name, a pattern with '*', or a layer kind. A name
/// takes precedence over a pattern, a pattern over a kind, and among equals the later rule wins.
struct PrecisionRule {
  std::string pattern;       // of layers
  DType type = DType::fp32;  // fp32, bf16 or fp16

  bool operator==(const PrecisionRule&) const = default;
};

/// The master weights of 16-bit weights: float masters, or none. Without masters the 16-bit weights are
/// updated directly and rounded stochastically.
enum class MasterWeights { fp32, none };

/// The types that layers compute in.
inline constexpr std::array<DType, 3> compute_types{DType::fp32, DType::bf16, DType::fp16};

/// Options of a run with precision.adapt: the trials at its start, and later checks
/// (docs/explanation/numerics.md).
struct AdaptationOptions {
  std::vector<DType> types{compute_types.begin(), compute_types.end()};  // candidates for `compute`
  std::int64_t steps = 20;   // steps of a trial, whose losses are compared
  double loss_gap = 0.02;    // largest accepted loss gap, relative to float
  double least_gain = 0.1;   // fraction of float's step time that 16 bits must save
  std::int64_t every = 200;  // steps between two checks of the loss scaler

  bool operator==(const AdaptationOptions&) const = default;
};

/// [precision]: the types of computation and storage.
struct PrecisionOptions {
  DType compute = DType::bf16;                      // of layers without a rule
  GradientType gradient = GradientType::automatic;  // of the gradient buffer
  std::vector<PrecisionRule> rules;                 // in the deck's order
  ScalerOptions scaler;                             // of the loss
  MasterWeights masters = MasterWeights::fp32;      // of 16-bit weights
  bool adapt = false;                               // the run tries types and may change them
  AdaptationOptions adaptation;                     // how, if `adapt` is set

  bool operator==(const PrecisionOptions&) const = default;
};

}  // namespace mylos
