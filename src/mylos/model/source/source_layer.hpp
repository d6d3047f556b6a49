// SourceLayer: one block of a chain on its way into a SourceNetwork: its parameters, and its operations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "mylos/model/source/source_network.hpp"

namespace mylos {

/// Returns all numbers of a weight ("hidden1/weight") or of a statistic of a norm ("norm1/running_mean").
using ReadSourceWeight = std::function<std::vector<float>(const std::string& path)>;

class SourceLayer {
 public:
  /// `x`, `skip`: the values that the block reads. Without a skip `skip` is not used.
  SourceLayer(SourceNetwork& network, const ReadSourceWeight& read, std::string name, std::size_t x,
              std::size_t skip)
      : network_(network), read_(read), name_(std::move(name)), output_(x), skip_(skip) {}

  [[nodiscard]] std::vector<float> parameter(const std::string& name) const {
    return read_(name_ + "/" + name);
  }
  [[nodiscard]] std::size_t skip() const { return skip_; }
  /// Returns the elements of the value that the next operation reads.
  [[nodiscard]] std::int64_t width() const { return network_.width(output_); }

  /// Appends an operation on the block's input, or on the result of the operation before. `outputs`: of all
  /// points, to each of which it is applied.
  template <class Kind>
  void append(Kind kind, std::int64_t outputs, std::int64_t points = 1) {
    network_.operations.push_back({name_, output_, outputs, std::move(kind), points});
    output_ = network_.operations.size();
  }
  /// Appends the activation unless it is none.
  void append_activation(Activation function) {
    if (function != Activation::none) append(SourceActivation{function}, width());
  }
  /// Makes an earlier value the block's output.
  void give(std::size_t value) { output_ = value; }
  [[nodiscard]] std::size_t output() const { return output_; }

 private:
  SourceNetwork& network_;
  const ReadSourceWeight& read_;
  std::string name_;
  std::size_t output_;
  std::size_t skip_;
};

}  // namespace mylos
