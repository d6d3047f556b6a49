#include "options/report_options.hpp"

#include "launch/usage.hpp"

namespace mylos::app {
namespace {

constexpr const char* usual_watch_s = "10";
constexpr std::int64_t longest_watch_s = 86400;

}  // namespace

void add_report(CLI::App& app, ReportArguments& arguments, std::function<ExitCode()>& command) {
  CLI::App* report = app.add_subcommand(
      "report", "Make one HTML page, which needs no network, of what lies in the folders of runs");
  report
      ->add_option("runs", arguments.runs,
                   "Folders of runs, done, going on or crashed; several are laid over each other")
      ->required();
  report->add_option(
      "--out", arguments.output,
      "The page to write (default: report.html, in the folder of the only run, or here); -: print it");
  report
      ->add_option(
          "--watch", arguments.watch_s,
          "Write it again every so many seconds (default: 10) as long as a run goes on; the page then "
          "loads itself anew")
      ->expected(0, 1)
      ->default_str(usual_watch_s)
      ->check(integer_from(1, longest_watch_s));
  report->callback([&] { command = [&] { return report_command(arguments); }; });
}

}  // namespace mylos::app
