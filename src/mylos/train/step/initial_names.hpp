// The tensors of a file of initial weights by the names of the network's parameters, and messages about those
// that are missing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/places.hpp"
#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/train/options.hpp"

namespace mylos {

class LocalNames {
 public:
  /// Throws Error (bad_input) if two tensors would be one parameter. All arguments must outlive this object.
  LocalNames(const WeightFile& file, const InitialOptions& options, const Places& places);

  /// Returns the index of the file's entry, or nothing.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& parameter) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// Throws Error if a rule has renamed nothing, or only to names that the network does not have.
  void require_use(const std::vector<std::string>& parameters) const;

 private:
  [[nodiscard]] std::string where(std::size_t rule) const;
  [[nodiscard]] std::vector<std::string> names_of_file() const;
  void add(const std::string& name, std::size_t entry);

  const WeightFile& file_;
  const InitialOptions& options_;
  const Places& places_;
  std::map<std::string, std::size_t> entries_;
  std::vector<std::vector<std::string>> used_;  // by rule: the names that it gave
  std::vector<bool> overridden_;                // by rule: a later rule renamed what it matches
};

/// Returns advice for files of GPT-2 in the layout of other programs, which have other names and transposed
/// matrices, to be appended to a message; "" for other files.
[[nodiscard]] std::string note_on_gpt2(const WeightFile& file);

/// Throws Error (bad_input) that names the parameters that the file lacks, and similar names that it has.
[[noreturn]] void refuse_missing(const WeightFile& file, const std::vector<std::string>& missing,
                                 const LocalNames& names);

/// Returns the newest valid checkpoint of a run's folder; any other path as it is. All ranks call this.
/// Throws Error (bad_input) if the folder has none.
[[nodiscard]] std::string weights_in(RankGroup& ranks, const std::string& path);

}  // namespace mylos
