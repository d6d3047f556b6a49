#include "trained_model.hpp"

#include <filesystem>

#include "mylos/checkpoint/folder.hpp"
#include "mylos/checkpoint/reader.hpp"
#include "mylos/comm/collective_error.hpp"
#include "mylos/train/run_state.hpp"

namespace mylos::app {
namespace {

std::string checkpoint_file(RankGroup& ranks, const std::string& path) {
  if (!std::filesystem::is_directory(path)) return path;
  return find_checkpoint(ranks, path, "latest").path.value();
}

void complete_from_data(ModelOptions& model, const Dataset& data, const std::string& checkpoint) {
  const auto complete = [&](std::int64_t& value, std::int64_t of_data, const char* what) {
    if (value != 0 && value != of_data) {
      fail_input("{} has {} {} per sample, the network of {} has {}", data.path(), of_data, what, checkpoint,
                 value);
    }
    value = of_data;
  };
  complete(model.inputs, data.features(), "inputs");
  complete(model.outputs, data.outputs(), "outputs");
}

}  // namespace

EvaluationReader TrainedModel::reader(const Split& split) const {
  return {*data, split, normalizer,
          EvaluationOptions{model->chain().input_type(), rows(), communicator->rank(), communicator->size()}};
}

std::unique_ptr<TrainedModel> open_trained_model(
    const std::string& checkpoint, const std::string& data,
    const std::function<std::string(const DataOptions&)>& data_of) {
  constexpr std::int64_t most_rows = 1024;  // of a batch: enough for the products to be efficient
  auto trained = std::make_unique<TrainedModel>();
  const CommunicationOptions communication;
  RankGroup ranks(MPI_COMM_WORLD, communication.timeout_s);
  trained->path = checkpoint_file(ranks, checkpoint);
  const CheckpointReader reader(ranks, trained->path);
  trained->step = reader.header().step;
  trained->deck = read_deck(reader.header().deck, trained->path + ":/deck", {});
  Options& options = trained->deck.options;
  run_on_all(ranks, [&] {
    trained->data.emplace(data.empty() ? data_of(options.data) : data);
    complete_from_data(options.model, *trained->data, trained->path);
  });
  trained->normalizer = read_normalizer(reader);

  trained->kokkos = std::make_unique<KokkosRuntime>(options.run.threads);
  trained->execution.emplace();
  trained->communicator = make_communicator(MPI_COMM_WORLD, communication);
  trained->gemm = make_gemm_engine(options.kernels);
  Chain chain = make_mlp(options.model, options.precision, options.run.seed, false);
  const std::int64_t rows = std::min(most_rows, trained->data->samples());
  trained->model =
      std::make_unique<Model>(std::move(chain), *trained->gemm, rows, options.communication.bucket_bytes, 1);
  CheckpointState parameters = parameter_state(trained->model->parameters());
  reader.read(parameters);
  trained->model->parameters().refresh_compute_weights(*trained->execution);
  return trained;
}

}  // namespace mylos::app
