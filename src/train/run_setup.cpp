// How a run is put together: data, model, plan, restart.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "mylos/base/units.hpp"
#include "mylos/checkpoint/folder.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/model/make_chain.hpp"
#include "mylos/train/agreed_kernels.hpp"
#include "mylos/train/plan_document.hpp"
#include "mylos/train/run.hpp"
#include "mylos/train/run_check.hpp"

namespace mylos {
namespace {

constexpr const char* written_by_us = "# Every key with its value. Each start of the run writes this file.";

/// False where a file of this name is somebody else's: that stays as it is.
bool write_resolved(const std::string& path, const std::string& deck) {
  std::string first_line;
  if (std::ifstream before(path); std::getline(before, first_line) && first_line != written_by_us)
    return false;
  std::ofstream file(path, std::ios::trunc);
  file << written_by_us << '\n' << deck << std::flush;
  if (!file) fail_run("{}: cannot be written: {}", path, std::strerror(errno));
  return true;
}

}  // namespace

Run::Run(RunRequest request, MPI_Comm ranks)
    : request_(std::move(request)),
      options_(request_.deck.options),
      communicator_(make_communicator(ranks, options_.communication)) {
  const KernelOptions kernels = agreed_kernels(options_.kernels, communicator_->ranks());
  run_on_all(communicator_->ranks(), [&] { gemm_ = make_gemm_engine(kernels); });
  if (kernels != options_.kernels) {
    request_.output.line(
        fmt::format("the ranks' processors differ: all compute by {}", describe_instructions()));
  }
  run_on_all(communicator_->ranks(), [this] { open_data(); });
  require_same_data();
  run_on_all(communicator_->ranks(), [this] {
    position_ = {.epochs = data_->epochs(),
                 .total = run_length(options_, data_->epochs()),
                 .most_of_start = request_.stop_after};
    require_rules_apply(make_chain(options_.model, options_.precision, options_.run.seed, false),
                        options_.precision);
  });

  std::optional<CheckpointReader> saved;
  choose_start(saved);
  if (lock_) lock_->name_holder(false);
  build_trainer();
  checkpoints_ = std::make_unique<RunCheckpoints>(
      options_.checkpoint, options_.run.folder, *communicator_,
      RunCheckpoints::Listener{.note = [this](const std::string& line) { log_->progress().note(line); },
                               .trouble = [this](const Error& error) { meet_trouble(error); }});
  if (saved) restore(*saved);
  const EvaluationOptions evaluating{trainer_->model().chain().input_type(), plan_.micro_batch,
                                     communicator_->rank(), communicator_->size()};
  evaluations_ =
      std::make_unique<RunEvaluations>(*data_, state_.normalizer, evaluating, options_.run.evaluate_every);
  note_plan();
  open_folder();
  prepare_checkpoints();

  const DType type = trainer_->model().chain().input_type();
  const TrainingReader reading{.type = type,
                               .micro_batch = options_.data.micro_batch,
                               .rank = communicator_->rank(),
                               .ranks = communicator_->size(),
                               .ranks_on_node = communicator_->ranks().ranks_on_node(),
                               .first_position = position_.samples()};
  run_on_all(communicator_->ranks(), [&] { reader_ = data_->training_batches(state_.normalizer, reading); });
  StopSources stop = request_.stop;
  if (communicator_->rank() == 0) {  // one look for all
    stop.file = stop_file();
    stop.walltime_s = static_cast<double>(options_.run.walltime_s);
  }
  stop_ = StopRequests(std::move(stop));
  batches_ = std::make_unique<StagedBatches>(*reader_, Staging(trainer_->model().chain(), plan_.micro_batch));
  clock_.start();
}

void Run::open_data() {
  data_ = open_run_data(options_);
  data_->complete(options_.model);
  plan_ = make_step_plan(options_.data.batch, options_.data.micro_batch, communicator_->rank(),
                         communicator_->size());
  state_.data_identity = data_->identity();
  state_.vocabulary = data_->vocabulary();
}

/// A restart goes on with the checkpoint's, which is read later.
void Run::choose_normalizer(bool restarts) {
  run_on_all(communicator_->ranks(), [&] {
    state_.normalizer = restarts ? data_->room_for_normalizer() : data_->normalizer(request_.output.line);
  });
}

/// Before anything is exchanged whose size depends on the data.
void Run::require_same_data() {
  std::string own = data_->identity();
  for (const DataPart part : {DataPart::train, DataPart::validation, DataPart::test})
    own += data_->has(part) ? fmt::format(" {}", data_->samples(part)) : " none";
  const std::string first = broadcast_text(communicator_->ranks(), own);
  run_on_all(communicator_->ranks(), [&] {
    if (own != first) {
      fail_input("{} holds other data here than on rank 0; all ranks must see the same files",
                 options_.data.train);
    }
  });
}

void Run::build_trainer() {
  Chain chain = make_chain(options_.model, options_.precision, options_.run.seed, plan_.accumulates);
  trainer_ = std::make_unique<Trainer>(options_, std::move(chain), *gemm_, *communicator_, plan_,
                                       position_.total, memory_->plan.schedule);
  state_.seed = options_.run.seed;
  const std::string history = communicator_->rank() == 0 ? options_.run.folder + "/history.csv" : "";
  log_ = std::make_unique<RunLog>(request_.output, history, position_.total);
}

void Run::open_folder() {
  const std::vector<std::string> aside =
      set_aside_newer(communicator_->ranks(), options_.run.folder, position_.step > 0 ? position_.step : -1);
  const std::string resolved = options_.run.folder + "/resolved.toml";  // deck.toml is the user's
  std::vector<std::string> notes;
  run_on_all(communicator_->ranks(), [&] {
    if (communicator_->rank() != 0) return;
    std::error_code failure;
    std::filesystem::create_directories(options_.run.folder + "/checkpoints", failure);
    if (failure) fail_run("{}/checkpoints: cannot be made: {}", options_.run.folder, failure.message());
    if (const std::string before = position_.step == 0 ? log_->begin_anew() : ""; !before.empty())
      notes.push_back(
          fmt::format("the history of an earlier start, which has no checkpoint, is now {}", before));
    if (!write_resolved(resolved, request_.deck.resolved))
      notes.push_back(resolved + " was not written by a run: left as it is");
    std::ofstream plan(options_.run.folder + "/plan.json", std::ios::trunc);
    plan << plan_document(request_.deck.options.run.name, *memory_) << std::flush;
    if (!plan) {
      fail_run("{}: the run's folder cannot be made or written: {}", options_.run.folder,
               std::strerror(errno));
    }
    std::filesystem::remove(options_.run.folder + "/requeue", failure);
    if (std::filesystem::remove(stop_file(), failure))  // meant for an earlier start
      notes.push_back(fmt::format("removed {}, which was there before this start", stop_file()));
  });
  if (position_.step == 0 && request_.restart == "auto") {
    request_.output.line(
        fmt::format("no valid checkpoint in {}/checkpoints: the run starts afresh", options_.run.folder));
  }
  if (!aside.empty()) {
    request_.output.line(
        fmt::format("moved to {}/checkpoints/superseded: {}", options_.run.folder, fmt::join(aside, ", ")));
  }
  for (const std::string& note : notes) request_.output.line(note);
  request_.output.line(fmt::format("{}: {} parameters, {} rank{}, batch {}, {} steps; products by {}, {}",
                                   options_.run.name, trainer_->model().chain().parameter_count(),
                                   communicator_->size(), communicator_->size() == 1 ? "" : "s",
                                   options_.data.batch, position_.total, gemm_->name(),
                                   describe_instructions()));
  request_.output.line(fmt::format("memory: {} of {} per rank, {} of them activations; {}",
                                   format_bytes(static_cast<std::int64_t>(memory_->rank_bytes())),
                                   format_bytes(static_cast<std::int64_t>(memory_->budget)),
                                   format_bytes(static_cast<std::int64_t>(memory_->arena_bytes())),
                                   describe(*memory_)));
}

}  // namespace mylos
