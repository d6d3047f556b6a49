// The tensors of a file of initial weights by the names that parameters have here, and what is said of those
// that it lacks.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mylos/base/places.hpp"
#include "mylos/checkpoint/file/weight_file.hpp"
#include "mylos/train/options.hpp"

namespace mylos {

class NamesHere {
 public:
  /// Throws Error (bad_input) where two tensors would be one parameter. All three outlive it.
  NamesHere(const WeightFile& file, const InitialOptions& options, const Places& places);

  /// Entry of the file, or nothing.
  [[nodiscard]] std::optional<std::size_t> find(const std::string& parameter) const;
  [[nodiscard]] std::vector<std::string> names() const;
  /// Throws Error where a rule has renamed nothing, or to nothing that the network has.
  void require_use(const std::vector<std::string>& parameters) const;

 private:
  [[nodiscard]] std::string where(std::size_t rule) const;
  [[nodiscard]] std::vector<std::string> names_of_file() const;
  void add(const std::string& name, std::size_t entry);

  const WeightFile& file_;
  const InitialOptions& options_;
  const Places& places_;
  std::map<std::string, std::size_t> entries_;
  std::vector<std::vector<std::string>> used_;  // of each rule, what it made
  std::vector<bool> overridden_;                // of each rule: a later one took what it matches
};

/// GPT-2 as others keep it has other names, and matrices the other way round: what to do with such a file, to
/// stand behind a message; "" where it is none.
[[nodiscard]] std::string note_on_gpt2(const WeightFile& file);

/// Throws Error (bad_input) that names parameters which the file lacks, and near names that it has.
[[noreturn]] void refuse_missing(const WeightFile& file, const std::vector<std::string>& missing,
                                 const NamesHere& names);

}  // namespace mylos
