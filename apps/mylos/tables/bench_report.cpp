#include "tables/bench_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "mylos/comm/ranks/collective_error.hpp"

namespace mylos::app {
namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (file << text << std::flush) return;
  fail_run(ErrorId::cannot_write, "{}: cannot be written: {}", path, std::strerror(errno));
}

}  // namespace

BenchFile::BenchFile(RankGroup& ranks, const std::string& path, const std::vector<std::string>& columns)
    : ranks_(ranks) {
  run_on_all(ranks_, [&] {
    if (path.empty() || ranks_.rank() != 0) return;
    file_.emplace(path);
    write(file_->temporary(), "");
  });
  add(columns);
}

void BenchFile::add(const std::vector<std::string>& cells) {
  text_ += fmt::format("{}\n", fmt::join(cells, ","));
}

void BenchFile::publish() {
  run_on_all(ranks_, [&] {
    if (!file_) return;
    write(file_->temporary(), text_);
    file_->publish();
  });
}

}  // namespace mylos::app
