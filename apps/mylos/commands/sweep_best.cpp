// mylos sweep --best N FOLDER [--out DECKS]: the decks of the best members of a sweep.
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "commands/replaced_file.hpp"
#include "launch/standard_output.hpp"
#include "launch/start.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/text.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/io/files/atomic_publish.hpp"
#include "report/deck_lines.hpp"
#include "report/sweep_folder.hpp"

namespace mylos::app {
namespace {

void require_sweep(const std::string& folder) {
  std::error_code failure;
  if (!std::filesystem::exists(folder, failure))
    fail_input(errors::no_such_folder, "{}: there is no such folder{}", printable(folder, 300),
               current_folder_note(folder));
  if (!std::filesystem::is_directory(folder, failure))
    fail_input(errors::not_a_folder, "{}: is a file; name the sweep's folder", printable(folder, 300));
  if (!is_sweep(folder))
    fail_input(errors::wrong_format, "{}: is not a sweep's folder: it has neither sweep.json nor sweep.csv",
               printable(folder, 300));
}

/// Two of the printed decks must not meet in one folder, nor in that of the member.
std::string folder_for(const StoredSweep& sweep, const StoredMember& member) {
  const std::string base = DeckLines(sweep.deck).value("run.folder");
  return fmt::format("{}-member-{:04}", base.empty() ? "runs/" + sweep.name : base, member.number);
}

/// The member's own deck: values of other keys may depend on those that the sweep varies.
std::string deck_of(const std::string& folder, const StoredSweep& sweep, const StoredMember& member) {
  const std::string file = folder_of_member(folder, member.number) + "/resolved.toml";
  const std::string own_folder = "run.folder=" + folder_for(sweep, member);
  return read_deck(read_deck_file(file), file, {own_folder}).resolved;
}

}  // namespace

ExitCode print_best_decks(const std::string& folder, std::int64_t count, const std::string& output) {
  if (size_of_start() > 1)
    fail_input(errors::wrong_rank_count, "mylos sweep --best runs on one rank; start it without mpirun");
  require_sweep(folder);
  ordered_json notes = ordered_json::array();
  const StoredSweep sweep = read_sweep(folder, notes);
  const std::vector<std::size_t> ranking = ranking_of(sweep);
  if (count > static_cast<std::int64_t>(ranking.size())) {
    std::string problems;
    for (const ordered_json& note : notes) problems += "; " + note.get<std::string>();
    fail_input(errors::bad_argument,
               "--best {}: of the {} members of {}, {} have a value of {} and have not failed{}", count,
               sweep.members.size(), printable(folder, 300), ranking.size(),
               sweep.metric.empty() ? "the metric" : printable(sweep.metric), printable(problems, 1000));
  }
  if (!output.empty()) make_folder(output);
  const Output lines = standard_output(0);
  for (std::int64_t i = 0; i < count; ++i) {
    const StoredMember& member = sweep.members[ranking[static_cast<std::size_t>(i)]];
    std::string values;
    for (std::size_t key = 0; key < sweep.keys.size(); ++key)
      values += fmt::format(", {} = {}", sweep.keys[key].key, printable(member.values[key], 300));
    const std::string head =
        fmt::format("# {} of {}: {} = {}{}{}", i + 1, count, printable(sweep.metric), *member.value,
                    member.best_step ? fmt::format(" at step {}", *member.best_step) : "",
                    fmt::format(", member {:04} of {}{}", member.number, printable(folder, 300), values));
    std::string deck = deck_of(folder, sweep, member);
    if (deck.ends_with('\n')) deck.pop_back();
    if (output.empty()) {
      lines.line(head);
      lines.line(deck);
    } else {
      const std::string file = fmt::format("{}/best-{}.toml", output, i + 1);
      publish_text(file, head + '\n' + deck + '\n');
      lines.line(fmt::format("{}: {}", file, head.substr(2)));
    }
  }
  return ExitCode::done;
}

}  // namespace mylos::app
