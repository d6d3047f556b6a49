#include "options/options.hpp"

#include "launch/usage.hpp"

namespace mylos::app {
namespace {

constexpr const char* usual_watch_s = "10";
constexpr std::int64_t longest_watch_s = 86400;

}  // namespace

void add_report(CLI::App& app, ReportArguments& arguments, Command& command) {
  CLI::App* report =
      app.add_subcommand("report", "Write one HTML page about runs or a sweep, which needs no network");
  report
      ->add_option("runs", arguments.runs,
                   "Folders of complete, running or crashed runs, which are overlaid; or of one sweep")
      ->required();
  report->add_option("--out", arguments.output,
                     "The page to write (default: report.html, in the folder of a single run, or the current "
                     "one); -: print it");
  report
      ->add_option("--watch", arguments.watch_s,
                   "Rewrite it every this many seconds (default: 10) while a run continues; the page then "
                   "reloads itself")
      ->expected(0, 1)
      ->default_str(usual_watch_s)
      ->check(integer_from(1, longest_watch_s));
  report->callback([&] { command = [&] { return report_command(arguments); }; });
}

}  // namespace mylos::app
