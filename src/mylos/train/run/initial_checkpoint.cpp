#include "mylos/train/run/initial_checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "mylos/base/errors/internal.hpp"
#include "mylos/base/errors/memory.hpp"
#include "mylos/base/errors/units.hpp"
#include "mylos/base/execution.hpp"
#include "mylos/base/version.hpp"
#include "mylos/checkpoint/write/writer.hpp"
#include "mylos/comm/ranks/collective_error.hpp"
#include "mylos/data/run/agreed_data.hpp"
#include "mylos/data/run/point_weights.hpp"
#include "mylos/io/system/memory_shares.hpp"
#include "mylos/kernels/convert.hpp"
#include "mylos/model/chain/chain_requirements.hpp"
#include "mylos/model/network/make_chain.hpp"
#include "mylos/model/parameters/initial_values.hpp"
#include "mylos/optim/update/parameter_groups.hpp"
#include "mylos/train/evaluation/metric.hpp"
#include "mylos/train/run/components/run_health.hpp"
#include "mylos/train/run/run_check.hpp"
#include "mylos/train/start/initial_weights.hpp"
#include "mylos/train/start/run_state.hpp"
#include "mylos/train/step/network_plan.hpp"
#include "mylos/train/step/quiesced.hpp"

namespace mylos {
namespace {

/// The ranks of a node share its host memory.
void require_memory_of_rank(std::size_t bytes, int ranks_on_node) {
  const auto own = static_cast<std::int64_t>(bytes);
  const std::int64_t available = free_memory_of_rank(ranks_on_node);
  if (own <= available) return;
  throw Error(
      ExitCode::does_not_fit, errors::does_not_fit,
      fmt::format("the weights of this network take {} per rank, and {} are available; with more ranks and "
                  "optimizer.shard = \"state\" each takes less",
                  format_bytes(own), format_bytes(available)));
}

/// The part of the deck's data on which initial weights depend.
struct DataOfDeck {
  std::unique_ptr<RunData> data;  // null: the deck has the sizes
  RunState state;

  DataOfDeck(Options& options, RankGroup& ranks, const Places& places) {
    const ModelOptions& model = options.model;
    if (options.data.train.empty()) {
      if (model.type == ModelType::gpt) state.data.vocabulary = Vocabulary::tokens(model.vocabulary);
      run_on_all(ranks, [&] {
        options.model.point_weights = read_point_weights(options.data, options.model.outputs);
      });
      return;
    }
    run_on_all(ranks, [&] {
      data = open_run_data(options, GroundTruth::required, places);
      complete(options, *data, places);
    });
    state.data.identity = agreed_identity(*data, options.data, ranks);
    run_on_all(ranks, [&] {
      if (options.run.steps > 0 || options.run.epochs > 0)
        static_cast<void>(run_length(options, data->epochs()));
      static_cast<void>(watched_metric(options, *data));
      state.data.vocabulary = data->vocabulary();
    });
  }

  /// `initial`: where the weights come from; none: they are drawn, or another program's.
  void normalize(std::optional<InitialWeights>& initial, const Options& options, const Places& places,
                 const Output& output) {
    if (!data) return;
    GivenScalings kept;
    if (initial) kept = initial->kept_scalings(options, data->meaning(), places);
    state.data.normalizer = data->normalizer(output.line, kept);
  }
};

/// One rank: it holds all masters and statistics.
void load(const OtherWeights& other, const ParameterStore& parameters, const BufferStore& buffers,
          const Execution& exec) {
  const auto load_one = [&](const std::string& path, const Tensor& target) {
    const std::vector<float> values = other.read(path);
    if (static_cast<std::int64_t>(values.size()) != target.size())
      fail_run(errors::internal, "{} has {} numbers, and {} were read", path, target.size(), values.size());
    const Kokkos::View<float*, Device> staged("weights", values.size());
    const auto host = Kokkos::create_mirror_view(staged);
    std::copy(values.begin(), values.end(), host.data());
    Kokkos::deep_copy(staged, host);
    convert(exec, Tensor(staged.data(), DType::fp32, 1, target.size()), target);
    exec.fence("weights");
  };
  const std::vector<ParameterSlot>& slots = parameters.layout().slots;
  for (std::size_t i = 0; i < slots.size(); ++i) load_one(slots[i].path(), parameters.held_master(i).values);
  for (const BufferStore::StateBuffer& buffer : buffers.state()) load_one(buffer.path, buffer.values);
}

void write_initial_file(const Quiesced& /*quiet*/, RankGroup& ranks, const std::string& path,
                        const CheckpointHeader& header, CheckpointState& state) {
  write_checkpoint_file(ranks, path, header, state);
}

}  // namespace

std::int64_t write_initial_checkpoint(const Deck& deck, MPI_Comm mpi, const std::string& path,
                                      const Output& output, const OtherWeights* other) {
  Options options = deck.options;
  const std::unique_ptr<Communicator> communicator = make_communicator(mpi, options.communication);
  RankGroup& ranks = communicator->ranks();
  DataOfDeck of_deck(options, ranks, deck.places);
  require_agreed(options.model.point_weights, ranks);
  record_weights(options.model, of_deck.state);
  Chain chain;
  ParameterLayout layout;
  run_on_all(ranks, [&] {
    chain = make_chain(options.model, options.precision, options.run.seed, false);
    require_weights(chain, deck.places);
    require_margins(chain, options.model, deck.places);
    require_rules_apply(chain, options.precision);
    require_groups_match(chain, options.optimizer, deck.places);
    require_initial_rules_apply(chain, options.model, deck.places);
    require_ignored_layers(options.health, chain);
    if (other != nullptr) other->prepare(options, chain);
    layout = network_layout(options, chain, ranks.size());
    require_memory_of_rank(layout.bytes() + BufferStore::memory_bytes(chain), ranks.ranks_on_node());
  });
  std::optional<InitialWeights> initial;
  if (other == nullptr && !options.run.initial.empty()) initial.emplace(ranks, options, chain, deck.places);
  run_on_all(ranks, [&] { of_deck.normalize(initial, options, deck.places, output); });
  if (other != nullptr && !of_deck.data) of_deck.state.data.normalizer = other->normalizer;

  const Execution exec;
  std::optional<ParameterStore> parameters;
  std::optional<BufferStore> buffers;
  run_on_all(ranks, [&] {
    parameters.emplace(std::move(layout), ranks.rank());
    buffers.emplace(chain);
    if (other == nullptr) parameters->initialize(exec, options.run.seed, options.model.initialize);
    exec.fence("initial weights drawn");
    if (other != nullptr) load(*other, *parameters, *buffers, exec);
  });
  if (initial) {
    initial->load(*parameters, *buffers, exec);
    for (const std::string& line : initial->lines()) output.line(line);
  }
  CheckpointState state = parameter_state(*parameters);
  add_buffers(state, *buffers);
  add_data_state(state, of_deck.state);
  add_samples(state, options.model.shape, of_deck.data ? of_deck.data->meaning() : SampleMeaning());
  CheckpointHeader header;
  header.code_version = code_version();
  header.deck = deck.resolved;
  header.world_size = ranks.size();
  write_initial_file(Quiesced::without_trainer(*communicator, exec), ranks, path, header, state);
  return chain.parameter_count();
}

}  // namespace mylos
