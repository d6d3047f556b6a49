#include "mylos/train/history/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "mylos/base/errors/units.hpp"

namespace mylos {
namespace {

constexpr std::size_t bar_columns = 24;

std::string bar(std::uint64_t done, std::uint64_t total) {
  const std::uint64_t filled = total == 0 ? bar_columns : std::min(bar_columns, done * bar_columns / total);
  std::string text;
  for (std::uint64_t i = 0; i < bar_columns; ++i) text += i < filled ? "█" : "░";
  return text;
}

/// A field of a progress line. Its text is ASCII, so that bytes equal terminal columns.
struct Field {
  enum Name : std::uint8_t { step, epoch, loss, lr, norm, scale, speed, share, remaining, skipped };
  Name name;
  std::string text;
};

/// The fields that a narrow terminal omits, in order of omission.
constexpr std::array dispensable{Field::scale, Field::norm,    Field::lr,   Field::share,
                                 Field::epoch, Field::skipped, Field::speed};

std::string describe(const RunSpeed& speed) {
  return speed.tokens_per_s > 0 ? fmt::format("{:.0f} tokens/s", speed.tokens_per_s)
                                : fmt::format("{:.0f} samples/s", speed.samples_per_s);
}

std::vector<Field> fields_of(const HistoryRow& row, std::uint64_t total_steps, double remaining_s) {
  const StepRecord& record = row.record;
  std::vector<Field> fields{{Field::step, fmt::format("step {}/{}", record.step, total_steps)},
                            {Field::epoch, fmt::format("epoch {:.2f}", row.epoch)},
                            {Field::loss, fmt::format("loss {:.4f}", record.loss)},
                            {Field::lr, fmt::format("lr {:.2e}", record.lr)},
                            {Field::norm, fmt::format("|g| {:.3g}", record.gradient_norm)},
                            {Field::scale, fmt::format("scale {:g}", record.scale)},
                            {Field::speed, describe(row.speed)},
                            {Field::remaining, "ETA " + format_duration(remaining_s)}};
  if (const double share = row.speed.model_flop_utilisation; share > 0)
    fields.insert(fields.end() - 1, {Field::share, fmt::format("{:.3g} % of peak", 100 * share)});
  if (record.overflow != 0) fields.push_back({Field::skipped, "skipped"});
  return fields;
}

std::string line_of(const std::vector<Field>& fields) {
  std::string line;
  for (const Field& field : fields) line += (line.empty() ? "" : "  ") + field.text;
  return line;
}

}  // namespace

std::string progress_line(const HistoryRow& row, std::uint64_t total_steps, double remaining_s) {
  return line_of(fields_of(row, total_steps, remaining_s));
}

std::string live_line(const HistoryRow& row, std::uint64_t total_steps, double remaining_s, int columns) {
  // Some terminals wrap to the next line when text reaches the last column.
  const auto room = static_cast<std::size_t>(std::max(columns - 1, 0));
  std::vector<Field> fields = fields_of(row, total_steps, remaining_s);
  std::string line = line_of(fields);
  for (const Field::Name name : dispensable) {
    if (bar_columns + 1 + line.size() <= room) break;
    std::erase_if(fields, [name](const Field& field) { return field.name == name; });
    line = line_of(fields);
  }
  if (bar_columns + 1 + line.size() <= room)
    return fmt::format("{} {}", bar(row.record.step, total_steps), line);
  return line.substr(0, room);
}

void Progress::step(const HistoryRow& row, double remaining_s) const {
  if (output_.is_terminal) {
    output_.live(live_line(row, total_steps_, remaining_s, output_.columns()));
  } else {
    output_.line(progress_line(row, total_steps_, remaining_s));
  }
}

void Progress::note(const std::string& text) const {
  clear();
  output_.line(text);
}

void Progress::clear() const {
  if (output_.is_terminal) output_.live("");
}

}  // namespace mylos
