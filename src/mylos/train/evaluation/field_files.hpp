// Fields and rollouts as files for the report and for other programs.
//
//   samples.json       {format: "mylos-samples", version, step, parts: {validation|test: [picture, ...]}}
//   NAME.rollout.json  {format: "mylos-rollout", version, network, step, start, truth, members: [...],
//                       errors: {NAME: [of each step]}, spectrum: {wavenumber, steps, network, truth, error},
//                       variables: {names, units, levels, measures: {NAME: [[of each level], of each name]}},
//                       pictures: [picture, ...]}
//   NAME.errors.csv    a line for each step
//   NAME.spectrum.csv  a line for each step and wavenumber
//
// A picture is a FieldPicture: lines as numbers, planes as codes in base 64. Numbers that are not known or
// not finite are null in JSON, and empty or "nan" and "inf" in CSV.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "mylos/data/run/data_part.hpp"
#include "mylos/inference/rollout/field_picture.hpp"
#include "mylos/inference/rollout/rollout.hpp"
#include "mylos/inference/scores/score_file.hpp"

namespace mylos {

struct RolloutDocument {
  std::string network;  // the file of its weights, or of the run
  std::int64_t step = 0;
  std::string start;
  std::string truth;                 // "": there is none
  std::vector<std::string> members;  // what each is, for people
  const RolloutResult* result = nullptr;
  ScoreAxes axes = {};  // of the result's scores, if it has some
  std::vector<FieldPicture> pictures;
};

/// Write a file. Throw Error if it cannot be written; an older file is then unchanged.
void write_picture_file(const std::string& path, std::int64_t step,
                        std::span<const std::pair<DataPart, std::vector<FieldPicture>>> parts);
void write_rollout_file(const std::string& path, const RolloutDocument& document);

/// Return the text of NAME.errors.csv, and of NAME.spectrum.csv.
[[nodiscard]] std::string error_table(const RolloutResult& result);
[[nodiscard]] std::string spectrum_table(const RolloutResult& result);

}  // namespace mylos
