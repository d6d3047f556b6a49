#include "mylos/train/evaluation/target_file.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {

void write_target_file(const std::string& path, std::int64_t step, std::vector<std::string> names,
                       std::span<const std::pair<DataPart, std::vector<double>>> parts) {
  using nlohmann::ordered_json;
  const std::size_t targets = parts.front().second.size();
  if (names.size() != targets) names.clear();  // they name a grid's channels, not its targets
  for (std::size_t i = names.size(); i < targets; ++i) names.push_back(std::to_string(i));
  ordered_json document = {{"format", "mylos-targets"}, {"version", 1}, {"step", step}, {"targets", names}};
  for (const auto& [part, r2] : parts) {
    ordered_json& row = document["parts"][name_of(part)];
    row = ordered_json::array();
    for (const double value : r2) row.push_back(std::isfinite(value) ? ordered_json(value) : ordered_json());
  }
  // Names come from users' files, whose bytes need not be UTF-8.
  publish_text(path, document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n');
}

}  // namespace mylos
