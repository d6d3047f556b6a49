// Exchanges between the ranks that share samples, against the whole grid.
#include "mylos/optim/gradients/sample_exchange.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "mylos/base/execution.hpp"
#include "mylos/optim/gradients/gradient_reduction.hpp"
#include "support/device_values.hpp"
#include "support/tree.hpp"

namespace mylos::sample_exchange_test {

using Extents = std::array<std::int64_t, 3>;

std::int64_t points_of(const Extents& extents) {
  return extents[0] * extents[1] * extents[2];
}

/// A point's value in the sample of a group of ranks, exact in every type.
float value_at(int batch_rank, const Extents& at) {
  return static_cast<float>((batch_rank * 89 + at[0] * 37 + at[1] * 11 + at[2] * 3) % 251 + 1);
}

/// The values of a box that begins at `first`. Points beyond the grid are those of the opposite edge if the
/// axis is periodic, otherwise zeros.
std::vector<float> values_of_box(int batch_rank, const Extents& grid, const Extents& first,
                                 const Extents& extents, bool periodic) {
  std::vector<float> values;
  for (std::int64_t d = 0; d < extents[0]; ++d) {
    for (std::int64_t h = 0; h < extents[1]; ++h) {
      for (std::int64_t w = 0; w < extents[2]; ++w) {
        Extents at{first[0] + d, first[1] + h, first[2] + w};
        bool is_inside = true;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          is_inside = is_inside && at[axis] >= 0 && at[axis] < grid[axis];
          at[axis] = (at[axis] + grid[axis]) % grid[axis];
        }
        values.push_back(is_inside || periodic ? value_at(batch_rank, at) : 0.0f);
      }
    }
  }
  return values;
}

std::vector<double> numbers_of(const Tensor& doubles) {
  std::vector<double> numbers(static_cast<std::size_t>(doubles.size()));
  test::copy_to_host(doubles.data(), numbers.data(), doubles.bytes());
  return numbers;
}

class SampleExchangeTest : public testing::Test {
 protected:
  /// Calls body(mesh) for every division of samples that this number of ranks allows.
  template <class Body>
  void for_each_mesh(const Body& body) {
    for (std::int64_t depth = 1; depth <= ranks; ++depth) {
      for (std::int64_t height = 1; depth * height <= ranks; ++height) {
        for (std::int64_t width = 1; depth * height * width <= ranks; ++width)
          if (ranks % (depth * height * width) == 0)
            body(Mesh({{depth, height, width}}, communicator->rank(), ranks));
      }
    }
  }
  SampleExchange exchange_of(const Mesh& mesh, const SampleExchangeSizes& sizes) {
    communicator->reserve(std::array{SlotBytes{}, SampleExchange::slot_bytes(mesh.boxes(), sizes)});
    return {*communicator, mesh, 1, sizes, communication_s};
  }

  Execution exec;
  std::unique_ptr<Communicator> communicator = make_communicator(MPI_COMM_WORLD, {.timeout_s = 60});
  int ranks = communicator->size();
  double communication_s = 0;
};

/// The faces that go to other ranks.
std::size_t neighbours_of(const Mesh& mesh, std::size_t axis, bool periodic) {
  const std::int64_t boxes = mesh.part().boxes[axis];
  const std::int64_t at = mesh.part().at[axis];
  if (boxes == 1) return 0;
  return periodic ? 2 : static_cast<std::size_t>((at > 0) + (at + 1 < boxes));
}

