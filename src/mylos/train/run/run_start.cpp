#include "mylos/train/run/run_start.hpp"

#include <fmt/format.h>

#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/agreed_data.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/train/run/run_check.hpp"
#include "mylos/train/start/shared_folder.hpp"
#include "mylos/train/step/agreed_kernels.hpp"

namespace mylos {
namespace {

Chain model_chain(const Options& options) {
  return make_chain(options.model, options.precision, options.run.seed, false);
}

}  // namespace

RunStart::RunStart(RunRequest given, MPI_Comm mpi, bool checks)
    : request(std::move(given)), only_checks(checks) {
  parts.options = request.deck.options;
  const Options& options = parts.options;
  parts.communicator = make_communicator(mpi, options.communication);
  parts.engines = make_agreed_engines(options.kernels, ranks(), request.output.line);
  run_on_all(ranks(), [this] { open_data(); });
  identity =
      agreed_identity(*data, options.data, ranks());  // before ranks exchange sizes that depend on the data
  run_on_all(ranks(), [&] { steps = require_consistent(options, *data, request.deck.places); });
  require_possible_folder(ranks(), options.run.folder, request.deck.places);
  given_ = options;
  if (only_checks) {
    find_start();
    return;
  }
  choose();
  require_shared_folder(ranks(), options.run.folder);
  if (lock) lock->name_holder(false);
}

/// Applies the amendments of the run so far to the deck's options.
void RunStart::amend() {
  if (request.earlier) {
    amendments = request.earlier->amendments;
  } else if (saved) {
    amendments = read_amendments(*saved);
  } else {
    amendments.clear();
    if (first_choice_) amendments.push_back(*first_choice_);
  }
  parts.options = amended(given_, amendments);
  deck = amended_deck(request.deck.resolved, amendments);
  if (amendments.empty()) return;
  try {
    const Options& options = parts.options;
    require_rules_apply(model_chain(options), options.precision);
  } catch (const Error& error) {
    fail_input("{}: /history/amendments do not fit this deck: {}", saved ? saved->path() : "the run",
               error.what());
  }
}

void RunStart::open_data() {
  data = open_run_data(parts.options, Answers::needed, request.deck.places);
  data->complete(parts.options.model);
  if (!request.earlier) {  // else they were printed
    for (const std::string& note : data->notes()) line(note);
  }
  parts.step = make_step_plan(parts.options, ranks().rank(), ranks().size());
}

void RunStart::open_initial_weights() {
  initial.reset();
  const Options& options = parts.options;
  if (options.run.initial.empty()) return;
  initial.emplace(ranks(), options, model_chain(options), request.deck.places);
}

/// Finds a checkpoint to resume from, and what depends on it.
void RunStart::find_start() {
  open_checkpoint();
  run_on_all(ranks(), [this] {
    if (!saved) amend();
    normalizer = saved ? data->room_for_normalizer() : data->normalizer(request.output.line);
  });
  if (!saved) open_initial_weights();
  if (!saved) choose_first_type();
  plan_memory();
}

}  // namespace mylos
