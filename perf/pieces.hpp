// Pieces of a GPT's training step, each timed alone: the subcommands of step_pieces.cpp.
//
// A line of each is "piece <tab> variant <tab> milliseconds <tab> detail", printed as soon as it is known, so
// that an interrupted run leaves its measurements.
#pragma once

#include <functional>
#include <string>

#include "mylos/base/device/arena.hpp"
#include "mylos/base/execution_fwd.hpp"

namespace mylos::pieces {

/// The sizes of a GPT, and the time of a measurement.
struct Subject {
  std::int64_t samples = 32;  // of a micro-batch
  std::int64_t context = 1024;
  std::int64_t heads = 12;
  std::int64_t head_width = 64;
  std::int64_t vocabulary = 50304;
  DType type = DType::bf16;
  double seconds = 0.05;  // of each measurement; there are five, of which the median counts

  [[nodiscard]] std::int64_t rows() const { return samples * context; }
  [[nodiscard]] std::int64_t width() const { return heads * head_width; }
};

/// Milliseconds of the work that `enqueue` enqueues: the median of five measurements of many in a row, after
/// two warm-ups.
[[nodiscard]] double milliseconds_of(const Execution& exec, double seconds,
                                     const std::function<void()>& enqueue);

void print_line(const std::string& piece, const std::string& variant, double milliseconds,
                const std::string& detail = "");
/// Reports a piece that cannot be measured on this machine.
void print_refusal(const std::string& piece, const std::string& variant, const std::string& why);

/// A matrix in its own memory, with different numbers in (-1, 1]: zeros would be multiplied faster.
class Matrix {
 public:
  Matrix(DType type, std::int64_t rows, std::int64_t columns, int pattern);
  [[nodiscard]] const Tensor& tensor() const { return tensor_; }
  [[nodiscard]] void* data() const { return tensor_.data(); }

 private:
  Arena memory_;
  Tensor tensor_;
};

/// The GEMMs of the step, without and with their additions, by each of the engines or algorithms among which
/// "measure" chooses.
void measure_gemms(const Subject& subject);
/// Attention's passes of a layer over the micro-batch, by the number of samples that run together, and with a
/// fixed or any order of additions if a library computes it.
void measure_attention(const Subject& subject);
/// The classifier with its loss, by the bytes of logits at a time; and the loss alone, by the implementation
/// of e^x.
void measure_head(const Subject& subject);
/// The memory-bound kernels of the step, each alone, with the rate at which it reads and writes memory.
void measure_kernels(const Subject& subject);

}  // namespace mylos::pieces
