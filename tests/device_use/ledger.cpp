#include "ledger.hpp"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace device_use {
namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return result + '"';
}

template <class Count>
std::string object(const std::map<std::string, Count>& counts) {
  std::string result = "{";
  for (const auto& [name, count] : counts) {
    result += (result.size() > 1 ? ", " : "") + quoted(name) + ": " + std::to_string(count);
  }
  return result + "}";
}

std::string object(const Calls& calls) {
  return "{\"launches\": " + object(calls.launches) + ", \"recorded\": " + object(calls.recorded) +
         ", \"copies\": " + object(calls.copies) + ", \"waits\": " + object(calls.waits) +
         ", \"not_in_capture\": " + object(calls.not_in_capture) + "}";
}

std::int64_t sum(const std::map<std::string, std::int64_t>& bytes) {
  std::int64_t total = 0;
  for (const auto& [label, of_label] : bytes) total += of_label;
  return total;
}

}  // namespace

Ledger& Ledger::own() {
  static auto* const ledger = new Ledger;  // outlives the destructors that still call the runtime
  return *ledger;
}

void Ledger::launch(const std::string& what, const void* stream) {
  const std::lock_guard lock(mutex_);
  enqueue(what, stream, now().launches);
}

void Ledger::copy(const std::string& what, const void* stream) {
  const std::lock_guard lock(mutex_);
  enqueue(what, stream, now().copies);
}

void Ledger::enqueue(const std::string& what, const void* stream, std::map<std::string, long>& counts) {
  if (is_capturing()) require(what, order_.enqueue(stream));
  ++(is_capturing() ? captured_ : counts)[what];
}

void Ledger::require(const std::string& what, const std::string& refusal) {
  if (!refusal.empty()) faults_.insert(what + ": " + refusal);
}

void Ledger::record_event(const void* event, const void* stream) {
  const std::lock_guard lock(mutex_);
  order_.record(event, stream);
}

void Ledger::wait_for_event(const void* stream, const void* event) {
  const std::lock_guard lock(mutex_);
  require("cudaStreamWaitEvent", order_.wait(stream, event));
}

void Ledger::destroy_event(const void* event) {
  const std::lock_guard lock(mutex_);
  order_.forget(event);
}

bool Ledger::captures(const void* stream) {
  const std::lock_guard lock(mutex_);
  return order_.contains(stream);
}

void Ledger::wait(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (is_capturing()) faults_.insert(what + " while work is recorded");
  ++of_this_thread().waits[what];
  ++of_this_thread().not_in_capture[what];
}

void Ledger::not_in_capture(const std::string& what) {
  const std::lock_guard lock(mutex_);
  if (is_capturing()) faults_.insert(what + " while work is recorded");
  ++now().not_in_capture[what];
}

void Ledger::fault(const std::string& what) {
  const std::lock_guard lock(mutex_);
  faults_.insert(what);
}

void Ledger::begin_capture(const void* stream) {
  const std::lock_guard lock(mutex_);
  order_.begin(stream);
  capturing_ = std::this_thread::get_id();
  captured_.clear();
}

std::map<std::string, long> Ledger::end_capture() {
  const std::lock_guard lock(mutex_);
  require("cudaStreamEndCapture", order_.end());
  capturing_ = {};
  return std::exchange(captured_, {});
}

void Ledger::launch_graph(const std::map<std::string, long>& recorded) {
  const std::lock_guard lock(mutex_);
  ++now().launches["cudaGraphLaunch"];
  for (const auto& [what, times] : recorded) now().recorded[what] += times;
}

void Ledger::allocate(const std::string& label, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  allocated_[label] += bytes;
  if (sum(allocated_) > sum(max_allocated_)) max_allocated_ = allocated_;
}

void Ledger::release(const std::string& label, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  allocated_[label] -= bytes;
}

void Ledger::begin_plan() {
  const std::lock_guard lock(mutex_);
  if (steps_.empty()) max_allocated_ = allocated_;
}

void Ledger::begin_step() {
  const std::lock_guard lock(mutex_);
  steps_.emplace_back();
  in_step_ = true;
  stepping_ = std::this_thread::get_id();
}

void Ledger::end_step() {
  const std::lock_guard lock(mutex_);
  in_step_ = false;
}

void Ledger::begin_kernel(const char* label) {
  const std::lock_guard lock(mutex_);
  label_ = label;
}

void Ledger::end_kernel() {
  const std::lock_guard lock(mutex_);
  label_.clear();
}

std::string Ledger::kernel_name(const std::string& otherwise) {
  const std::lock_guard lock(mutex_);
  return label_.empty() ? otherwise : label_;
}

void Ledger::write() {
  const std::lock_guard lock(mutex_);
  const char* const path = std::getenv("MYLOS_DEVICE_USE");
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const std::string own =
      std::string(path == nullptr ? "" : path) + (rank == nullptr ? "" : std::string(".") + rank);
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(own.c_str(), "w");
  if (file == nullptr) return;
  std::string text = "{\"steps\": [";
  for (const Calls& step : steps_) text += (&step == steps_.data() ? "" : ",\n") + object(step);
  text += "],\n\"outside\": " + object(outside_) + ",\n\"max_allocated\": " + object(max_allocated_) +
          ",\n\"faults\": [";
  for (const std::string& fault : faults_) text += (fault == *faults_.begin() ? "" : ",\n") + quoted(fault);
  std::fprintf(file, "%s]}\n", text.c_str());
  std::fclose(file);
}

Calls Ledger::last_step() {
  const std::lock_guard lock(mutex_);
  return steps_.back();
}

std::set<std::string> Ledger::take_faults() {
  const std::lock_guard lock(mutex_);
  return std::exchange(faults_, {});
}

std::map<std::string, std::int64_t> Ledger::max_allocated() {
  const std::lock_guard lock(mutex_);
  return max_allocated_;
}

}  // namespace device_use
