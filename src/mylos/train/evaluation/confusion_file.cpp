#include "mylos/train/evaluation/confusion_file.hpp"

#include <nlohmann/json.hpp>

#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {

void write_confusion_file(const std::string& path, std::int64_t step, std::vector<std::string> class_names,
                          std::span<const std::pair<DataPart, const ClassMeasures*>> parts) {
  using nlohmann::ordered_json;
  const std::int64_t classes = parts.front().second->classes();
  for (auto i = static_cast<std::int64_t>(class_names.size()); i < classes; ++i)
    class_names.push_back(std::to_string(i));
  ordered_json document = {
      {"format", "mylos-confusion"}, {"version", 1}, {"step", step}, {"classes", class_names}};
  for (const auto& [part, measures] : parts) {
    ordered_json& rows = document["parts"][name_of(part)];
    for (std::int64_t label = 0; label < classes; ++label) {
      ordered_json& row = rows.emplace_back(ordered_json::array());
      for (std::int64_t predicted = 0; predicted < classes; ++predicted)
        row.push_back(measures->confused(label, predicted));
    }
  }
  // Names come from folder names, whose bytes need not be UTF-8.
  publish_text(path, document.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + '\n');
}

}  // namespace mylos
