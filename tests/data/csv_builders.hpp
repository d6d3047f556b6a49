// Tables as text, and the dataset files that `prepare csv` makes from them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "data/builders.hpp"
#include "mylos/data/prepare/prepare_csv.hpp"
#include "support/said.hpp"

namespace mylos::testing_support {

/// Prepares a file with this text and the options of `job`.
inline Dataset prepared(const TemporaryFolder& folder, const std::string& text, PrepareCsv job) {
  write_file(folder / "data.csv", text);
  job.file = folder / "data.csv";
  job.out = folder / "data.h5";
  prepare(job);
  return Dataset(job.out, GroundTruth::optional);
}

inline std::string refusal(const std::string& text, const PrepareCsv& job) {
  const TemporaryFolder folder;
  std::string message = test::refusal_of([&] { (void)prepared(folder, text, job); });
  EXPECT_FALSE(std::filesystem::exists(folder / "data.h5") ||
               std::filesystem::exists(folder / "data.h5.tmp"));
  const std::string prefix = folder.path() + "/";
  return message.starts_with(prefix) ? message.substr(prefix.size()) : message;
}

/// The notes for the user on the reading of the text.
inline std::vector<std::string> notes(const std::string& text, PrepareCsv job) {
  const TemporaryFolder folder;
  write_file(folder / "data.csv", text);
  job.file = folder / "data.csv";
  job.out = folder / "data.h5";
  std::vector<std::string> lines = prepare(job);
  for (std::string& line : lines) {
    EXPECT_TRUE(line.starts_with(folder.path() + "/")) << line;
    line.erase(0, folder.path().size() + 1);
  }
  return lines;
}

inline PrepareCsv labelled(const std::string& column, std::int64_t classes = 0) {
  return {.file = "", .targets = {}, .label = column, .out = "", .classes = classes};
}
inline PrepareCsv regression(const std::vector<std::string>& columns) {
  return {.file = "", .targets = columns, .label = "", .out = ""};
}

inline PrepareCsv with_header(bool has_header, PrepareCsv job) {
  job.has_header = has_header;
  return job;
}

inline std::vector<float> inputs_of(const Dataset& dataset) {
  std::vector<float> inputs(static_cast<std::size_t>(dataset.samples() * dataset.features()));
  dataset.read_inputs(0, dataset.samples(), inputs.data());
  return inputs;
}

}  // namespace mylos::testing_support
