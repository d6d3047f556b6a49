// The network of a checkpoint as one file of source without dependencies, in C, C++ or Fortran.
//
// docs/how-to/source.md is the users' page.
#pragma once

#include <cstdint>
#include <string>

#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/interchange/source/source_file.hpp"

namespace mylos {

/// Weights in the source; more are in a file beside it. For a million gcc 12 takes 3 s, gfortran 6 s and 1.1
/// GiB of memory.
inline constexpr std::int64_t max_source_numbers = 1'000'000;
/// Weights in that file, which the source counts in 31 bits.
inline constexpr std::int64_t max_file_weights = 2'147'483'647;
/// Elements of a vector between layers: they are on the stack.
inline constexpr std::int64_t max_source_width = 65'536;
/// Elements of all vectors between layers together, of which derivatives hold two sets on the stack: 4 MiB of
/// doubles.
inline constexpr std::int64_t max_source_tape = 262'144;

struct SourceOptions {
  SourceLanguage language = SourceLanguage::c;
  std::string name;  // is_source_name()
  bool is_double = false;
  SourceDerivative derivative = SourceDerivative::none;
  StoredWeights weights = StoredWeights::current;
};

struct ExportedSource {
  std::string text;
  std::string weights;  // bytes of the file beside it; empty: there is none
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t numbers = 0;
};

/// For one rank. Equal checkpoints and options give equal texts. Throws Error (bad_input): bad_argument if
/// the name cannot be used, unsupported_feature that names a layer which source cannot compute, too_large,
/// no_average, not_finite, or if the checkpoint contradicts itself.
[[nodiscard]] ExportedSource export_source(const CheckpointReader& checkpoint, const SourceOptions& options);

/// Throws Error (bad_input, bad_argument) unless a network can have this name in source of this language.
void require_source_name(const std::string& name, SourceLanguage language);

}  // namespace mylos
