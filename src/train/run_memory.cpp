// Which list of operations a run takes: the one that it is given, that of its checkpoint, or a new one. Rank
// 0 chooses, all ranks take the same.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "mylos/train/product_choice.hpp"
#include "mylos/train/shared_plan.hpp"
#include "run_start.hpp"

namespace mylos {
namespace {

constexpr std::uintmax_t longest_plan_file = std::uintmax_t{16} << 20;

std::string text_of_file(const std::string& path) {
  std::error_code failure;
  if (!std::filesystem::is_regular_file(path, failure)) fail_input("{}: there is no such file", path);
  if (std::filesystem::file_size(path, failure) > longest_plan_file)
    fail_input("{}: is no plan: longer than {} bytes", path, longest_plan_file);
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// Why the plan in a checkpoint is not that of this start; empty where it may be.
std::string difference_to(const CheckpointReader& saved, const Options& options, const RunPlace& place) {
  if (!saved.exists("/plan/list")) return "the checkpoint has none";
  if (saved.header().world_size != place.ranks) {
    return fmt::format("it was made for {} ranks", saved.header().world_size);
  }
  const Deck written = read_stored_deck(saved.header().deck, saved.path());
  return written.options.memory == options.memory ? "" : "the deck's [memory] has changed";
}

}  // namespace

std::string RunStart::chosen_list(const MemoryProblem& problem, ProductEngines& before) const {
  if (saved) before = engines_of(*saved);
  if (const std::string& file = request.plan_file; !file.empty())
    return earlier_plan(problem, parse_plan(text_of_file(file), file), file, request.output.line);
  if (saved) {
    std::string reason = difference_to(*saved, parts.options, problem.place);
    if (reason.empty()) {
      try {
        return earlier_plan(problem, parse_plan(saved->text("/plan/list"), "it"), "it", request.output.line);
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    line(fmt::format("the plan of the checkpoint is made anew: {}", reason));
  }
  return new_plan(problem, before, request.output.line);
}

void RunStart::plan_memory() {
  const MemoryProblem problem = shared_problem(parts.options, *parts.gemm, ranks(), data.get());
  const std::string source = request.plan_file.empty() ? "the plan of rank 0" : request.plan_file;
  ProductEngines before;
  parts.memory = share_plan(problem, ranks(), source, [&] { return chosen_list(problem, before); });
  if (const std::string note = rounding_note(before, parts.memory.engines); !note.empty()) line(note);
  if (!parts.options.run.reproducible) return;
  if (const std::string note = thread_note(before, parts.memory.engines); !note.empty()) line(note);
}

}  // namespace mylos
