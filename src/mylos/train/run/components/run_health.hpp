// RunHealth: watches the steps and parameters of a run: detectors (HealthWatch), and rows of every parameter
// (HealthRows).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mylos/model/chain/chain.hpp"
#include "mylos/train/health/health_rows.hpp"
#include "mylos/train/health/health_watch.hpp"

namespace mylos {

class Trainer;

class RunHealth {
 public:
  /// `file` is the path of health.csv, or "" on all ranks but the first.
  RunHealth(const Options& options, const Trainer& trainer, std::string file);

  /// Whether the trainer has no room for the health of a step after `now`, if it was read up to step `seen`.
  [[nodiscard]] bool is_full(std::int64_t seen, std::int64_t now) const;
  /// All ranks. Watches the steps after those of the last call up to `last`, which the trainer has made, and
  /// returns what it found. Quiesces the trainer if it reads parameters.
  [[nodiscard]] std::vector<RunEvent> poll(Trainer& trainer, std::int64_t last);
  /// Updates the options on which advice is based.
  void take(const Options& options) { watch_.take(options); }
  /// Writes new rows to health.csv. Throws Error where it cannot be written.
  void write() { rows_.write(); }

  /// As for HealthRows.
  [[nodiscard]] std::string begin_anew() { return rows_.begin_anew(); }
  /// As for HealthWatch and HealthRows.
  void save(CheckpointState& state);
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// As for HealthWatch, before files are cut.
  void require_valid(const std::string& source) const { watch_.require_valid(source); }
  [[nodiscard]] std::string restore(std::int64_t step);

 private:
  std::int64_t every_;
  HealthWatch watch_;
  HealthRows rows_;
  std::int64_t seen_ = 0;  // steps
};

/// Throws Error (bad_input) that names the layers if a pattern of health.ignore matches none of them.
void require_ignored_layers(const HealthOptions& options, const Chain& chain);

}  // namespace mylos
