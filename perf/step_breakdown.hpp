// The time of a step by GEMM shape and kernel name.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "mylos/kernels/engines/engine_set.hpp"

namespace mylos {

/// Milliseconds by part of the step, summed over steps.
using Breakdown = std::map<std::string, double>;

/// Returns engines that forward GEMMs and convolutions to the deck's default engines, and record their times
/// if there is a book.
[[nodiscard]] std::unique_ptr<EngineSet> make_timed_engines();

/// During its lifetime, the times of GEMMs and of other kernels are recorded in the book. Kernels on a host
/// are complete when they return. Only one may exist at a time.
class Booking {
 public:
  explicit Booking(Breakdown& book);
  ~Booking();
  Booking(const Booking&) = delete;
  Booking& operator=(const Booking&) = delete;
};

}  // namespace mylos
