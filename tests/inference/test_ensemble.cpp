// Mean and standard deviation of an ensemble's members, against those of their outputs one by one.
#include "mylos/inference/ensemble.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <tuple>

#include "inference/stored_models.hpp"
#include "mylos/base/errors/calls.hpp"
#include "mylos/base/errors/data.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/base/errors/runs.hpp"
#include "support/allocation_counter.hpp"
#include "support/refusal.hpp"
#include "train/allocations.hpp"
#include "train/engines.hpp"

namespace mylos::ensemble_test {

using test::StoredModel;
using test::StridedArray;
using testing_support::AllocationsByLabel;

class EnsembleTest : public testing::Test {
 protected:
  std::string path(int member) { return folder.path() + "/member" + std::to_string(member) + ".h5"; }
  std::vector<std::string> paths(int members) {
    std::vector<std::string> all;
    for (int i = 0; i < members; ++i) all.push_back(path(i));
    return all;
  }
  /// Members of other widths, so that their outputs differ.
  std::vector<std::unique_ptr<StoredModel>> write(int members, DType type, bool is_scaled = true) {
    std::vector<std::unique_ptr<StoredModel>> stored;
    for (int i = 0; i < members; ++i) {
      Options options = test::vector_options(type);
      options.model.hidden = {11 + 3 * i, 9};
      if (testing_support::has_tiles())
        options.kernels.gemm = GemmChoice::tiles;  // oneDNN allocates at every call
      stored.push_back(std::make_unique<StoredModel>(ranks, path(i), options, is_scaled && i != 1));
    }
    return stored;
  }

  Execution exec;
  RankGroup ranks{MPI_COMM_WORLD, 60};
  test::SharedFolder folder{ranks};
};

TEST_F(EnsembleTest, DerivativesAreTheMeansOfThoseOfTheMembers) {
  using Matrix = Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace>;
  constexpr std::size_t samples = 300;  // beyond a piece of the Jacobians
  const auto stored = write(3, DType::fp32);
  Ensemble loaded(paths(3), {.derivatives = true});
  Ensemble ensemble = loaded.clone();
  const Matrix x("x", samples, 6), along("along", samples, 6), seeds("seeds", samples, 4);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.data()[i] = std::sin(static_cast<double>(i));
    along.data()[i] = std::cos(static_cast<double>(i));
  }
  for (std::size_t i = 0; i < seeds.size(); ++i) seeds.data()[i] = std::sin(0.3 * static_cast<double>(i));
  const Matrix vjp("vjp", samples, 6), jvp("jvp", samples, 4), j("j", samples, 24);
  const Matrix vjp_sum("vjp", samples, 6), jvp_sum("jvp", samples, 4), j_sum("j", samples, 24);
  const auto add = [](const Matrix& values, const Matrix& sum) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum.data()[i] += values.data()[i] / 3;
  };
  for (std::size_t i = 0; i < 3; ++i) {
    const Model& member = loaded.member(i);
    member.vjp(exec, x, seeds, vjp);
    member.jvp(exec, x, along, jvp);
    member.jacobian(exec, x, j);
    add(vjp, vjp_sum);
    add(jvp, jvp_sum);
    add(j, j_sum);
  }
  ensemble.vjp(exec, x, seeds, vjp);
  ensemble.jvp(exec, x, along, jvp);
  ensemble.jacobian(exec, x, j);
  for (const auto& [found, expected] :
       {std::pair(vjp, vjp_sum), std::pair(jvp, jvp_sum), std::pair(j, j_sum)}) {
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_FLOAT_EQ(static_cast<float>(found.data()[i]), static_cast<float>(expected.data()[i])) << i;
  }
  EXPECT_TRUE(test::refuses(errors::bad_call, {"scaled in other ways"},
                            [&] { ensemble.vjp(exec, x, seeds, vjp, Units::network); }));
  Ensemble plain(paths(3));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"Ensemble::jvp", "LoadOptions::derivatives"},
                            [&] { plain.jvp(exec, x, along, jvp); }));
}

