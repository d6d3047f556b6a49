#include "mylos/train/online_trainer.hpp"

#include <array>

#include "mylos/base/device/parallel_region.hpp"
#include "mylos/base/device/same_kokkos.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "mylos/base/errors/deck.hpp"
#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/runs.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/comm/ranks/mesh.hpp"
#include "mylos/comm/ranks/mpi_running.hpp"
#include "mylos/config/deck.hpp"
#include "mylos/config/deck/difference.hpp"
#include "mylos/data/run/point_weights.hpp"
#include "mylos/model/chain/chain_requirements.hpp"
#include "mylos/model/losses/make_loss.hpp"
#include "mylos/model/parameters/initial_values.hpp"
#include "mylos/optim/update/parameter_groups.hpp"
#include "mylos/optim/update/step_state.hpp"
#include "mylos/train/health/fault_replay.hpp"
#include "mylos/train/online/online_parts.hpp"
#include "mylos/train/plan/shared_plan.hpp"
#include "mylos/train/start/initial_weights.hpp"
#include "mylos/train/step/agreed_kernels.hpp"

namespace mylos {
namespace {

constexpr std::size_t online_calls = 4;  // values of OnlineCall

MPI_Comm require_started(MPI_Comm ranks) {
  require_outside_parallel_region("the constructor of OnlineTrainer");
  if (!mpi_is_running())
    fail_run(errors::bad_call,
             "MPI is not running; an OnlineTrainer must live between MPI_Init and MPI_Finalize");
  if (!Kokkos::is_initialized())
    fail_run(errors::bad_call,
             "Kokkos is not running; an OnlineTrainer must live within a Kokkos::ScopeGuard");
  if (ranks == MPI_COMM_NULL)
    fail_input(errors::bad_call, "an OnlineTrainer was given MPI_COMM_NULL: this rank does not train");
  if (!is_communicator(ranks))
    fail_input(errors::bad_call, "an OnlineTrainer was given a handle that is no communicator");
  return ranks;
}

/// What the options must say, and may not, where samples come from views.
void require_online(const Options& options) {
  const ModelOptions& model = options.model;
  if (model.type == ModelType::gpt)
    fail_input(errors::bad_value,
               "model.type = \"gpt\" learns from token files, not from views; use \"mlp\" or \"chain\"");
  if (model.inputs < 1 || model.outputs < 1) {
    fail_input(errors::missing_key, "model.inputs and model.outputs are required: the sizes of a sample");
  }
  if (!options.data.train.empty() || !options.data.test.empty()) {
    fail_input(errors::key_without_effect,
               "data.train and data.test name files, but samples come from the program; leave them out");
  }
  if (options.run.reproducible)
    fail_input(
        errors::not_reproducible,
        "run.reproducible needs samples from a data file; here the program distributes them over the ranks");
  if (options.precision.adapt)
    fail_input(errors::key_without_effect,
               "precision.adapt compares types on the samples of a data file; leave it out and set compute");
  if (options.memory.on_oom == OutOfMemory::shrink) {
    fail_input(errors::key_without_effect,
               "memory.on_oom = \"shrink\" cuts a batch into smaller micro-batches, but a step "
               "computes all samples that the program gives it at once; leave it out and give fewer samples "
               "in a step");
  }
  if (options.data.normalize != Normalize::none) {
    fail_input(errors::key_without_effect,
               "data.normalize uses the statistics of a data file; leave it out and scale the views");
  }
  if (options.data.augment.any()) {
    fail_input(errors::key_without_effect,
               "data.augment moves samples of a data file; leave it out and move them in the views");
  }
}

/// As a deck would give them: checked like one, and so that a checkpoint's deck can be read again. Options
/// set in code may have the shape of a sample in either place.
Options checked(const Options& given) {
  require_online(given);
  Options options = given;
  if (options.data.shape.empty()) options.data.shape = options.model.shape;
  Options read = read_deck(resolve(options), "the options", {}).options;
  read.model.custom_layers = given.model.custom_layers;
  read.model.custom_loss = given.model.custom_loss;
  return read;
}

/// On all ranks, or an Error: a communicator is made only by options that are in order.
Options checked_on_all(const Options& given, MPI_Comm mpi) {
  RankGroup ranks(mpi, CommunicationOptions{}.timeout_s);
  Options options;
  run_on_all(ranks, [&] { options = checked(given); });
  return options;
}

/// On all ranks the same, or an Error that names a key.
void require_same(RankGroup& ranks, const Options& options) {
  const std::string first = broadcast_text(ranks, resolve(options));
  run_on_all(ranks, [&] {
    const Options others = read_deck(first, "the options of rank 0", {}).options;
    for (const KeyDifference& difference : differing_keys(others, options)) {
      fail_input(errors::ranks_disagree,
                 "{} is {} here and {} on rank 0; options must be the same on all ranks", difference.key,
                 difference.after, difference.before);
    }
  });
}

void require_same(RankGroup& ranks, const OnlineOptions& own) {
  OnlineOptions first = own;
  ranks.broadcast(&first, sizeof(first), 0);
  run_on_all(ranks, [&] {
    if (first.input_gradients == own.input_gradients && first.reduction == own.reduction) return;
    fail_input(errors::ranks_disagree,
               "OnlineOptions differ from those on rank 0; they must be the same on all ranks");
  });
}

/// `ranks`, here and below: of those that share the batch, not samples.
std::int64_t samples_of_rank(const DataOptions& data, int ranks) {
  return data.micro_batch > 0 ? data.micro_batch : (data.batch + ranks - 1) / ranks;
}

/// A run whose every step is one full micro-batch per rank, and that stops while it writes.
void let_steps_be_full(Options& options, std::int64_t max_samples, int ranks) {
  options.data.batch = max_samples * ranks;
  options.data.micro_batch = max_samples;
  options.checkpoint.background = false;
}

}  // namespace

OnlineParts::OnlineParts(const Options& given, MPI_Comm mpi, const OnlineOptions& wanted,
                         const std::function<void(const std::string&)>& message)
    : own(wanted) {
  Options options = checked_on_all(given, require_started(mpi));
  assembly.communicator = make_communicator(mpi, options.communication);
  RankGroup& ranks = assembly.communicator->ranks();
  line = [message, rank = ranks.rank()](const std::string& text) {
    if (message && rank == 0) message(text);
  };
  require_same(ranks, options);
  require_same(ranks, own);
  run_on_all(ranks, [&] {
    const bool has_file = options.data.weights.given();
    options.model.point_weights =
        has_file ? read_point_weights(options.data, options.model.outputs) : given.model.point_weights;
  });
  require_agreed(options.model.point_weights, ranks);
  deck = resolve(options);
  if (options.mesh.is_open()) {
    fail_input(errors::keys_conflict,
               "mesh.space = \"auto\" chooses boxes for samples in files, and a program passes boxes of its "
               "own; give their numbers along the axes, as in mesh.space = [2, 2]");
  }
  const Mesh mesh(options.mesh, ranks.rank(), ranks.size());
  boxes = mesh.boxes();
  batch_ranks = mesh.batch_ranks();
  max_samples = samples_of_rank(options.data, batch_ranks);
  let_steps_be_full(options, max_samples, batch_ranks);
  assembly.engines = make_agreed_engines(options.kernels, ranks);
  run_on_all(ranks, [&] {
    if (options.rollout.any()) {
      fail_input(
          errors::keys_conflict,
          "[rollout] trains on samples of several steps, which only the files of a run have; leave the "
          "section out, or use `mylos train`");
    }
    assembly.network = plan_network(options, ranks.rank(), ranks.size(), own.input_gradients);
    const Chain& chain = assembly.network.chain;
    require_weights(chain);
    require_margins(chain, options.model);
    require_rules_apply(chain, options.precision);
    require_groups_match(chain, options.optimizer);
    require_initial_rules_apply(chain, options.model);
  });
  std::optional<InitialWeights> initial;
  if (!options.run.initial.empty()) initial.emplace(ranks, options, assembly.network.chain);
  MemoryProblem problem = shared_problem(assembly.network, *assembly.engines, ranks, nullptr);
  assembly.memory =
      share_plan(problem, ranks, "the plan of rank 0",
                 {.choose = [&](const MemoryProblem& asked) { return new_plan(asked, {}, line); }});
  run_on_all(ranks, [&] {
    assemble(assembly, options.run.steps);
    const Trainer& trainer = *assembly.trainer;
    needs = sample_needs(trainer.model().chain());
    own_loss = trainer.own_loss(own.reduction == LossReduction::mean);
    exchanges = ranks.size() > 1 && trainer.model().exchanges_in_passes();
    first_of_rank = static_cast<std::uint64_t>(mesh.batch_rank() * max_samples);
    batch.emplace(trainer.model().chain(), options.model, max_samples, first_of_rank);
    trainer.execution().fence("online trainer made");
  });
  if (boxes > 1) sharing.emplace(ranks, mesh);
  if (initial) {
    initial->load(*assembly.trainer);
    for (const std::string& text : initial->lines()) line(text);
  }
  if (const std::string note = note_on_shards(assembly.network); !note.empty()) line(note);
  if (const std::string divided = describe_mesh(assembly.network); !divided.empty())
    line("mesh.space: " + divided);
  const auto bytes = [](std::size_t count) { return format_bytes(static_cast<std::int64_t>(count)); };
  const MemoryPlan& memory = assembly.memory;
  line(fmt::format(
      "{}: {} parameters, {} rank{}, at most {} samples each in a step; {} GEMMs; {} of memory on each "
      "rank, {} of them activations",
      options.run.name, memory.statement.parameters, ranks.size(), ranks.size() == 1 ? "" : "s", max_samples,
      assembly.engines->gemm().name(), bytes(memory.statement.network_bytes() + memory.arena_bytes()),
      bytes(memory.arena_bytes())));
}

StepReport OnlineParts::step() {
  if (diverged) throw *diverged;
  agree_on_call(OnlineCall::step, batch->samples());
  end = {};
  Trainer& trainer = *assembly.trainer;
  const ModelOptions& model = assembly.network.options.model;
  if (std::holds_alternative<losses::Custom>(model.loss) && model.custom_loss == nullptr)
    trainer.bring_error(missing_custom_loss());
  if (trainer.passes().is_forward_done || trainer.passes().backward > 0) {
    trainer.bring_error(Error(ExitCode::bad_input, errors::bad_call,
                              "step() between forward() and apply(); the passes since the last apply() are "
                              "discarded. End a step by one of the two"));
    trainer.discard_passes();
  }
  if (sharing) refuse_batch_together();
  trainer.step(*batch, false);
  return finish_step();
}

/// Ranks that share samples exchange halos in the passes of a step, which all of them or none must make.
void OnlineParts::refuse_batch_together() {
  Trainer& trainer = *assembly.trainer;
  assembly.communicator->synchronize(trainer.execution());
  const std::optional<Error> wrong = error_thrown_by([&] { batch->require(); });
  const std::optional<SampleGroup::Refusal> refusal =
      sharing->find_refusal("step()", batch->samples(), wrong);
  if (!refusal) return;
  batch->clear();
  if (wrong) trainer.bring_error(*wrong);
  if (!refusal->is_of_one_rank) trainer.bring_error(refusal->error);
}

StepReport OnlineParts::finish_step() {
  assembly.trainer->quiesce();  // the program may use MPI now
  const StepState state = assembly.trainer->read_state();
  if (state.halted != 0) throw_cause(state);
  const StepRecord& record = state.record;
  const std::int64_t samples = record.rows / boxes;
  consumed += samples;
  return {.step = record.step,
          .samples = samples,
          .loss = record.loss,
          .gradient_norm = record.gradient_norm,
          .lr = static_cast<double>(record.lr),
          .loss_scale = static_cast<double>(record.scale),
          .overflow_rank = record.overflow - 1,
          .updated = state.control.apply != 0};
}

/// Only for networks with such a layer: others exchange nothing before a step.
void OnlineParts::agree_on_call(OnlineCall call, std::int64_t samples) {
  if (needs.together == 1 && !exchanges) return;
  Communicator& communicator = *assembly.communicator;
  communicator.synchronize(assembly.trainer->execution());
  std::array<std::int64_t, online_calls + 1> sums{};  // ranks by call, and samples
  sums[static_cast<std::size_t>(call)] = 1;
  sums.back() = samples;
  communicator.ranks().add_up(sums);
  if (sums[static_cast<std::size_t>(call)] != communicator.size()) {
    fail_input(errors::bad_call,
               "{} ranks call step(), {} forward(), {} backward() and {} apply(); layers normalise over the "
               "samples of all ranks, so that all ranks must make the same calls, with empty views if they "
               "have no samples",
               sums[0], sums[1], sums[2], sums[3]);
  }
  if (sums.back() > 0 && sums.back() < needs.together) throw too_few_samples_together(needs, sums.back());
}

/// Of a step that halted the trainer.
void OnlineParts::throw_cause(StepState state) {
  const Quiesced quiet = assembly.trainer->quiesce();
  if (!assembly.trainer->exhausted(state)) {
    state.halted = 0;  // nothing has moved: the program may go on
    assembly.trainer->write_state(state);
    assembly.trainer->throw_if_failed(quiet);
    require_same_end();
    fail_run(errors::internal, "the trainer has halted, and no rank has an error");
  }
  const std::string cause =
      end.call == OnlineCall::step
          ? describe_divergence(state, find_fault(quiet, *assembly.trainer, *batch))
          : fmt::format(
                "diverged at step {}: {} steps in a row were not finite and the loss scale {:g} "
                "cannot be lowered further; examine the dL/dy of backward()",
                state.step, state.scaler.skipped_in_a_row, state.scaler.scale);
  diverged.emplace(ExitCode::diverged, errors::diverged, cause);
  throw *diverged;
}

void OnlineParts::require_same_end() {
  if (!assembly.trainer->calls_differed()) return;
  RankGroup& ranks = assembly.communicator->ranks();
  std::vector<End> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(&end, all.data(), sizeof(End));
  const auto text = [](const End& of) {
    if (of.call == OnlineCall::step) return std::string("step()");
    return of.has_lr != 0 ? fmt::format("apply() with the learning rate {}", of.lr) : std::string("apply()");
  };
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (text(all[rank]) == text(all[0])) continue;
    fail_input(errors::bad_call, "rank 0 ends the step by {}, rank {} by {}; all ranks must do the same",
               text(all[0]), rank, text(all[rank]));
  }
}

OnlineTrainer::OnlineTrainer(const Options& options, MPI_Comm ranks, const OnlineOptions& own,
                             const std::function<void(const std::string&)>& message,
                             const KokkosRuntime& kokkos) {
  require_same_kokkos("the constructor of OnlineTrainer", kokkos);
  parts_ = std::make_unique<OnlineParts>(options, ranks, own, message);
}
OnlineTrainer::~OnlineTrainer() = default;
OnlineTrainer::OnlineTrainer(OnlineTrainer&&) noexcept = default;
OnlineTrainer& OnlineTrainer::operator=(OnlineTrainer&&) noexcept = default;

}  // namespace mylos
