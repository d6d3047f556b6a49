#include "mylos/train/progress.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/units.hpp"

namespace mylos {
namespace {

constexpr std::uint64_t bar_width = 24;

std::string bar(std::uint64_t done, std::uint64_t total) {
  const std::uint64_t filled = total == 0 ? bar_width : std::min(bar_width, done * bar_width / total);
  std::string text;
  for (std::uint64_t i = 0; i < bar_width; ++i) text += i < filled ? "█" : "░";
  return text;
}

}  // namespace

std::string progress_line(const HistoryRow& row, std::uint64_t total_steps, double remaining_s) {
  const StepRecord& record = row.record;
  return fmt::format(
      "step {}/{}  epoch {:.2f}  loss {:.4f}  lr {:.2e}  |g| {:.3g}  scale {:g}  {:.0f} samples/s  "
      "ETA {}{}",
      record.step, total_steps, row.epoch, record.loss, record.lr, record.gradient_norm, record.scale,
      row.samples_per_s, format_duration(remaining_s), record.overflow != 0 ? "  skipped" : "");
}

void Progress::step(const HistoryRow& row, double remaining_s) const {
  const std::string line = progress_line(row, total_steps_, remaining_s);
  if (output_.is_terminal) {
    output_.live(fmt::format("{} {}", bar(row.record.step, total_steps_), line));
  } else {
    output_.line(line);
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
