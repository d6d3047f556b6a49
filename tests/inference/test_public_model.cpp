// A model gives the bits of `mylos predict` for arrays of any type, rank, layout and strides.
#include "mylos/inference/model.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "inference/stored_models.hpp"
#include "io/support.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "support/refusal.hpp"

namespace mylos::public_model_test {

using test::StoredModel;
using test::StridedArray;
using testing::ElementsAre;

constexpr DType types[] = {DType::fp32, DType::bf16, DType::fp16};

/// The dimensions before those of a sample.
const std::vector<std::vector<std::int64_t>> leading_of_vectors = {{},     {7},       {1},
                                                                   {3, 5}, {2, 1, 3}, {2, 3, 2, 2}};
const std::vector<std::vector<std::int64_t>> leading_of_grids = {{}, {3}, {2, 3}};

std::int64_t product_of(const std::vector<std::int64_t>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), std::int64_t{1}, std::multiplies<>());
}
std::vector<std::int64_t> joined(std::vector<std::int64_t> first, const std::vector<std::int64_t>& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

/// Orders of the dimensions: the last fastest, the first fastest, others.
std::vector<std::vector<std::size_t>> orders_of(std::size_t rank) {
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<std::vector<std::size_t>> orders{{order.rbegin(), order.rend()}, order};
  if (rank > 2) {
    std::rotate(order.begin(), order.begin() + 1, order.end());
    orders.push_back(order);
  }
  return orders;
}

class PublicModel : public testing::Test {
 protected:
  template <class In, class Out>
  void expect_predicted(Model& model, StoredModel& stored, const std::vector<std::int64_t>& x_extents,
                        const std::vector<std::int64_t>& y_extents, Units units) {
    for (const std::int64_t gap : {1, 2}) {
      for (const auto& x_order : orders_of(x_extents.size())) {
        StridedArray<In> x(x_extents, x_order, gap);
        std::vector<float> rows;
        for (std::int64_t i = 0; i < x.size(); ++i) {
          x.at(i) = test::element_of<In>(std::sin(0.37 * static_cast<double>(i)) * 1.1);
          rows.push_back(test::float_of(x.at(i)));
        }
        const std::vector<float> expected = stored.predicted(rows, units);
        for (const auto& y_order : orders_of(y_extents.size())) {
          StridedArray<Out> y(y_extents, y_order, gap);
          model.infer(exec, x.const_array(), y.array(), units);
          exec.fence();
          std::int64_t different = 0;
          for (std::int64_t i = 0; i < y.size(); ++i) {
            const Out wanted = test::element_of<Out>(expected[static_cast<std::size_t>(i)]);
            different += test::same_bits(y.at(i), wanted) ? 0 : 1;
          }
          EXPECT_EQ(different, 0) << testing::PrintToString(x_extents) << " gap " << gap;
          EXPECT_LE(y.written(), y.size());
        }
      }
    }
  }
  template <class In>
  void expect_for_all_outputs(Model& model, StoredModel& stored, const std::vector<std::int64_t>& x,
                              const std::vector<std::int64_t>& y, Units units) {
    expect_predicted<In, float>(model, stored, x, y, units);
    expect_predicted<In, double>(model, stored, x, y, units);
    expect_predicted<In, half>(model, stored, x, y, units);
    expect_predicted<In, bfloat16>(model, stored, x, y, units);
  }
  void expect_for_all_elements(Model& model, StoredModel& stored, const std::vector<std::int64_t>& x,
                               const std::vector<std::int64_t>& y, Units units = Units::data) {
    expect_for_all_outputs<float>(model, stored, x, y, units);
    expect_for_all_outputs<double>(model, stored, x, y, units);
    expect_for_all_outputs<half>(model, stored, x, y, units);
    expect_for_all_outputs<bfloat16>(model, stored, x, y, units);
  }
  /// Succeeds if the call is refused, by this part of the message, and writes nothing.
  [[nodiscard]] ::testing::AssertionResult is_refused(Model& model, const ConstArray& x, const Array& y,
                                                      const char* part) {
    return test::refuses(ExitCode::bad_input, errors::bad_call, {part}, [&] { model.infer(exec, x, y); });
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
  std::string file = folder.path() + "/network.h5";
};

TEST_F(PublicModel, VectorsOfEveryElementTypeLayoutAndRankGiveTheBitsOfPredict) {
  for (const DType type : types) {
    StoredModel stored(ranks, file, test::vector_options(type), true);
    Model model(file);
    for (const auto& leading : leading_of_vectors)
      expect_for_all_elements(model, stored, joined(leading, {6}), joined(leading, {4}));
  }
}

TEST_F(PublicModel, GridsGiveTheBitsOfPredictWholeAndFlat) {
  for (const DType type : types) {
    StoredModel stored(ranks, file, test::grid_options(type), true);
    Model model(file);
    EXPECT_THAT(model.input_shape(), ElementsAre(4, 5, 2));
    EXPECT_THAT(model.output_shape(), ElementsAre(4, 5, 3));
    for (const auto& leading : leading_of_grids) {
      expect_predicted<double, double>(model, stored, joined(leading, {4, 5, 2}), joined(leading, {4, 5, 3}),
                                       Units::data);
      expect_predicted<float, double>(model, stored, joined(leading, {40}), joined(leading, {4, 5, 3}),
                                      Units::data);
      expect_predicted<half, float>(model, stored, joined(leading, {4, 5, 2}), joined(leading, {60}),
                                    Units::network);
    }
  }
}

TEST_F(PublicModel, UnitsOfTheNetworkAreNeitherScaledNorInterpreted) {
  StoredModel scaled(ranks, file, test::vector_options(DType::bf16), true);
  Model model(file);
  expect_for_all_elements(model, scaled, {5, 6}, {5, 4}, Units::network);
  for (const Loss& loss : std::vector<Loss>{losses::CrossEntropy{}, losses::BinaryCrossEntropy{}}) {
    StoredModel classifier(ranks, file, test::vector_options(DType::fp32, loss), false);
    Model classes(file);
    expect_predicted<float, float>(classes, classifier, {5, 6}, {5, 4}, Units::data);
    expect_predicted<double, double>(classes, classifier, {5, 6}, {5, 4}, Units::network);
  }
}

TEST_F(PublicModel, PiecesOfAnySizeGiveTheSameBits) {
  for (const DType type : types) {
    StoredModel stored(ranks, file, test::vector_options(type), true);
    for (const std::int64_t piece : {1, 2, 3, 7, 20}) {
      Model model(file, {.max_samples = piece});
      EXPECT_EQ(model.samples_per_piece(), piece);
      expect_predicted<double, float>(model, stored, {7, 6}, {7, 4}, Units::data);
      expect_predicted<float, half>(model, stored, {3, 4, 6}, {3, 4, 4}, Units::data);
    }
  }
}

TEST_F(PublicModel, TakesKokkosViewsWhereKernelsRun) {
  StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  Model model(file);
  constexpr std::int64_t samples = 9;
  Kokkos::View<double***, Kokkos::LayoutLeft, Memory> x("x", 2, samples, 8);
  const auto host_x = Kokkos::create_mirror_view(x);
  std::vector<float> rows;
  for (std::int64_t i = 0; i < samples; ++i) {
    for (std::int64_t j = 0; j < 6; ++j) {
      host_x(1, i, j + 1) = std::cos(static_cast<double>(i * 6 + j));
      rows.push_back(static_cast<float>(host_x(1, i, j + 1)));
    }
  }
  Kokkos::deep_copy(x, host_x);
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> y("y", samples, 4);
  const Kokkos::View<const double***, Kokkos::LayoutLeft, Memory> only_read = x;
  model.infer(exec, Kokkos::subview(only_read, 1, Kokkos::ALL, Kokkos::make_pair(1, 7)), y);
  exec.fence();
  const auto found = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), y);
  const std::vector<float> expected = stored.predicted(rows);
  for (std::int64_t i = 0; i < samples; ++i) {
    for (std::int64_t j = 0; j < 4; ++j)
      EXPECT_EQ(found(i, j), expected[static_cast<std::size_t>(i * 4 + j)]) << i << ", " << j;
  }
}

