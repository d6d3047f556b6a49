// What the command asked of its device: in each step how often what, and what it may not have asked.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "capture_order.hpp"

namespace device_use {

/// Of one step, or of all that lies outside steps: calls counted by name.
struct Calls {
  std::map<std::string, long> launches;  // kernels, GEMMs, collectives, graphs
  std::map<std::string, long> recorded;  // kernels and so on of the graphs that were launched
  std::map<std::string, long> copies;    // and fills, that go on beside the host
  std::map<std::string, long> waits;     // of the host for the device
  std::map<std::string, long> not_in_capture;
};

class Ledger {
 public:
  /// That of this process. It is written to $MYLOS_DEVICE_USE as JSON when the process ends; of
  /// one among several ranks to $MYLOS_DEVICE_USE.RANK.
  static Ledger& own();

  void launch(const std::string& what, const void* stream);
  void copy(const std::string& what, const void* stream);
  /// The host waits; illegal in a capture too. Of a step only where the thread that makes it waits.
  void wait(const std::string& what);
  void not_in_capture(const std::string& what);
  /// What a device, or a library, would refuse or compute wrongly. Each is written once.
  void fault(const std::string& what);

  /// From here to end_capture() this thread's launches are recorded, not made; what no capture may have is a
  /// fault.
  void begin_capture(const void* stream);
  [[nodiscard]] std::map<std::string, long> end_capture();
  void launch_graph(const std::map<std::string, long>& recorded);
  void record_event(const void* event, const void* stream);
  void wait_for_event(const void* stream, const void* event);
  void destroy_event(const void* event);
  [[nodiscard]] bool captures(const void* stream);

  /// An array of device memory that Kokkos allocates for its user, by its label.
  void allocate(const std::string& label, std::int64_t bytes);
  void release(const std::string& label, std::int64_t bytes);
  /// Free memory is read, before the first step: what was released by then has nothing to do with the plan.
  void begin_plan();

  void begin_step();
  void end_step();
  void begin_kernel(const char* label);
  void end_kernel();
  /// The label of the Kokkos kernel that is being launched, else `otherwise`.
  [[nodiscard]] std::string kernel_name(const std::string& otherwise);

  void write();
  /// What begin_step() began last, and the faults so far; for the stand-ins' own test.
  [[nodiscard]] Calls last_step();
  [[nodiscard]] std::set<std::string> take_faults();
  /// The arrays of the time at which they took most, since begin_plan().
  [[nodiscard]] std::map<std::string, std::int64_t> max_allocated();

 private:
  Ledger() = default;
  Calls& now() { return in_step_ ? steps_.back() : outside_; }
  void enqueue(const std::string& what, const void* stream, std::map<std::string, long>& counts);
  void require(const std::string& what, const std::string& refusal);
  [[nodiscard]] bool is_capturing() const { return capturing_ == std::this_thread::get_id(); }
  Calls& of_this_thread() { return std::this_thread::get_id() == stepping_ ? now() : outside_; }

  std::recursive_mutex mutex_;
  std::vector<Calls> steps_;
  Calls outside_;
  std::set<std::string> faults_;
  std::string label_;
  bool in_step_ = false;
  std::thread::id stepping_;
  std::thread::id capturing_;  // none: no thread
  std::map<std::string, long> captured_;
  CaptureOrder order_;
  std::map<std::string, std::int64_t> allocated_;  // bytes by label
  std::map<std::string, std::int64_t> max_allocated_;
};

}  // namespace device_use
