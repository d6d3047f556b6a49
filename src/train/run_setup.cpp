// How a run is put together: data, model, plan, restart.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "mylos/base/units.hpp"
#include "mylos/checkpoint/folder.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/config/difference.hpp"
#include "mylos/model/make_chain.hpp"
#include "mylos/train/plan_document.hpp"
#include "mylos/train/run.hpp"
#include "mylos/train/run_check.hpp"

namespace mylos {
namespace {

/// Keys that define the run's mathematics: a checkpoint of other values is another run.
bool fixes_the_run(const std::string& key) {
  for (const char* fixed : {"run.seed", "data.batch", "data.validation", "data.normalize", "data.shuffle",
                            "data.last_batch", "data.window"}) {
    if (key == fixed) return true;
  }
  return key.rfind("model.", 0) == 0;
}

/// Keys that may change at any restart without a word.
bool is_free(const std::string& key) {
  for (const char* section :
       {"run.", "memory.", "checkpoint.", "communication.", "kernels.", "data.train", "data.test"}) {
    if (key.rfind(section, 0) == 0 && key != "run.seed") return true;
  }
  return false;
}

}  // namespace

Run::Run(RunRequest request, MPI_Comm ranks)
    : request_(std::move(request)),
      options_(request_.deck.options),
      communicator_(make_communicator(ranks, options_.communication)) {
  gemm_ = make_gemm_engine(options_.kernels);
  run_on_all(communicator_->ranks(), [this] {
    open_data();
    total_steps_ = run_length(options_, data_->epochs());
    require_rules_apply(make_chain(options_.model, options_.precision, options_.run.seed, false),
                        options_.precision);
  });

  std::optional<std::string> checkpoint;
  if (request_.restart.empty()) {
    require_unused_folder(communicator_->ranks(), options_.run.folder);
  } else {
    const RestartChoice choice =
        find_checkpoint(communicator_->ranks(), options_.run.folder, request_.restart);
    for (const std::string& message : choice.messages) request_.output.line(message);
    checkpoint = choice.path;
  }
  std::optional<CheckpointReader> saved;
  if (checkpoint) saved.emplace(communicator_->ranks(), *checkpoint);
  plan_memory(saved ? &*saved : nullptr);
  build_trainer();
  if (saved) restore(*saved);
  note_plan();
  open_folder();
  prepare_checkpoints();

  const DType type = trainer_->model().chain().input_type();
  const TrainingReader reading{.type = type,
                               .micro_batch = options_.data.micro_batch,
                               .rank = communicator_->rank(),
                               .ranks = communicator_->size(),
                               .ranks_on_node = communicator_->ranks().ranks_on_node(),
                               .first_position = position()};
  run_on_all(communicator_->ranks(), [&] { reader_ = data_->training_batches(state_.normalizer, reading); });
  StopSources stop = request_.stop;
  if (communicator_->rank() == 0) {  // one look for all
    stop.file = stop_file();
    stop.walltime_s = static_cast<double>(options_.run.walltime_s);
  }
  stop_ = StopRequests(std::move(stop));
  batches_ = std::make_unique<StagedBatches>(*reader_, Staging(trainer_->model().chain(), plan_.micro_batch));
  started_ = logged_ = std::chrono::steady_clock::now();
}

void Run::open_data() {
  data_ = open_run_data(options_);
  data_->complete(options_.model);
  plan_ = make_step_plan(options_.data.batch, options_.data.micro_batch, communicator_->rank(),
                         communicator_->size());
  state_.normalizer = data_->normalizer();
  state_.data_identity = data_->identity();
  state_.vocabulary = data_->vocabulary();
}

void Run::build_trainer() {
  Chain chain = make_chain(options_.model, options_.precision, options_.run.seed, plan_.accumulates);
  const DType input_type = chain.input_type();
  trainer_ = std::make_unique<Trainer>(options_, std::move(chain), *gemm_, *communicator_, plan_,
                                       total_steps_, memory_->plan.schedule);
  const DataPart judge = data_->has(DataPart::validation) ? DataPart::validation : DataPart::test;
  if (data_->has(judge)) {
    evaluation_name_ = name_of(judge);
    evaluation_pass_ = data_->pass_over(
        judge, state_.normalizer,
        EvaluationOptions{input_type, plan_.micro_batch, communicator_->rank(), communicator_->size()});
  }
  state_.seed = options_.run.seed;
  const bool first = communicator_->rank() == 0;
  history_ = std::make_unique<History>(first ? options_.run.folder + "/history.csv" : "");
  progress_ = std::make_unique<Progress>(request_.output, static_cast<std::uint64_t>(total_steps_));
}

void Run::restore(const CheckpointReader& reader) {
  const std::string& path = reader.path();
  if (!reader.exists("/schedule")) {
    fail_input("{}: holds weights alone (converted); it is for eval, sample and convert, not for --restart",
               path);
  }
  reader.require_match(parameter_state(trainer_->model().parameters()));
  const Deck written = read_deck(reader.header().deck, path + ":/deck", {});
  for (const KeyDifference& difference : differing_keys(written.options, request_.deck.options)) {
    if (fixes_the_run(difference.key)) {
      fail_input("{}: {} was {} when this run began, the deck says {}; a restart cannot change it", path,
                 difference.key, difference.before, difference.after);
    }
    if (!is_free(difference.key)) {
      request_.output.line(fmt::format("changed at the restart: {} = {} (was {})", difference.key,
                                       difference.after, difference.before));
    }
  }
  if (const std::string identity = reader.text("/data/identity"); identity != state_.data_identity) {
    fail_input("{} was trained on other data than {} holds; a restart needs the same contents", path,
               options_.data.train);
  }
  state_.history.resize(static_cast<std::size_t>(reader.dims("/history/step").at(0)));
  CheckpointState state = full_state(*trainer_, state_);
  reader.read(state);
  trainer_->write_state(state_.step);
  trainer_->model().parameters().refresh_compute_weights(trainer_->execution());
  step_ = first_step_ = logged_step_ = saved_step_ = static_cast<std::int64_t>(state_.step.step);
  if (step_ > total_steps_) {
    fail_input("{} is at step {}, past the end of this run at step {}; raise run.steps or run.epochs", path,
               step_, total_steps_);
  }
  history_->resume(rows_of(state_.history), state_.step.step);
  if (!history_->tail().empty()) elapsed_before_s_ = history_->tail().back().elapsed_s;
  request_.output.line(fmt::format("restarted from {} at step {} of {}", path, step_, total_steps_));
}

void Run::open_folder() {
  set_aside_newer(communicator_->ranks(), options_.run.folder, step_ > 0 ? step_ : -1);
  run_on_all(communicator_->ranks(), [this] {
    if (communicator_->rank() != 0) return;
    std::error_code failure;
    std::filesystem::create_directories(options_.run.folder, failure);
    std::ofstream deck(options_.run.folder + "/deck.toml", std::ios::trunc);
    deck << request_.deck.resolved << std::flush;
    std::ofstream plan(options_.run.folder + "/plan.json", std::ios::trunc);
    plan << plan_document(request_.deck.options.run.name, *memory_) << std::flush;
    if (failure || !deck || !plan)
      fail_run("{}: the run's folder cannot be made or written", options_.run.folder);
    std::filesystem::remove(options_.run.folder + "/requeue", failure);
    std::filesystem::remove(stop_file(), failure);  // one that an earlier start left
  });
  request_.output.line(fmt::format("{}: {} parameters, {} rank{}, batch {}, {} steps; {} products",
                                   options_.run.name, trainer_->model().chain().parameter_count(),
                                   communicator_->size(), communicator_->size() == 1 ? "" : "s",
                                   options_.data.batch, total_steps_, gemm_->name()));
  request_.output.line(fmt::format("memory: {} of {} per rank, {} of them activations; {}",
                                   format_bytes(static_cast<std::int64_t>(memory_->rank_bytes())),
                                   format_bytes(static_cast<std::int64_t>(memory_->budget)),
                                   format_bytes(static_cast<std::int64_t>(memory_->arena_bytes())),
                                   describe(*memory_)));
}

}  // namespace mylos
