#include "bench_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "mylos/base/units.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/io/system_memory.hpp"

namespace mylos::app {
namespace {

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (file << text << std::flush) return;
  fail_run("{}: cannot be written: {}", path, std::strerror(errno));
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

void require_room(RankGroup& ranks, std::int64_t bytes, std::string_view what) {
  const int on_node = ranks.ranks_on_node();
  run_on_all(ranks, [&] {
    const std::int64_t on_host = available_host_memory() / on_node;
    const std::int64_t available = std::min(on_host, free_device_memory().value_or(on_host));
    if (bytes <= available) return;
    throw Error(
        ExitCode::does_not_fit,
        fmt::format("{} would take {} of memory on every rank, and there are {} for each of the {} of "
                    "this node; ask for less",
                    what, format_bytes(bytes), format_bytes(available), on_node));
  });
}

double largest_of(RankGroup& ranks, double own) {
  std::vector<double> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&own, all.data(), sizeof(own));
  return *std::max_element(all.begin(), all.end());
}

std::string format_seconds(double seconds) {
  return seconds < 1 ? fmt::format("{:.1f} ms", 1e3 * seconds) : fmt::format("{:.2f} s", seconds);
}

DType type_named(std::string_view name) {
  for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
    if (name_of(type) == name) return type;
  }
  fail_input("'{}' is no type in which networks compute; they are fp32, bf16 and fp16", name);
}

}  // namespace mylos::app