TEST_F(PublicModel, ReadsFloatRowsWhereTheyLie) {
  StoredModel stored(ranks, file, test::vector_options(DType::fp32), false);
  Model model(file);
  expect_predicted<float, float>(model, stored, {64, 6}, {64, 4}, Units::data);
}

TEST_F(PublicModel, NanAndInfinityPassThrough) {
  StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  Model model(file);
  StridedArray<float> x({3, 6}, {1, 0}, 1);
  StridedArray<float> y({3, 4}, {1, 0}, 1);
  std::vector<float> rows;
  for (std::int64_t i = 0; i < 18; ++i)
    x.at(i) = i == 7 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i);
  model.infer(exec, x.const_array(), y.array());
  exec.fence();
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(std::isnan(y.at(i)), i / 4 == 1) << i;
}

TEST_F(PublicModel, NoSamplesAreNoError) {
  StoredModel stored(ranks, file, test::vector_options(DType::fp32), false);
  Model model(file);
  ConstArray x{nullptr, ElementType::fp64, 2, {0, 6}, {6, 1}};
  Array y{nullptr, ElementType::fp64, 2, {0, 4}, {4, 1}};
  EXPECT_NO_THROW(model.infer(exec, x, y));
  x.extents = {0, 5};
  EXPECT_TRUE(is_refused(model, x, y, "[0, 5]"));
}

