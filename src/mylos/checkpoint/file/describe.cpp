#include "mylos/checkpoint/file/describe.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/checkpoint/file/reader.hpp"
#include "mylos/checkpoint/file/stored_bytes.hpp"
#include "mylos/checkpoint/file/user_block.hpp"
#include "mylos/checkpoint/file/walk.hpp"

namespace mylos {
namespace {

std::string shape_of(const hdf5::Dataset& dataset) {
  return fmt::format("[{}]", fmt::join(dataset.dims(), ", "));
}

std::int64_t bytes_of(const hdf5::Dataset& dataset) {
  using enum DType;
  dataset.require({uint8, int32, int64, uint64, fp32, fp64, fp16, bf16}, dataset.dims().size(), "");
  return dataset.size() * element_bytes(*dataset.type());
}

/// On one line: names in a list; of a document, such as the plan or the deck, only its size.
std::string one_line(const std::string& text) {
  constexpr std::size_t longest = 400;
  if (text.starts_with('{') || text.starts_with('['))
    return fmt::format("text of {}", format_bytes(static_cast<std::int64_t>(text.size())));
  std::istringstream lines(text);
  std::string result;
  std::int64_t more = 0;
  for (std::string line; std::getline(lines, line);) {
    if (more > 0 || result.size() + line.size() > longest)
      ++more;
    else
      result += (result.empty() ? "" : ", ") + line;
  }
  return more == 0 ? result : fmt::format("{} and {} more", result, more);
}

std::string scalar_text(const hdf5::Dataset& dataset) {
  if (dataset.is_text()) return one_line(dataset.read_text());
  using enum DType;
  dataset.require({uint8, int32, int64, uint64, fp32, fp64}, 0, "a scalar");
  if (dataset.type() == fp32 || dataset.type() == fp64) {
    double value = 0;
    dataset.read(0, 1, &value);
    return fmt::format("{:.9g}", value);
  }
  if (dataset.type() == uint64) {
    std::uint64_t value = 0;
    dataset.read(0, 1, &value);
    return fmt::format("{}", value);
  }
  std::int64_t value = 0;
  dataset.read(0, 1, &value);
  return fmt::format("{}", value);
}

/// Returns one line per dataset of a top-level group: the value of a scalar, shape and bytes of an array.
std::string group_text(const hdf5::File& file, const std::string& group) {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  std::string lines;
  walk(file, group, [&](const std::string& path, hdf5::ObjectKind kind) {
    if (kind != hdf5::ObjectKind::dataset) return;
    const hdf5::Dataset dataset = file.dataset(path);
    const std::string name = path.substr(group.size() + 1);
    if (dataset.dims().empty()) {
      lines += fmt::format("  {:<32} {}\n", name, scalar_text(dataset));
      return;
    }
    elements += dataset.size();
    bytes += bytes_of(dataset);
    lines += fmt::format("  {:<32} {:<8} {:<18} {:>10}\n", name, dataset.type_name(), shape_of(dataset),
                         format_bytes(bytes_of(dataset)));
  });
  const std::string sum =
      elements == 0 ? "" : fmt::format(": {} elements, {}", elements, format_bytes(bytes));
  return fmt::format("{}{}\n{}", group.substr(1), sum, lines);
}

/// Returns a line of rates from the loss scaler's counters; "" for files of builds without them.
std::string scaler_rates(const hdf5::File& file) {
  if (!file.exists("/scaler/recent_noted")) return "";
  const auto number = [&file](const char* name) {
    const hdf5::Dataset dataset = file.dataset(std::string("/scaler/") + name);
    dataset.require({DType::int64, DType::uint64, DType::fp64}, 0, "a scalar");
    double value = 0;
    dataset.read(0, 1, &value);
    return value;
  };
  constexpr double ring = 1000;
  const double recent = std::min(number("recent_noted"), ring);
  const double applied = number("applied");
  const std::string norm =
      applied > 0 ? fmt::format("; mean gradient norm {:.4g}", number("gradient_norm_sum") / applied) : "";
  return fmt::format("  {:.3g} % of all steps overflowed, {:.3g} % of the last {:.0f}{}\n",
                     100 * number("overflows") / std::max(number("steps"), 1.0),
                     100 * number("recent_overflows") / std::max(recent, 1.0), recent, norm);
}

std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string result;
  for (std::string line; std::getline(lines, line);) result += line.empty() ? "\n" : "  " + line + "\n";
  return result;
}

/// Escapes what terminals follow: the names and texts in a file may be a stranger's.
std::string printable_lines(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    result += printable(text.substr(0, end), end);
    if (end < text.size()) result += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

}  // namespace

bool looks_like_checkpoint(const std::string& path) {
  return kind_of_file(path).has_value();
}

std::string describe_checkpoint(RankGroup& ranks, const std::string& path) {
  const CheckpointReader reader(ranks, path, ReadableKinds::all);
  const CheckpointHeader& header = reader.header();
  const hdf5::File file = hdf5::File::open(path);
  std::string text = fmt::format("{}: {} {}, digest verified\n", path, format_of(header.kind).name,
                                 file.integer_attribute("/", "version"));
  text += fmt::format("  step {}, created {} by Mylos {} on {} rank{}, {}\n", header.step, header.created,
                      header.code_version, header.world_size, header.world_size == 1 ? "" : "s",
                      format_bytes(static_cast<std::int64_t>(std::filesystem::file_size(path))));
  for (const hdf5::Child& child : file.children("/")) {
    if (child.kind == hdf5::ObjectKind::group) text += group_text(file, "/" + child.name);
    if (child.name == "scaler") text += scaler_rates(file);
  }
  return printable_lines(text + "deck\n" + indented(header.deck));
}

}  // namespace mylos