TEST_F(SampleExchangeTest, FacesAreThoseOfTheWholeGrid) {
  constexpr std::int64_t thickness = 2;
  const Extents box{3, 4, 2};
  for_each_mesh([&](const Mesh& mesh) {
    Extents grid{};
    Extents first{};
    for (std::size_t axis = 0; axis < 3; ++axis) {
      grid[axis] = box[axis] * mesh.part().boxes[axis];
      first[axis] = box[axis] * mesh.part().at[axis];
    }
    for (const DType type : {DType::fp32, DType::bf16, DType::fp16}) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        Extents face = box;
        face[axis] = thickness;
        const auto values = [&](std::int64_t begin, bool periodic) {
          Extents at = first;
          at[axis] += begin;
          return values_of_box(mesh.batch_rank(), grid, at, face, periodic);
        };
        const std::int64_t points = points_of(face);
        const std::size_t bytes = aligned_bytes(2 * static_cast<std::size_t>(points) * size_of(type));
        const Arena memory("faces", 2 * bytes);
        const Tensor sent = memory.tensor(0, type, 2, points);
        const Tensor received = memory.tensor(bytes, type, 2, points);
        test::set_values(sent.row_range(0, 1), values(0, false));
        test::set_values(sent.row_range(1, 1), values(box[axis] - thickness, false));
        SampleExchange exchange = exchange_of(mesh, {.faces = sent.bytes()});
        for (const bool periodic : {false, true}) {
          test::set_values(received, std::vector<float>(static_cast<std::size_t>(2 * points), -7.0f));
          const SampleTraffic before = exchange.sent();
          exchange.exchange_faces(exec, axis, periodic, sent, received);
          communicator->synchronize(exec);
          const std::size_t messages = neighbours_of(mesh, axis, periodic);
          SampleTraffic after = before;
          after += {messages * sent.bytes() / 2, messages};
          EXPECT_EQ(exchange.sent(), after);
          EXPECT_EQ(
              SampleExchange::traffic(mesh, {.bytes = sent.bytes() / 2, .axis = axis, .periodic = periodic}),
              (SampleTraffic{messages * sent.bytes() / 2, messages}));
          EXPECT_EQ(test::values_of(received.row_range(0, 1)), values(-thickness, periodic))
              << "axis " << axis << " of " << mesh.boxes() << " boxes, towards smaller indices";
          EXPECT_EQ(test::values_of(received.row_range(1, 1)), values(box[axis], periodic))
              << "axis " << axis << " of " << mesh.boxes() << " boxes, towards larger indices";
        }
      }
    }
  });
}

/// Numbers whose sum depends on the order in which they are added.
double term(int batch_rank, int box, std::size_t i) {
  const double sign = (box + static_cast<int>(i)) % 3 == 0 ? -1 : 1;
  return sign * std::ldexp(1.0 + 0.1 * static_cast<double>(i + 1) + batch_rank, (7 * box) % 60);
}

TEST_F(SampleExchangeTest, SumsAreAddedInTheOrderOfTheParts) {
  constexpr std::size_t count = 37;
  for_each_mesh([&](const Mesh& mesh) {
    const int box = communicator->rank() % mesh.boxes();
    const Arena memory("doubles", count * sizeof(double));
    const Tensor doubles = memory.tensor(0, DType::fp64, 1, count);
    SampleExchange exchange = exchange_of(mesh, {.sums = doubles.bytes()});
    for (int round = 0; round < 3; ++round) {
      std::vector<double> own;
      std::vector<double> expected;
      for (std::size_t i = 0; i < count; ++i) {
        const auto part = [&](int other) { return round + term(mesh.batch_rank(), other, i); };
        own.push_back(part(box));
        expected.push_back(test::sum_by_tree<double>(0, mesh.boxes(), part));
      }
      test::copy_to_device(own.data(), doubles.data(), doubles.bytes());
      exchange.add_up(exec, doubles);
      communicator->synchronize(exec);
      EXPECT_EQ(numbers_of(doubles), expected) << mesh.boxes() << " boxes";
      // Fewer numbers than the memory is for.
      const Tensor one = doubles.elements(0, 1);
      const double number = box + 1;
      test::copy_to_device(&number, one.data(), sizeof number);
      exchange.add_up(exec, one);
      communicator->synchronize(exec);
      EXPECT_EQ(numbers_of(one)[0], mesh.boxes() * (mesh.boxes() + 1) / 2);
    }
  });
}