TEST_F(EnsembleTest, MeanAndDeviationAreThoseOfTheMembers) {
  for (const DType type : {DType::fp32, DType::bf16}) {
    const auto stored = write(3, type);
    for (const std::int64_t piece : {std::int64_t{0}, std::int64_t{7}}) {
      Ensemble ensemble(paths(3), {.max_samples = piece});
      EXPECT_EQ(ensemble.size(), 3u);
      StridedArray<double> x({5, 8, 6}, {0, 2, 1}, 2);
      std::vector<float> rows;
      for (std::int64_t i = 0; i < x.size(); ++i) {
        x.at(i) = std::sin(0.37 * static_cast<double>(i)) * 1.1;
        rows.push_back(static_cast<float>(x.at(i)));
      }
      StridedArray<double> mean({5, 8, 4}, {2, 1, 0}, 1);
      StridedArray<float> deviation({5, 8, 4}, {1, 0, 2}, 2);
      ensemble.infer(exec, x.const_array(), mean.array(), deviation.array());
      exec.fence();
      std::vector<std::vector<float>> outputs;
      for (const auto& member : stored) outputs.push_back(member->predicted(rows));
      for (std::int64_t i = 0; i < mean.size(); ++i) {
        double sum = 0;
        for (const auto& member : outputs) sum += static_cast<double>(member[static_cast<std::size_t>(i)]);
        double squares = 0;
        for (const auto& member : outputs) {
          const double distance = static_cast<double>(member[static_cast<std::size_t>(i)]) - sum / 3;
          squares += distance * distance;
        }
        EXPECT_FLOAT_EQ(static_cast<float>(mean.at(i)), static_cast<float>(sum / 3));
        EXPECT_EQ(mean.at(i), static_cast<double>(static_cast<float>(mean.at(i)))) << "rounded to float once";
        EXPECT_FLOAT_EQ(deviation.at(i), static_cast<float>(std::sqrt(squares / 2)));
        EXPECT_GT(deviation.at(i), 0);
      }
      EXPECT_EQ(mean.written(), mean.size());
      EXPECT_EQ(deviation.written(), deviation.size());
      Ensemble clone = ensemble.clone();
      StridedArray<double> again({5, 8, 4}, {2, 1, 0}, 1);
      clone.infer(exec, x.const_array(), again.array(), deviation.array());
      exec.fence();
      for (std::int64_t i = 0; i < mean.size(); ++i) EXPECT_EQ(again.at(i), mean.at(i));
    }
  }
}

TEST_F(EnsembleTest, MembersWithDeviationsAreAMixture) {
  for (int i = 0; i < 3; ++i) {
    Options options = test::vector_options(DType::fp32, losses::Gaussian{});
    options.model.hidden = {11 + 3 * i, 9};
    const StoredModel stored(ranks, path(i), options, true);
  }
  Ensemble ensemble(paths(3), {.max_samples = 16});
  EXPECT_EQ(ensemble.bytes().total(), Ensemble::memory_of(paths(3), {.max_samples = 16}).total());
  StridedArray<double> x({40, 6}, {1, 0}, 1);
  for (std::int64_t i = 0; i < x.size(); ++i) x.at(i) = std::sin(0.37 * static_cast<double>(i)) * 1.1;
  StridedArray<float> mean({40, 4}, {1, 0}, 1);
  StridedArray<float> deviation({40, 4}, {1, 0}, 1);
  ensemble.infer(exec, x.const_array(), mean.array(), deviation.array());
  std::vector<StridedArray<float>> means(3, mean);
  std::vector<StridedArray<float>> deviations(3, mean);
  for (std::size_t i = 0; i < 3; ++i) {
    ensemble.member(i).infer_uncertain(exec, x.const_array(),
                                       {.mean = means[i].array(), .deviation = deviations[i].array()});
  }
  exec.fence();
  for (std::int64_t i = 0; i < mean.size(); ++i) {
    double first = 0;
    double second = 0;
    for (std::size_t member = 0; member < 3; ++member) {
      const auto m = static_cast<double>(means[member].at(i));
      const auto s = static_cast<double>(deviations[member].at(i));
      first += m / 3;
      second += (m * m + s * s) / 3;
    }
    EXPECT_NEAR(mean.at(i), first, 1e-6 * std::abs(first) + 1e-7);
    EXPECT_NEAR(deviation.at(i), std::sqrt(second - first * first), 1e-5 * std::sqrt(second));
  }
  const StoredModel other(ranks, path(2), test::vector_options(DType::fp32), true);
  EXPECT_TRUE(test::refuses(errors::model_mismatch, {path(2), "standard deviations"},
                            [&] { Ensemble mixed(paths(3)); }));
}

TEST_F(EnsembleTest, TakesTheMemoryThatIsStatedAndNoneInACall) {
  const auto stored = write(3, DType::fp32);
  const InferenceBytes stated = Ensemble::memory_of(paths(3), {.max_samples = 16});
  const AllocationsByLabel allocations;
  Ensemble ensemble(paths(3), {.max_samples = 16});
  EXPECT_EQ(AllocationsByLabel::total(), stated.total());
  EXPECT_EQ(ensemble.bytes().total(), stated.total());
  EXPECT_GT(stated.workspace, Model::memory_of(path(0), {.max_samples = 16}).workspace * 3);
  if (!testing_support::has_tiles()) GTEST_SKIP() << "no tiles in this build";
  std::vector<double> x(40 * 6, 0.5);
  std::vector<double> mean(40 * 4);
  std::vector<double> deviation(40 * 4);
  const auto work = [&] {
    for (const std::int64_t samples : {40, 16, 5}) {
      const ArrayExtents by_rows{4, 1};
      ensemble.infer(exec, ConstArray{x.data(), ElementType::fp64, 2, {samples, 6}, {6, 1}, false},
                     Array{mean.data(), ElementType::fp64, 2, {samples, 4}, by_rows, false},
                     Array{deviation.data(), ElementType::fp64, 2, {samples, 4}, by_rows, false});
    }
  };
  work();
  const long before = testing_support::allocations();
  work();
  EXPECT_EQ(testing_support::allocations(), before);
}

