#include "mylos/train/run/run_start.hpp"

#include <fmt/format.h>

#include "mylos/base/errors/runs.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/agreed_data.hpp"
#include "mylos/data/run/point_weights.hpp"
#include "mylos/model/chain/chain_requirements.hpp"
#include "mylos/train/run/run_check.hpp"
#include "mylos/train/start/shared_folder.hpp"
#include "mylos/train/step/agreed_kernels.hpp"

namespace mylos {

RunStart::RunStart(RunRequest given, MPI_Comm mpi, bool checks)
    : request(std::move(given)), only_checks(checks) {
  given_ = request.deck.options;
  parts.communicator = make_communicator(mpi, given_.communication);
  parts.engines = make_agreed_engines(given_.kernels, ranks(), request.output.line);
  run_on_all(ranks(), [this] { open_data(); });
  identity =
      agreed_identity(*data, given_.data, ranks());  // before ranks exchange sizes that depend on the data
  require_agreed(given_.model.point_weights, ranks());
  run_on_all(ranks(), [&] {
    steps = run_length(given_, data->epochs());
    const bool is_open = given_.mesh.is_open();  // whole samples may be too few or too large for the ranks
    parts.network = plan_network(given_, is_open ? 0 : ranks().rank(), is_open ? 1 : ranks().size());
    require_consistent(parts.network, *data, request.deck.places);
  });
  require_possible_folder(ranks(), given_.run.folder, request.deck.places);
  choose();
  if (only_checks) return;
  require_shared_folder(ranks(), given_.run.folder);
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
  deck = amended_deck(request.deck.resolved, amendments);
  try {
    parts.network = parts.network.with(amended(given_, amendments));
    if (!amendments.empty()) require_rules_apply(parts.network.chain, options().precision);
  } catch (const Error& error) {
    fail_input(errors::restart_mismatch, "{}: /history/amendments do not fit this deck: {}",
               saved ? saved->path() : "the run", error.message());
  }
}

void RunStart::open_data() {
  data = open_run_data(given_, GroundTruth::required, request.deck.places);
  complete(given_, *data, request.deck.places);
  if (!request.earlier) {  // else they were printed
    for (const std::string& note : data->notes()) line(note);
  }
  if (!given_.mesh.is_open()) static_cast<void>(make_step_plan(given_, ranks().rank(), ranks().size()));
}

void RunStart::open_initial_weights() {
  initial.reset();
  if (options().run.initial.empty()) return;
  initial.emplace(ranks(), options(), parts.network.chain, request.deck.places);
}

void RunStart::make_normalizer() {
  if (saved) {
    normalizer = data->room_for_normalizer();
    return;
  }
  GivenScalings kept;
  if (initial) kept = initial->kept_scalings(options(), data->meaning(), request.deck.places);
  normalizer = data->normalizer(request.output.line, kept);
}

/// Finds a checkpoint to resume from, and what depends on it.
void RunStart::find_start() {
  open_checkpoint();
  run_on_all(ranks(), [this] {
    if (!saved) amend();
  });
  if (!saved) open_initial_weights();
  run_on_all(ranks(), [this] { make_normalizer(); });
  choose_space();
  if (!saved) choose_first_type();
  plan_memory();
}

}  // namespace mylos
