// SourcePlan: what a SourceNetwork computes, as calls of a few routines on buffers.
//
// Every language has the same routines (c_routines.hpp, fortran_routines.hpp) and writes the same calls in
// its own syntax. There are four lists of calls:
//
//   forward    x -> y for one column or a few, in few buffers: elementwise operations run in place
//   tape       x -> y for one column, which stores every value for derivatives on a tape
//   tangent    dx -> dy at the values of the tape                  (Griewank and Walther 2008, chapter 3.1)
//   pullback   gradient of y -> gradient of x, likewise            (chapter 3.2)
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "mylos/model/source/source_network.hpp"

namespace mylos {

/// An array of constants of the file.
struct SourceConstant {
  std::string name;
  std::string meaning;     // for a comment: "hidden1: weights, [8][128]"
  bool is_double = false;  // else in the arithmetic's type
  std::vector<double> values;
  std::optional<std::int64_t> file_offset = {};  // in the file of weights, and not in the source
};

/// Numbers of a buffer from `offset` on. In a block of columns the next column's are `width` numbers further,
/// and those of a column's next point `step` numbers.
struct SourceAddress {
  std::string buffer;
  std::int64_t offset = 0;
  std::int64_t width = 0;
  std::int64_t step = 0;
};

/// The name of a constant.
struct SourceConstantUse {
  std::string name;
};

/// A number of the arithmetic's type.
struct SourceNumber {
  double value = 0;
};

using SourceArgument = std::variant<std::int64_t, SourceNumber, SourceConstantUse, SourceAddress>;

/// How a call is made for several columns, or by the threads of a team.
enum class SourceCallKind {
  linear,        // has a routine for blocks and one for teams
  elementwise,   // (n, addresses): of n numbers of all columns at once
  each_element,  // (n, constants, addresses): the same operation on each element
  whole,         // mixes the elements of a column
};

struct SourceCall {
  SourceCallKind kind = SourceCallKind::whole;
  std::string routine;
  std::vector<SourceArgument> arguments;
  std::string layer;
  std::int64_t points = 1;  // of a column, for each of which the call is made

  /// Returns whether the points are columns of the routine for blocks.
  [[nodiscard]] bool is_block_of_points() const { return kind == SourceCallKind::linear && points > 1; }
};

struct SourceBuffer {
  std::string name;
  std::int64_t width = 0;
};

/// Calls, and the buffers that they need besides their arguments x, y and tape.
struct SourcePass {
  std::vector<SourceBuffer> buffers;
  std::vector<SourceCall> calls;

  [[nodiscard]] bool uses(const std::string& buffer) const;
  [[nodiscard]] std::int64_t buffer_width() const;  // of all buffers
};

struct SourcePlan {
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  std::int64_t tape = 0;  // numbers on the tape
  std::vector<SourceConstant> constants;
  SourcePass forward;
  // Buffers of derivatives: "dx", "dy", "dtape" of tangent, "gx", "gy", "gtape" of pullback.
  SourcePass tape_forward;
  SourcePass tangent;
  SourcePass pullback;

  /// Returns the number of constants.
  [[nodiscard]] std::int64_t numbers() const;
};

/// Plans a network. Constants have names of their layers that are valid in every language and differ from
/// each other and from `reserved`, in any case of letters. `derivatives`: also the three lists for them.
[[nodiscard]] SourcePlan plan_source(const SourceNetwork& network, const std::set<std::string>& reserved,
                                     bool derivatives);

/// Returns the names of the routines that a pass calls.
[[nodiscard]] std::set<std::string> routines_of(const SourcePass& pass);

}  // namespace mylos
