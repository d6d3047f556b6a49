// A program that divides each sample over its ranks, beside a program of one rank with whole samples.
#include <cstdio>

#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/combinations.hpp"
#include "mylos/base/errors/command_line.hpp"
#include "train/online_boxes.hpp"

namespace mylos::online_boxes_test {

double norm_of(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * double{value};
  return std::sqrt(squares);
}

/// A trainer on boxes on all ranks, and one on whole samples on this rank alone.
struct Pair {
  Mesh mesh;
  std::int64_t samples;  // of all groups
  Part part;
  OnlineTrainer boxes;
  OnlineTrainer whole;

  explicit Pair(const std::vector<std::int64_t>& space, const OnlineOptions& own = {},
                NormType norm = NormType::none)
      : mesh(mesh_on(space, rank_of(MPI_COMM_WORLD))),
        samples(few * mesh.batch_ranks()),
        part(mesh, samples),
        boxes(field_options(space, norm), MPI_COMM_WORLD, own),
        whole(whole_options(norm), MPI_COMM_SELF, own) {}
  [[nodiscard]] Options whole_options(NormType norm) const {
    Options options = field_options({}, norm);
    options.data.micro_batch = samples;
    return options;
  }
};

TEST(OnlineBoxes, AStepOnBoxesIsThatOfWholeSamples) {
  for (const auto& space : divisions()) {
    for (const NormType norm : {NormType::none, NormType::batchnorm}) {
      Pair pair(space, {}, norm);
      EXPECT_EQ(pair.boxes.max_samples(), 4);
      EXPECT_EQ(pair.boxes.inputs(), pair.part.columns());
      EXPECT_EQ(pair.boxes.outputs(), pair.part.columns());
      const std::vector<float> start = values_of_parameters(pair.whole);
      for (std::uint64_t step = 0; step < 5; ++step) {
        const Matrix x = field_of(pair.samples, step, "x"), t = field_of(pair.samples, step, "t");
        const StepReport expected = pair.whole.step(x, t);
        const StepReport found = pair.boxes.step(pair.part.of(x), pair.part.of(t));
        EXPECT_EQ(found.samples, pair.samples);
        EXPECT_NEAR(found.loss, expected.loss, 1e-5 * expected.loss);
        EXPECT_NEAR(found.gradient_norm, expected.gradient_norm, 1e-4 * expected.gradient_norm);
        EXPECT_TRUE(found.updated);
      }
      const std::vector<float> found = values_of_parameters(pair.boxes);
      const std::vector<float> expected = values_of_parameters(pair.whole);
      EXPECT_GT(largest_difference(start, expected), 1e-2);
      EXPECT_LT(largest_difference(found, expected), 2e-4);
      const Matrix x = field_of(2 * pair.samples, 77, "x");  // in several pieces
      const Matrix y("y", x.extent(0), x.extent(1));
      const Part all(pair.mesh, 2 * pair.samples);
      const Matrix of_box("y", static_cast<std::size_t>(all.rows), static_cast<std::size_t>(all.columns()));
      pair.whole.infer(x, y);
      pair.boxes.infer(all.of(x), of_box);
      EXPECT_GT(norm_of(on_host_of(of_box)), 0.1);
      EXPECT_LT(all.difference(of_box, y), 2e-3);
    }
  }
}

TEST(OnlineBoxes, AGroupOfRanksMayHaveNoSamples) {
  for (const auto& space : divisions()) {
    Pair pair(space);
    const bool has_none = pair.mesh.batch_rank() > 0;
    const Matrix x = field_of(pair.samples, 0, "x"), t = field_of(pair.samples, 0, "t");
    const auto first = std::pair<std::size_t, std::size_t>(0, few);
    const StepReport expected =
        pair.whole.step(Kokkos::subview(x, first, Kokkos::ALL), Kokkos::subview(t, first, Kokkos::ALL));
    const StepReport found =
        has_none ? pair.boxes.step(Matrix(), Matrix()) : pair.boxes.step(pair.part.of(x), pair.part.of(t));
    EXPECT_EQ(found.samples, few);
    EXPECT_NEAR(found.loss, expected.loss, 1e-5 * expected.loss);
    EXPECT_NEAR(found.gradient_norm, expected.gradient_norm, 1e-4 * expected.gradient_norm);
  }
}

TEST(OnlineBoxes, OwnLossesAreThoseOfWholeSamples) {
  for (const auto& space : divisions()) {
    for (const LossReduction reduction : {LossReduction::sum, LossReduction::mean}) {
      Pair pair(space, {.input_gradients = true, .reduction = reduction});
      const bool is_mean = reduction == LossReduction::mean;
      const double divisor = static_cast<double>(whole_columns * (is_mean ? 1 : pair.samples));
      const auto factor = static_cast<float>(1 / divisor);
      for (std::uint64_t step = 0; step < 4; ++step) {
        const Matrix x = field_of(pair.samples, step, "x"), t = field_of(pair.samples, step, "t");
        const auto pass = [&](OnlineTrainer& online, const Matrix& inputs, const Matrix& targets,
                              const Matrix& dx) {
          const Matrix y("y", inputs.extent(0), inputs.extent(1));
          online.forward(inputs, y);
          const double of_part = seed_squares(y, targets, factor) * static_cast<double>(y.extent(1));
          online.backward(y, dx);
          return of_part / divisor;
        };
        const Matrix whole_dx("dx", x.extent(0), x.extent(1)), own = pair.part.of(x);
        const Matrix dx("dx", own.extent(0), own.extent(1));
        const double whole_loss = pass(pair.whole, x, t, whole_dx);
        const double loss = pass(pair.boxes, own, pair.part.of(t), dx);
        EXPECT_LT(pair.part.difference(dx, whole_dx), 1e-4 * norm_of(on_host_of(whole_dx)));

        const NetworkParameter parameter = pair.boxes.parameter("a/weight");
        std::vector<float> gradients[2];
        for (OnlineTrainer* online : {&pair.boxes, &pair.whole}) {
          const Kokkos::View<float*, Kokkos::HostSpace> one("gradient",
                                                            static_cast<std::size_t>(parameter.size()));
          online->parameter("a/weight").read_gradient(one);
          gradients[online == &pair.whole ? 1 : 0].assign(one.data(), one.data() + one.size());
        }
        EXPECT_GT(norm_of(gradients[1]), 0);
        EXPECT_LT(largest_difference(gradients[0], gradients[1]), 1e-4 * norm_of(gradients[1]));

        const StepReport expected = pair.whole.apply({.lr = {}, .loss = whole_loss});
        const StepReport found = pair.boxes.apply({.lr = {}, .loss = loss});
        EXPECT_EQ(found.samples, pair.samples);
        EXPECT_NEAR(found.loss, expected.loss, 1e-5 * expected.loss);
        EXPECT_NEAR(found.gradient_norm, expected.gradient_norm, 1e-4 * expected.gradient_norm);
      }
      EXPECT_LT(largest_difference(values_of_parameters(pair.boxes), values_of_parameters(pair.whole)), 2e-4);
    }
  }
}

TEST(OnlineBoxes, VectorsAreTheSameOnAllRanksOfASample) {
  for (const auto& space : divisions()) {
    Options options = field_options(space);
    options.model.outputs = 3;
    options.model.chain.resize(1);
    options.model.chain.push_back({.kind = kinds::Dense{}, .name = "head"});
    OnlineTrainer boxes(options, MPI_COMM_WORLD, {.input_gradients = true});
    options.mesh = {};
    options.data.micro_batch = 12;
    OnlineTrainer whole(options, MPI_COMM_SELF, {.input_gradients = true});
    const Mesh mesh = mesh_on(space, rank_of(MPI_COMM_WORLD), {extent[0], extent[1]});
    const Part part(mesh, few * mesh.batch_ranks());
    const Matrix x = field_of(few * mesh.batch_ranks(), 0, "x");
    const auto pass = [&](OnlineTrainer& online, const Matrix& inputs, int parts) {
      const Matrix y("y", inputs.extent(0), 3), dx("dx", inputs.extent(0), inputs.extent(1));
      online.forward(inputs, y);
      seed_squares(y, Matrix("t", inputs.extent(0), 3), 1.0f / static_cast<float>(parts));
      online.backward(y, dx);
      return dx;
    };
    const Matrix expected = pass(whole, x, 1), found = pass(boxes, part.of(x), mesh.boxes());
    EXPECT_LT(part.difference(found, expected), 1e-5 * norm_of(on_host_of(expected)));
    const double norm = whole.apply({}).gradient_norm;
    EXPECT_NEAR(boxes.apply({}).gradient_norm, norm, 1e-4 * norm);
  }
}

TEST(OnlineBoxes, ACheckpointOfBoxesContinuesOnWholeSamples) {
  const std::string path = testing::TempDir() + "/boxes_" + std::to_string(size_of(MPI_COMM_WORLD)) + ".h5";
  for (const auto& space : divisions()) {
    Pair pair(space);
    for (std::uint64_t step = 0; step < 3; ++step) {
      const Matrix x = field_of(pair.samples, step, "x"), t = field_of(pair.samples, step, "t");
      pair.boxes.step(pair.part.of(x), pair.part.of(t));
    }
    pair.boxes.save(path);
    pair.whole.load(path);  // each rank alone
    EXPECT_EQ(values_of_parameters(pair.whole), values_of_parameters(pair.boxes));
    const Matrix x = field_of(pair.samples, 3, "x"), t = field_of(pair.samples, 3, "t");
    const StepReport expected = pair.whole.step(x, t);
    const StepReport found = pair.boxes.step(pair.part.of(x), pair.part.of(t));
    EXPECT_EQ(found.step, expected.step);
    EXPECT_NEAR(found.loss, expected.loss, 1e-5 * expected.loss);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (rank_of(MPI_COMM_WORLD) == 0) std::remove(path.c_str());
}

TEST(OnlineBoxes, RanksOfASampleThatDifferAreRefusedByName) {
  const int ranks = size_of(MPI_COMM_WORLD), rank = rank_of(MPI_COMM_WORLD);
  if (ranks == 1) return;
  const std::vector<std::int64_t> space = ranks == 4 ? std::vector<std::int64_t>{2, 2} : divisions()[0];
  Pair pair(space, {.input_gradients = true});
  const bool is_last = rank == ranks - 1;
  const std::string last = "rank " + std::to_string(ranks - 1);
  const Matrix x = pair.part.of(field_of(pair.samples, 0, "x"));
  const Matrix y("y", x.extent(0), x.extent(1));
  const auto rows = std::pair<std::size_t, std::size_t>(0, is_last ? few - 1 : few);
  const Matrix fewer = Kokkos::subview(x, rows, Kokkos::ALL), out("y", fewer.extent(0), fewer.extent(1));
  const std::vector<float> start = values_of_parameters(pair.boxes);

  const std::initializer_list<std::string_view> counts = {"3 samples on rank 0", "2 on ", last, "mesh.space"};
  expect_error([&] { pair.boxes.step(fewer, fewer); }, errors::bad_call, counts);
  expect_error([&] { pair.boxes.forward(fewer, out); }, errors::bad_call, counts);
  expect_error([&] { pair.boxes.infer(fewer, out); }, errors::bad_call, counts);

  const Matrix wide("x", few, static_cast<std::size_t>(whole_columns));
  const Part of_last(mesh_on(space, ranks - 1), pair.samples);
  const std::string columns = std::to_string(of_last.columns());
  const std::initializer_list<std::string_view> sizes = {last + ":", "[3, 336]", columns + " of the 336",
                                                         "model.inputs"};
  const Matrix& given = is_last ? wide : x;
  expect_error([&] { pair.boxes.step(given, y); }, errors::bad_call, sizes);
  expect_error([&] { pair.boxes.forward(given, y); }, errors::bad_call, sizes);
  expect_error([&] { pair.boxes.infer(given, y); }, errors::bad_call, sizes);

  expect_error([&] { is_last ? pair.boxes.infer(x, y) : pair.boxes.forward(x, y); }, errors::bad_call,
               {"rank 0 calls forward()", last + " infer()"});
  pair.boxes.forward(x, y);
  const Matrix dx("dx", x.extent(0), x.extent(1));
  expect_error([&] { is_last ? pair.boxes.backward(y, dx) : pair.boxes.backward(y); }, errors::bad_call,
               {"rank 0 calls backward()", last + " backward() with dx"});
  expect_error([&] { is_last ? static_cast<void>(pair.boxes.apply()) : pair.boxes.backward(y); },
               errors::bad_call, {"rank 0 calls backward()", last + " apply()"});
  EXPECT_EQ(values_of_parameters(pair.boxes), start);
  pair.boxes.backward(y, dx);
  EXPECT_TRUE(pair.boxes.apply().updated);
  EXPECT_TRUE(pair.boxes.step(x, x).updated);
}

TEST(OnlineBoxes, RanksThatAreNoMultipleOfTheBoxesAreRefused) {
  if (size_of(MPI_COMM_WORLD) != 3) return;
  expect_error(
      [&] {
        OnlineTrainer(field_options({2, 1}), MPI_COMM_WORLD);
      },
      errors::wrong_rank_count, {"mesh.space", "2 ranks", "3 ranks"});
}

TEST(OnlineBoxes, ADivisionThatStartsChooseIsRefused) {
  Options options = field_options({});
  options.mesh.automatic = true;
  expect_error([&] { OnlineTrainer(options, MPI_COMM_WORLD); }, errors::keys_conflict,
               {"mesh.space = \"auto\"", "mesh.space = [2, 2]"});
}

}  // namespace mylos::online_boxes_test
