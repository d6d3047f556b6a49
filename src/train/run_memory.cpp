// Which list of operations a run takes: the one that it is given, that of its checkpoint, or a new one. Rank
// 0 chooses, all ranks take the same.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "mylos/train/product_choice.hpp"
#include "mylos/train/run.hpp"
#include "mylos/train/shared_plan.hpp"

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

std::string Run::chosen_list(const MemoryProblem& problem, const CheckpointReader* saved,
                             ProductEngines& before) const {
  const std::function<void(const std::string&)>& line = request_.output.line;
  if (saved != nullptr) before = engines_of(*saved);
  if (const std::string& file = request_.plan_file; !file.empty())
    return earlier_plan(problem, parse_plan(text_of_file(file), file), file, line);
  if (saved != nullptr) {
    std::string reason = difference_to(*saved, options_, problem.place);
    if (reason.empty()) {
      try {
        return earlier_plan(problem, parse_plan(saved->text("/plan/list"), "it"), "it", line);
      } catch (const Error& error) {
        reason = error.what();
      }
    }
    line(fmt::format("the plan of the checkpoint is made anew: {}", reason));
  }
  return new_plan(problem, before, line);
}

void Run::plan_memory(const CheckpointReader* saved) {
  RankGroup& ranks = communicator_->ranks();
  const MemoryProblem problem = shared_problem(options_, *gemm_, ranks, data_.get());
  const std::string source = request_.plan_file.empty() ? "the plan of rank 0" : request_.plan_file;
  ProductEngines before;
  memory_ = share_plan(problem, ranks, source, [&] { return chosen_list(problem, saved, before); });
  if (const std::string note = rounding_note(before, memory_->engines); !note.empty())
    request_.output.line(note);
}

void Run::note_plan() {
  state_.gemm_engine = gemm_->name();
  state_.micro_batch = plan_.micro_batch;
  state_.arena_bytes = static_cast<std::int64_t>(trainer_->model().activation_bytes());
  state_.rank_bytes = static_cast<std::int64_t>(memory_->rank_bytes());
  state_.operations = plan_json(memory_->statement.cost, memory_->plan, memory_->engines);
}

}  // namespace mylos
