// mylos report RUN... [--out FILE] [--watch [SECONDS]]: one page about the runs in these folders, or about a
// sweep.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <thread>

#include "commands.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/file_text.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/version.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "report/report_page.hpp"
#include "report/run_folder.hpp"
#include "report/run_report.hpp"
#include "report/sweep_folder.hpp"
#include "report/sweep_report.hpp"

namespace mylos::app {
namespace {

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[64];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts);
  return {text, length};
}

/// Adds the folder to the label of runs that have the same name.
void label(ordered_json& runs) {
  for (ordered_json& run : runs) {
    const auto same = std::count_if(runs.begin(), runs.end(),
                                    [&](const ordered_json& other) { return other["name"] == run["name"]; });
    run["label"] = same > 1 ? run["folder"] : run["name"];
  }
}

/// An existing page is overwritten; a checkpoint or a table of a run is not. Reading something other than a
/// file might block forever.
void require_no_other_file(const std::string& path) {
  std::error_code failure;
  const auto there = std::filesystem::status(path, failure);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    fail_input(errors::not_a_file,
               "--out {}: exists and is not a file; name another, or \"-\" for standard output",
               printable(path, 300));
  }
  constexpr std::string_view begin = "<!DOCTYPE html>";
  if (!std::filesystem::exists(there)) return;
  const std::string found = file_text(path, begin.size());
  if (!found.empty() && found != begin)
    fail_input(errors::already_exists,
               "--out {}: exists and is not a page of `mylos report`; give another name",
               printable(path, 300));
}

constexpr std::size_t max_runs = 12;  // more curves are hard to distinguish

struct Page {
  std::string text = {};
  bool any_runs_on = false;
};

std::string page_text(std::int64_t reload_s, const char* contents, ordered_json document) {
  return report_page({{"format", "mylos-report"},
                      {"version", 1},
                      {"code_version", code_version()},
                      {"written", time_now()},
                      {"reload_s", reload_s},
                      {contents, std::move(document)}});
}

Page make_sweep_page(const std::string& folder, std::int64_t watch_s) {
  Report report = report_of_sweep(folder);
  Page page{.any_runs_on = report.progress == RunProgress::running};
  page.text = page_text(page.any_runs_on ? watch_s : 0, "sweep", std::move(report.document));
  return page;
}

Page make_page(const std::vector<std::string>& folders, std::int64_t watch_s) {
  if (is_sweep(folders.front())) return make_sweep_page(folders.front(), watch_s);
  const ReportBounds bounds = bounds_for(folders.size());
  ordered_json runs = ordered_json::array();
  Page page;
  for (const std::string& folder : folders) {
    Report report = report_of(folder, bounds);
    page.any_runs_on = page.any_runs_on || report.progress == RunProgress::running;
    runs.push_back(std::move(report.document));
  }
  label(runs);
  page.text = page_text(page.any_runs_on ? watch_s : 0, "runs", std::move(runs));
  return page;
}

ExitCode print_page(const std::vector<std::string>& folders, std::int64_t watch_s) {
  if (watch_s > 0)
    fail_input(errors::arguments_conflict, "--out - prints one page; leave out --watch, or name a file");
  std::string text = make_page(folders, 0).text;
  if (text.ends_with('\n')) text.pop_back();
  standard_output(0).line(text);
  return ExitCode::done;
}

/// Two curves of one run would look like agreement.
void require_another(const std::vector<std::string>& folders, const std::string& folder,
                     const std::string& path) {
  for (const std::string& before : folders) {
    std::error_code failure;
    if (!std::filesystem::equivalent(before, folder, failure) || failure) continue;
    fail_input(errors::arguments_conflict, "{}: is the run in {}, and is given twice; name each run once",
               printable(path, 300), printable(before, 300));
  }
}

/// A sweep, or runs.
std::vector<std::string> open_folders(const std::vector<std::string>& paths) {
  std::vector<std::string> folders;
  for (const std::string& path : paths) {
    if (!is_sweep(path)) {
      std::string folder = open_run_folder(path);
      require_another(folders, folder, path);
      folders.push_back(std::move(folder));
      continue;
    }
    if (paths.size() > 1)
      fail_input(errors::arguments_conflict,
                 "{}: is the folder of a sweep, and a page shows one sweep; name it alone, or the folders of "
                 "members as runs",
                 printable(path, 300));
    folders.push_back(path);
  }
  return folders;
}

}  // namespace

ExitCode report_command(const ReportArguments& arguments) {
  if (size_of_start() > 1)
    fail_input(errors::wrong_rank_count, "mylos report runs on one rank; start it without mpirun");
  if (arguments.runs.size() > max_runs)
    fail_input(errors::extra_argument, "a page shows at most {} runs, and {} are given", max_runs,
               arguments.runs.size());
  const std::vector<std::string> folders = open_folders(arguments.runs);
  if (arguments.output == "-") return print_page(folders, arguments.watch_s);
  std::string path = arguments.output;
  if (path.empty()) path = folders.size() == 1 ? folders.front() + "/report.html" : "report.html";
  require_no_other_file(path);

  const Output output = standard_output(0);
  const auto write = [&] {
    Page page = make_page(folders, arguments.watch_s);
    publish_text(path, page.text);
    return page;
  };
  Page page = write();
  output.line(fmt::format("{} ({})", printable(path, 300),
                          format_bytes(static_cast<std::int64_t>(page.text.size()))));
  if (arguments.watch_s == 0) return ExitCode::done;
  if (page.any_runs_on)
    output.line(fmt::format("written again every {} s until the run ends", arguments.watch_s));
  while (page.any_runs_on) {
    std::this_thread::sleep_for(std::chrono::seconds(arguments.watch_s));
    page = write();
  }
  output.line("no run continues: the page is complete");
  return ExitCode::done;
}

}  // namespace mylos::app