TEST_F(SampleExchangeTest, CountsItsSecondsAndStatesItsMemory) {
  const SampleExchangeSizes sizes{.faces = 1000, .sums = 800};
  EXPECT_EQ(SampleExchange::memory(1, sizes)[0].bytes, 0u);
  EXPECT_EQ(SampleExchange::memory(6, sizes)[0].bytes, 4000u);
  EXPECT_EQ(SampleExchange::slot_bytes(1, sizes).messages, 0u);
  EXPECT_EQ(SampleExchange::slot_bytes(2, sizes).messages, 2u);
  EXPECT_EQ(SampleExchange::slot_bytes(2, sizes).message_bytes, 2000u);
  EXPECT_EQ(SampleExchange::slot_bytes(6, sizes).messages, 5u);
  EXPECT_EQ(SampleExchange::slot_bytes(6, sizes).message_bytes, 8000u);
  const Mesh mesh({{ranks}}, communicator->rank(), ranks);
  SampleExchange exchange = exchange_of(mesh, sizes);
  const Arena memory("doubles", sizeof(double));
  const auto others = static_cast<std::size_t>(ranks - 1);
  for (std::size_t step = 1; step <= 3; ++step) {
    const double before = communication_s;
    exchange.add_up(exec, memory.tensor(0, DType::fp64, 1, 1));
    EXPECT_EQ(communication_s > before, ranks > 1);
    EXPECT_EQ(exchange.sent(), (SampleTraffic{step * others * sizeof(double), step * others}));
  }
  EXPECT_EQ(SampleExchange::traffic(mesh, {.bytes = 80, .is_sum = true}),
            (SampleTraffic{80 * others, others}));
}

/// As in a backward pass: a bucket's reduction is in flight meanwhile.
TEST_F(SampleExchangeTest, UsesItsOwnSlotBesideAReduction) {
  constexpr std::size_t slice = 50'000;
  const std::size_t elements = slice * static_cast<std::size_t>(ranks);
  const Mesh mesh({{ranks}}, communicator->rank(), ranks);
  const SampleExchangeSizes sizes{.faces = 2 * 64 * sizeof(float), .sums = sizeof(double)};
  communicator->reserve(
      std::array{SlotBytes{elements * sizeof(float), 0}, SampleExchange::slot_bytes(mesh.boxes(), sizes)});
  SampleExchange exchange(*communicator, mesh, 1, sizes, communication_s);
  const Arena memory("buffers", elements * sizeof(float) + 4096);
  const Tensor gradients = memory.tensor(4096, DType::fp32, 1, static_cast<std::int64_t>(elements));
  const Tensor sent = memory.tensor(0, DType::fp32, 2, 64);
  const Tensor received = memory.tensor(1024, DType::fp32, 2, 64);
  const Tensor sum = memory.tensor(2048, DType::fp64, 1, 1);
  const auto floats = [](std::size_t count, int value) {
    return std::vector<float>(count, static_cast<float>(value));
  };
  for (int step = 0; step < 20; ++step) {
    test::set_values(gradients, floats(elements, communicator->rank() + step));
    test::set_values(sent, floats(128, 100 * communicator->rank() + step));
    const double one = 1;
    test::copy_to_device(&one, sum.data(), sizeof one);
    Request request = communicator->start_reduce_scatter(exec, {gradients.data(), elements, DType::fp32});
    exchange.exchange_faces(exec, 2, true, sent, received);
    exchange.add_up(exec, sum);
    communicator->wait(exec, request);
    communicator->synchronize(exec);
    const int previous = (communicator->rank() + ranks - 1) % ranks;
    const int next = (communicator->rank() + 1) % ranks;
    EXPECT_EQ(test::values_of(received.row_range(0, 1)), floats(64, 100 * previous + step));
    EXPECT_EQ(test::values_of(received.row_range(1, 1)), floats(64, 100 * next + step));
    EXPECT_EQ(numbers_of(sum)[0], ranks);
    const auto first = static_cast<std::int64_t>(slice) * communicator->rank();
    EXPECT_EQ(test::values_of(gradients.elements(first, slice)),
              floats(slice, ranks * (ranks - 1) / 2 + ranks * step));
  }
}

}  // namespace mylos::sample_exchange_test
