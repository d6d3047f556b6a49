// [kernels]: the GEMM engine, its instruction set, the order of attention's sums, and how the kernels of a
// step are launched. Also the activation functions that kernels support.
#pragma once

#include <optional>
#include <string_view>

namespace mylos {

enum class Instructions;  // base/instructions.hpp

/// The GEMM engine that a deck selects, by its name there. `automatic` chooses by a table of earlier
/// measurements (src/mylos/kernels/gemm/tiles/gemm_table.cpp); `measure` chooses by measuring at the start of
/// the run. Not every build has all engines.
struct GemmChoice {
  std::string_view name;  // of static storage

  static const GemmChoice automatic;  // by the table
  static const GemmChoice measure;    // by measuring
  static const GemmChoice onednn;     // hosts: oneDNN
  static const GemmChoice tiles;      // hosts: Mylos' own
  static const GemmChoice cublaslt;   // NVIDIA devices
  static const GemmChoice hipblaslt;  // AMD devices
  static const GemmChoice kokkos;     // Kokkos Kernels, on any

  bool operator==(const GemmChoice&) const = default;
};
inline constexpr GemmChoice GemmChoice::automatic{"auto"};
inline constexpr GemmChoice GemmChoice::measure{"measure"};
inline constexpr GemmChoice GemmChoice::onednn{"onednn"};
inline constexpr GemmChoice GemmChoice::tiles{"tiles"};
inline constexpr GemmChoice GemmChoice::cublaslt{"cublaslt"};
inline constexpr GemmChoice GemmChoice::hipblaslt{"hipblaslt"};
inline constexpr GemmChoice GemmChoice::kokkos{"kokkos"};

/// The engines of all builds.
inline constexpr GemmChoice gemm_engines[] = {GemmChoice::onednn, GemmChoice::tiles, GemmChoice::cublaslt,
                                              GemmChoice::hipblaslt, GemmChoice::kokkos};

/// The order in which attention's backward pass adds its sums, where a library chooses it. `any_order` takes
/// less memory and may be faster, but the same operands may give different bits each time.
enum class AttentionSums { fixed_order, any_order };

/// The function of a layer's outputs; gelu_tanh is GPT-2's approximation of gelu.
enum class Activation { none, relu, gelu, gelu_tanh, tanh, silu };

/// The function that makes outputs at least 0: log(1 + exp(x)), or the larger of x and 0.
enum class NonnegativeForm { softplus, relu };

/// [kernels]: what computes a step.
struct KernelOptions {
  GemmChoice gemm = GemmChoice::automatic;        // of matrix products
  std::optional<Instructions> instructions = {};  // none: the set in use, by default the processor's best
  AttentionSums attention_sums = AttentionSums::fixed_order;  // of attention by a library
  bool graphs = true;                                         // devices: capture steps as graphs

  bool operator==(const KernelOptions&) const = default;
};

}  // namespace mylos
