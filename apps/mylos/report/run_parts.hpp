// The parts of a run's document, each from its own kind of file in the run's folder.
//
// A part is null if the run has no such file. Skipped, damaged and missing data are added to `notes`, a JSON
// array. `runs_on`: the run still writes its files.
#pragma once

#include <string>

#include "deck_lines.hpp"
#include "report_json.hpp"

namespace mylos::app {

/// The training history, from history.csv, or from the newest valid checkpoint if that is missing. A curve
/// has at most `max_points` points.
[[nodiscard]] ordered_json history_of(const std::string& folder, const DeckLines& deck, bool runs_on,
                                      std::size_t max_points, ordered_json& notes);

/// evaluations.csv: {PART: curves of loss, accuracy and the other run.metrics}.
[[nodiscard]] ordered_json evaluations_of(const std::string& folder, bool runs_on, std::size_t max_points,
                                          ordered_json& notes);

/// confusion.json: {step, classes, parts: {PART: rows of the matrix}}; also null if it has more classes than
/// a page shows.
[[nodiscard]] ordered_json confusion_of(const std::string& folder, ordered_json& notes);

/// targets.json: {step, targets, parts: {part: [R2]}}, with the same rules.
[[nodiscard]] ordered_json targets_of(const std::string& folder, ordered_json& notes);

/// uncertainty.json, of `mylos eval`: {split, samples, calibration_error, sharpness, crps, coverage:
/// [[nominal, observed], ...]}, by nominal coverage.
[[nodiscard]] ordered_json uncertainty_of(const std::string& folder, ordered_json& notes);

/// samples.json: {step, parts: {PART: [picture, ...]}}, fields of a few samples (field_files.hpp).
[[nodiscard]] ordered_json samples_of(const std::string& folder, ordered_json& notes);

/// *.rollout.json: [{name, step, members, first_step_not_finite, errors, spectrum, pictures}, ...], the first
/// few by name; empty if there are none.
[[nodiscard]] ordered_json rollouts_of(const std::string& folder, ordered_json& notes);

/// starts.jsonl, restarts and stops, then events.jsonl, warnings, rewinds and decisions: {total, kinds:
/// {KIND: count}, rows: [{step, kind, cause, subject, text}, ...]}, only the first and last rows if there are
/// many.
[[nodiscard]] ordered_json events_of(const std::string& folder, bool runs_on, ordered_json& notes);

/// health.csv, measurements of single parameters for the heat maps. A map has at most `max_cells` cells
/// (StepGrid).
[[nodiscard]] ordered_json health_of(const std::string& folder, bool runs_on, std::size_t max_cells,
                                     ordered_json& notes);

/// plan.json: {ranks, parameters, budget_bytes, rank_bytes, parts: [{name, bytes}], blocks,
/// recomputed_blocks}.
[[nodiscard]] ordered_json plan_of(const std::string& folder, ordered_json& notes);

/// advice.json, what `mylos advise --json` printed for the deck: {ranks, batch, steps, rounds, computed_by,
/// trials: [{compute, recompute, obstacle} or {compute, recompute, median_step_s, ...}], compute, recompute,
/// verdict, reasons}.
[[nodiscard]] ordered_json advice_of(const std::string& folder, ordered_json& notes);

/// The numbers and texts of summary.json; {} if there is none.
[[nodiscard]] ordered_json summary_of(const std::string& folder, ordered_json& notes);

/// The type in which each layer computes: [{name, kind, compute, input, output}, ...]; null if this version
/// cannot read the deck. `resolved`: the text of resolved.toml.
[[nodiscard]] ordered_json layers_of(const std::string& resolved, ordered_json& notes);

}  // namespace mylos::app