TEST_F(PublicModel, SaysWhatItIs) {
  StoredModel stored(ranks, file, test::vector_options(DType::bf16), true);
  const Model model(file);
  EXPECT_EQ(model.inputs(), 6);
  EXPECT_EQ(model.outputs(), 4);
  EXPECT_THAT(model.input_shape(), ElementsAre(6));
  EXPECT_THAT(model.output_shape(), ElementsAre(4));
  EXPECT_EQ(model.step(), 3);
  EXPECT_EQ(model.type(), DType::bf16);
  EXPECT_EQ(model.samples_per_piece(), 1024);
  EXPECT_TRUE(model.input_names().empty());
}

TEST_F(PublicModel, RefusesArraysThatDoNotFitAndWritesNothing) {
  StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  Model model(file);
  StridedArray<float> x({5, 6}, {1, 0}, 1);
  StridedArray<float> y({5, 4}, {1, 0}, 1);
  const auto changed = [](auto array, auto&& change) {
    change(array);
    return array;
  };
  const auto of_x = [&](auto&& change, const char* part) {
    EXPECT_TRUE(is_refused(model, changed(x.const_array(), change), y.array(), part));
  };
  const auto of_y = [&](auto&& change, const char* part) {
    EXPECT_TRUE(is_refused(model, x.const_array(), changed(y.array(), change), part));
  };
  of_x([](ConstArray& a) { a.extents[1] = 5; }, "x is [5, 5], but a sample of the network has 6 inputs");
  of_x([](ConstArray& a) { a.extents[0] = 4; }, "x has [4] samples and y [5]");
  of_x([](ConstArray& a) { a.strides[1] = 0; }, "dimension 1 (counted from 0) has the stride 0");
  of_x([](ConstArray& a) { a.strides[0] = -6; }, "the stride -6");
  of_x([](ConstArray& a) { a.data = nullptr; }, "its address is null");
  of_x([](ConstArray& a) { a.rank = 0; }, "0 dimensions");
  of_x([](ConstArray& a) { a.rank = 6; }, "6 dimensions");
  of_x([&](ConstArray& a) { a.data = y.array().data; }, "overlap");
  of_y([](Array& a) { a.extents[1] = 3; }, "y is [5, 3]");
  of_y([](Array& a) { a.strides[0] = 1; }, "the same address");
  of_y([](Array& a) { a.data = nullptr; }, "y is [5, 4], but its address is null");
  if (memory_is_host) of_y([](Array& a) { a.on_device = true; }, "device memory");
  EXPECT_EQ(y.written(), 0);
}