TEST_F(EnsembleTest, RefusesMembersOfOtherTasks) {
  const auto stored = write(2, DType::fp32);
  const auto refused = [&](ErrorId id, std::initializer_list<std::string_view> parts,
                           const std::vector<std::string>& files) {
    return test::refuses(ExitCode::bad_input, id, parts, [&] { Ensemble ensemble(files); });
  };
  EXPECT_TRUE(refused(errors::bad_call, {"1 file"}, {path(0)}));
  EXPECT_TRUE(refused(errors::bad_call, {"twice", path(0)}, {path(0), path(1), path(0)}));
  Options other = test::vector_options(DType::fp32);
  other.model.outputs = 3;
  { const StoredModel three(ranks, path(2), other, false); }
  EXPECT_TRUE(refused(errors::model_mismatch, {path(2), "outputs", "[3]", "[4]"}, paths(3)));
  other = test::vector_options(DType::fp32);
  other.model.inputs = 5;
  { const StoredModel five(ranks, path(2), other, false); }
  EXPECT_TRUE(refused(errors::model_mismatch, {path(2), "inputs", "[5]", "[6]"}, paths(3)));
  other = test::vector_options(DType::fp32, losses::CrossEntropy{});
  { const StoredModel classes(ranks, path(2), other, false); }
  EXPECT_TRUE(refused(errors::model_mismatch, {path(2), "probabilities", "targets"}, paths(3)));
  EXPECT_TRUE(refused(errors::no_such_file, {path(7)}, {path(0), path(7)}));
  EXPECT_TRUE(test::refuses(errors::model_mismatch, {path(2), "probabilities"},
                            [&] { static_cast<void>(Ensemble::memory_of(paths(3))); }));
  const std::string link = folder.path() + "/link.h5";
  std::filesystem::create_symlink(path(1), link);
  EXPECT_TRUE(refused(errors::bad_call, {"twice", link}, {path(0), path(1), link}));
}

TEST_F(EnsembleTest, RefusesMembersThatNameOtherColumns) {
  const auto stored = write(2, DType::fp32);  // of no names
  const auto write_names = [&](int member, const std::string& kind, const std::string& names) {
    const StoredModel model(ranks, path(member), test::vector_options(DType::fp32), false,
                            {{"/samples/" + kind + "_names", names}});
  };
  for (const auto& [kind, one, other, said] :
       {std::tuple{"input", "a\nb\nc\nd\ne\nf", "a\nb\nc\nd\nf\ne", "inputs"},
        std::tuple{"target", "p\nq\nr\ns", "p\nq\nr\nt", "targets"},
        std::tuple{"class", "p\nq\nr\ns", "q\np\nr\ns", "classes"}}) {
    write_names(2, kind, one);
    EXPECT_NO_THROW(Ensemble{paths(3)}) << "names that the others do not say";
    write_names(3, kind, one);
    EXPECT_NO_THROW(Ensemble({path(2), path(3)}));
    write_names(3, kind, other);
    EXPECT_TRUE(test::refuses(ExitCode::bad_input, errors::bad_names, {path(2), path(3), said}, [&] {
      Ensemble ensemble({path(2), path(3)});
    }));
  }
}

TEST_F(EnsembleTest, RefusesArraysThatOverlapAndUnitsOfOtherScalings) {
  const auto stored = write(2, DType::fp32);
  Ensemble ensemble(paths(2));
  std::vector<float> x(12);
  std::vector<float> y(16);
  const ConstArray read{x.data(), ElementType::fp32, 2, {2, 6}, {6, 1}, false};
  const Array mean{y.data(), ElementType::fp32, 2, {2, 4}, {4, 1}, false};
  Array deviation = mean;
  EXPECT_TRUE(test::refuses(errors::bad_call, {"mean and deviation overlap"},
                            [&] { ensemble.infer(exec, read, mean, deviation); }));
  deviation.data = y.data() + 8;
  EXPECT_TRUE(test::refuses(errors::bad_call, {"scaled in other ways"},
                            [&] { ensemble.infer(exec, read, mean, deviation, Units::network); }));
  EXPECT_NO_THROW(ensemble.infer(exec, read, mean, deviation));
  EXPECT_TRUE(test::refuses(errors::bad_call, {"member 2"}, [&] { static_cast<void>(ensemble.member(2)); }));
}

}  // namespace mylos::ensemble_test
