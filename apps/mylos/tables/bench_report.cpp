#include "tables/bench_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos::app {
BenchFile::BenchFile(RankGroup& ranks, const std::string& path, const std::vector<std::string>& columns)
    : ranks_(ranks) {
  run_on_all(ranks_, [&] {
    if (!path.empty() && ranks_.rank() == 0) file_.emplace(path);
  });
  add(columns);
}

void BenchFile::add(const std::vector<std::string>& cells) {
  text_ += fmt::format("{}\n", fmt::join(cells, ","));
}

void BenchFile::publish() {
  run_on_all(ranks_, [&] {
    if (!file_) return;
    file_->file().append(text_);
    file_->publish();
  });
}

}  // namespace mylos::app
