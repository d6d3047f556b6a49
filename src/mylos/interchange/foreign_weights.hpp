// ForeignWeights: the weights of a safetensors file from PyTorch, as those of the network of a deck.
//
// F32, F16, BF16 and F64 become floats; C64 are the spectral weights of neuraloperator. One tensor is in
// memory at a time, twice if its layout changes. The file is checked when it is opened, as described in
// io/safetensors/safetensors.hpp.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "mylos/interchange/weight_matching.hpp"
#include "mylos/io/safetensors/safetensors.hpp"

namespace mylos {

/// The key of the metadata of a file that states the order of the network: names of tensors, one in a line.
inline constexpr const char* order_metadata = "mylos.order";

/// Throws Error (bad_input) that shows how a safetensors file is made in Python if the file, by its name or
/// its first bytes, is one of torch.save, another pickle or archive, or ONNX. A file that begins as
/// safetensors is none.
void refuse_other_formats(const std::string& path);

class ForeignWeights {
 public:
  /// Opens the file. `map`: the file of --map, or "". Throws Error (bad_input) also for a file that
  /// `mylos convert` wrote: it has our names, and `mylos init --from` reads it.
  ForeignWeights(const std::string& path, const std::string& map);

  /// Matches the tensors with the network (weight_matching.hpp). `model`: with its sizes set; a short form or
  /// its layers. Throws Error (bad_input), also for a type of numbers that weights do not have.
  void match(const ModelOptions& model, const Chain& chain);

  /// Returns the table of what went where, a line for each tensor; the orders of operations that the file
  /// does not state (assumed_orders.hpp); and a note where a version of neuraloperator computes something
  /// else with the same weights.
  [[nodiscard]] std::vector<std::string> table() const;

  /// Returns the numbers of a parameter or running statistic in our layout. Throws Error (bad_input) for a
  /// number that is not finite, beyond the range of the layer's compute type, or a negative variance.
  [[nodiscard]] std::vector<float> read(const std::string& parameter);

 private:
  [[nodiscard]] const safetensors::Entry& entry(std::size_t theirs) const;

  safetensors::Reader reader_;
  std::vector<MapLine> map_;
  TheirTensors theirs_;
  std::vector<OwnWeight> ours_;
  MatchedWeights matched_;
  std::map<std::string, std::size_t> match_of_;  // by our path
  std::vector<std::string> orders_;              // lines of the table
  bool shifts_wave_numbers_ = false;             // a note of the table
};

}  // namespace mylos
