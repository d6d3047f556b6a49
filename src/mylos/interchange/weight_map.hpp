// The map of `mylos convert --map FILE`: which tensor of a file is which parameter.
//
//   # a line for each tensor; names with blanks in quotes
//   encoder.0.weight    hidden1/weight
//   "encoder.0.bias"  = "hidden1/bias"              # flat TOML is the same map
//   decoder.weight      head/weight transposed      # [inputs, outputs]; TOML: "head/weight transposed"
//   fc.weight           hidden2/weight channels_last
//   loss.weight         -                           # not used
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mylos/interchange/weight_forms.hpp"

namespace mylos {

struct MapLine {
  std::string theirs;
  std::string ours;  // a parameter's path; "" = the tensor is not used
  FormKind kind = FormKind::usual;
  std::string where = {};  // "map.txt:3", for messages
};

/// Reads the text of a map. `file` is for messages. Throws Error (bad_input): bad-row for a line of another
/// form, duplicate-key for a tensor or a parameter that is given twice.
[[nodiscard]] std::vector<MapLine> parse_weight_map(std::string_view text, const std::string& file);

/// Reads a file, of at most 16 MiB.
[[nodiscard]] std::vector<MapLine> read_weight_map(const std::string& path);

}  // namespace mylos
