// RunHealth: what a run sees of its steps and parameters while it goes on: detectors (HealthWatch), and rows
// of every parameter (HealthRows).
#pragma once

#include <functional>
#include <string>

#include "mylos/train/health/health_rows.hpp"
#include "mylos/train/health/health_watch.hpp"
#include "mylos/train/step/trainer.hpp"

namespace mylos {

class RunHealth {
 public:
  /// `file`: the path of health.csv; "" on ranks but the first.
  RunHealth(const Options& options, const Trainer& trainer, std::string file);

  /// Whether there is no room for another look at parameters after step `now`, those up to `seen` being read.
  [[nodiscard]] bool is_full(std::int64_t seen, std::int64_t now) const;
  /// All ranks, after Trainer::finish_update(). Of the steps behind those of the last call up to `last`,
  /// which the trainer has made.
  [[nodiscard]] std::vector<RunEvent> poll(const Trainer& trainer, std::int64_t last);
  /// The options that advice goes by have changed.
  void take(const Options& options) { watch_.take(options); }
  /// Brings health.csv up to date. Throws Error where it cannot be written.
  void write() { rows_.write(); }

  /// As of HealthRows.
  [[nodiscard]] std::string begin_anew() { return rows_.begin_anew(); }
  /// As of HealthWatch and HealthRows.
  void save(CheckpointState& state);
  void make_room(const CheckpointReader& saved, CheckpointState& state);
  /// Before files are cut: as HealthWatch.
  void require_valid(const std::string& source) const { watch_.require_valid(source); }
  [[nodiscard]] std::string restore(std::int64_t step);

 private:
  std::int64_t every_;
  HealthWatch watch_;
  HealthRows rows_;
  std::int64_t seen_ = 0;
};

/// Throws Error (bad_input) that names the layers where a pattern of health.ignore is none of them.
void require_ignored_layers(const HealthOptions& options, const Chain& chain);

}  // namespace mylos
