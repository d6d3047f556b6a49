// Float64Program: the calls of a SourcePass with their routines, constants and buffers found.
//
// The description of the network, the order of its calls, their buffers and the chain rule are those of
// exported source (model/source/source_calls.hpp); only the arithmetic is here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "mylos/inference/float64/float64_routines.hpp"
#include "mylos/model/source/source_calls.hpp"

namespace mylos::float64 {

/// The buffers of all passes: numbers for each column. Derivatives have the same in both directions: "gx" of
/// pullbacks is "dx" of tangents.
class Buffers {
 public:
  /// Returns the index of the buffer, which is added if it is new, and widened to `width`.
  std::size_t add(const std::string& name, std::int64_t width);
  [[nodiscard]] std::size_t index(const std::string& name) const;

  /// Numbers of a column in all of them.
  [[nodiscard]] std::int64_t width() const;
  /// Returns the buffers of a block of at most `columns` columns, which lie from `memory` on.
  [[nodiscard]] std::vector<Columns> placed(double* memory, std::int64_t columns) const;

 private:
  std::map<std::string, std::size_t> indices_;
  std::vector<std::int64_t> widths_;
};

/// The routine that reads a matrix transposed, which is a constant of its own.
inline constexpr const char* transposing_routine = "row_products";
[[nodiscard]] inline std::string transposed_name(const std::string& matrix) {
  return matrix + " transposed";
}

class Program {
 public:
  /// `constants`: by name, those of the transposing routine by transposed_name(). Adds the pass's own
  /// buffers; those of its arguments are known.
  Program(const SourcePass& pass, const std::map<std::string, const double*>& constants, Buffers& buffers);

  /// Runs the calls on `columns` columns.
  void run(std::int64_t columns, Units units, const std::vector<Columns>& buffers) const;

 private:
  struct Place {
    std::size_t buffer;
    std::int64_t offset;
  };
  struct Call {
    Routine routine;
    Arguments arguments;        // but for columns, units and rows
    std::vector<Place> places;  // of the rows
  };
  std::vector<Call> calls_;
};

}  // namespace mylos::float64