TEST_F(PublicModel, MessagesNameDimensionsInTheOrderOfTheCallersLanguage) {
  const StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  Model model(file);
  std::vector<float> x(800);
  std::vector<float> y(800);
  ConstArray in{.data = x.data(), .rank = 2, .extents = {100, 8}, .strides = {8, 1}};
  const Array out{.data = y.data(), .rank = 2, .extents = {100, 4}, .strides = {4, 1}};
  const auto refused = [&](ArrayOrder order, std::initializer_list<std::string_view> parts) {
    in.order = order;
    return test::refuses(errors::bad_call, parts, [&] { model.infer(exec, in, out); });
  };
  EXPECT_TRUE(refused(ArrayOrder::c, {"x is [100, 8]", "6 inputs", "they are the last dimension"}));
  EXPECT_TRUE(refused(ArrayOrder::fortran, {"x is (8, 100)", "they are the first dimension",
                                            "the last with columns_first = .true."}));
  EXPECT_TRUE(refused(ArrayOrder::columns_first,
                      {"x is (100, 8)", "they are the last dimension", "the first without columns_first"}));
  in.extents = {10, 5, 6};
  in.rank = 3;
  in.strides = {30, 6, 1};
  EXPECT_TRUE(refused(ArrayOrder::fortran, {"x has (5, 10) samples and y [100]", "after those of a sample"}));
  in.strides = {30, -6, 1};
  EXPECT_TRUE(refused(ArrayOrder::c, {"dimension 1 (counted from 0)", "-6"}));
  in.extents = {10, 7, 6};
  EXPECT_TRUE(refused(ArrayOrder::fortran, {"dimension 2 (counted from 1)", "-6"}));
}

TEST_F(PublicModel, SlicesOfOneArrayMayInterleave) {
  StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  Model model(file);
  for (const bool columns_first : {false, true}) {
    const std::vector<std::size_t> order =
        columns_first ? std::vector<std::size_t>{0, 1, 2} : std::vector<std::size_t>{2, 1, 0};
    StridedArray<double> all({3, 5, 12}, order, 1);
    std::vector<float> rows;
    for (std::int64_t i = 0; i < all.size(); ++i) {
      all.at(i) = std::sin(static_cast<double>(i));
      if (i % 12 < 6) rows.push_back(static_cast<float>(all.at(i)));
    }
    ConstArray x = all.const_array();
    Array y = all.array();
    x.extents[2] = 6;
    y.extents[2] = 4;
    y.data = &all.at(7);
    model.infer(exec, x, y);
    const std::vector<float> expected = stored.predicted(rows);
    for (std::int64_t i = 0; i < 15; ++i) {
      for (std::int64_t j = 0; j < 4; ++j)
        EXPECT_EQ(all.at(i * 12 + 7 + j), static_cast<double>(expected[static_cast<std::size_t>(i * 4 + j)]));
    }
    y.data = &all.at(5);
    EXPECT_TRUE(is_refused(model, x, y, "overlap"));
  }
}

TEST_F(PublicModel, RefusesFilesThatAreNoModels) {
  const auto refused = [&](ErrorId id, const std::string& part) {
    return test::refuses(ExitCode::bad_input, id, {part}, [&] { Model model(file); });
  };
  EXPECT_TRUE(refused(errors::no_such_file, file));
  const test::SmallNetwork gpt = test::small_networks(DType::fp32)[2];
  Options options;
  options.model = gpt.model;
  options.model.norm = NormType::layernorm;
  options.data.batch = 8;
  options.run.steps = 1;
  const auto engines = make_engines({});
  TrainingModel trained(gpt.chain(), *engines, 4, 1 << 20, 1);
  test::write_network(ranks, file, trained, {.deck = resolve(options)});
  EXPECT_TRUE(refused(errors::wrong_format, "mylos sample"));
  StoredModel stored(ranks, file, test::vector_options(DType::fp32), true);
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::no_average, {file},
                            [&] { Model model(file, {.average = true}); }));
  EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_call, {"max_samples"},
                            [&] { Model model(file, {.max_samples = -1}); }));
  std::string bytes = testing_support::read_file(file);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  testing_support::write_file(file, bytes);
  EXPECT_TRUE(refused(errors::damaged, file));
}

}  // namespace mylos::public_model_test
