#include "surrogate.hpp"

#include "clock.hpp"
#include "random.hpp"

namespace reacting {

namespace {

enum Kind : unsigned char { by_network, integrated, sampled };

/// The index of a cell among those of its rank.
KOKKOS_INLINE_FUNCTION int number_of(int row, int column, int columns) {
  return (row - 1) * columns + column - 1;
}

}  // namespace

Surrogate::Surrogate(const Grid& grid, const SurrogateOptions& options)
    : network(mylos::read_deck(options.deck), grid.ranks),
      trust(options.error_bound),
      window(options.window, options.batch),
      grid_(grid),
      options_(options) {
  const auto cells = static_cast<std::size_t>(grid.own_cells());
  kinds_ = Kokkos::View<unsigned char*>("kinds", cells);
  inputs_ = Rows("inputs", cells, inputs_of_network);
  outputs_ = Rows("outputs", cells, 1);
  integrated_ = Kokkos::View<Cell*>("integrated", cells);
  sampled_ = Kokkos::View<Cell*>("sampled", cells);
  sampled_before_ = Kokkos::View<CellState*>("sampled before", cells);
  sampled_inputs_ = Rows("sampled inputs", cells, inputs_of_network);
  sampled_targets_ = Rows("sampled targets", cells, 1);
}

Work Surrogate::react(const Fields& fields, Kinetics& kinetics, std::uint64_t step, double dt) {
  Work work;
  const double begin = now();
  choose(fields, step);
  const Counts counts = list(fields);
  network.infer(inputs_, outputs_);
  predict(fields, dt);
  const double predicted = now();
  work.rosenbrock_steps = kinetics.integrate(fields, integrated_, counts.integrated, dt);
  const double integrated_all = now();
  check(fields, counts.sampled, dt);
  trust.merge(grid_.ranks);
  work.by_network = grid_.own_cells() - counts.integrated;
  long cells[2] = {work.by_network, grid_.own_cells()};
  MPI_Allreduce(MPI_IN_PLACE, cells, 2, MPI_LONG, MPI_SUM, grid_.ranks);
  share_of_network = static_cast<double>(cells[0]) / static_cast<double>(cells[1]);
  const double checked = now();
  train(step);
  work.network_s = predicted - begin + (checked - integrated_all);
  work.kinetics_s = integrated_all - predicted;
  work.training_s = now() - checked;
  return work;
}

/// Computes the network's inputs and chooses what computes each cell.
void Surrogate::choose(const Fields& fields, std::uint64_t step) {
  const int columns = grid_.columns;
  const auto inputs = inputs_;
  for_each_cell(
      "encode", grid_, KOKKOS_LAMBDA(int row, int column) {
        float x[inputs_of_network];
        encode(cell_state(fields, {row, column}), x);
        const int cell = number_of(row, column, columns);
        for (int i = 0; i < inputs_of_network; ++i) inputs(cell, i) = x[i];
      });

  const int first_row = grid_.first_row;
  const int first_column = grid_.first_column;
  const int side = grid_.cells;
  const double check_share = options_.check_share;
  const double explore_share = options_.explore_share;
  const auto kinds = kinds_;
  const auto trusted = trust.trusted;
  const std::uint64_t stream = stream_of(2 * step);
  for_each_cell(
      "choose", grid_, KOKKOS_LAMBDA(int row, int column) {
        const int cell = number_of(row, column, columns);
        const float x[inputs_of_network] = {inputs(cell, 0), inputs(cell, 1), inputs(cell, 2)};
        const int bin = bin_of(x);
        const bool known = bin >= 0 && trusted(bin) != 0;
        const int cell_in_square = (first_row + row - 1) * side + first_column + column - 1;  // in the square
        const double drawn = random_unit(stream, static_cast<std::uint64_t>(cell_in_square));
        const bool is_sampled = bin >= 0 && drawn < (known ? check_share : explore_share);
        kinds(cell) = is_sampled ? sampled : known ? by_network : integrated;
      });
}

/// Lists the cells that are integrated, and those that are sampled with their inputs and states.
Surrogate::Counts Surrogate::list(const Fields& fields) {
  const int columns = grid_.columns;
  const auto kinds = kinds_;
  const auto inputs = inputs_;
  const auto integrated_list = integrated_;
  const auto sampled_list = sampled_;
  const auto sampled_inputs = sampled_inputs_;
  const auto before = sampled_before_;
  Counts counts;
  Kokkos::parallel_scan(
      "list", grid_.own_cells(),
      KOKKOS_LAMBDA(int number, Counts& next, bool is_final) {
        if (kinds(number) == by_network) return;
        const Cell cell{number / columns + 1, number % columns + 1};
        if (is_final) integrated_list(next.integrated) = cell;
        ++next.integrated;
        if (kinds(number) == integrated) return;
        if (is_final) {
          sampled_list(next.sampled) = cell;
          before(next.sampled) = cell_state(fields, cell);
          for (int i = 0; i < inputs_of_network; ++i) sampled_inputs(next.sampled, i) = inputs(number, i);
        }
        ++next.sampled;
      },
      counts);
  return counts;
}

/// Replaces the states of the cells that the network computes.
void Surrogate::predict(const Fields& fields, double dt) {
  const int columns = grid_.columns;
  const auto kinds = kinds_;
  const auto outputs = outputs_;
  for_each_cell(
      "predict", grid_, KOKKOS_LAMBDA(int row, int column) {
        const int cell = number_of(row, column, columns);
        const CellState before = cell_state(fields, {row, column});
        const Pair<double> after = decode(before, outputs(cell, 0), dt);
        if (kinds(cell) == by_network) {
          fields(y1, row, column) = before.total - after.y3 - after.y2;
          fields(y2, row, column) = after.y2;
          fields(y3, row, column) = after.y3;
        }
      });
}

/// Compares predictions of the sampled cells with what was integrated there, which also becomes samples.
void Surrogate::check(const Fields& fields, int count, double dt) {
  const int columns = grid_.columns;
  const double bound = options_.error_bound;
  const auto list = sampled_;
  const auto inputs = sampled_inputs_;
  const auto targets = sampled_targets_;
  const auto states = sampled_before_;
  const auto outputs = outputs_;
  const auto checks = trust.checks;
  Kokkos::parallel_for(
      "check", count, KOKKOS_LAMBDA(int i) {
        const CellState before = states(i);
        const CellState after = cell_state(fields, list(i));
        targets(i, 0) = target_of(before, after.y3, dt);
        const float x[inputs_of_network] = {inputs(i, 0), inputs(i, 1), inputs(i, 2)};
        const float output = outputs(number_of(list(i).row, list(i).column, columns), 0);
        checks.add(bin_of(x), error_of(before, decode(before, output, dt), {after.y2, after.y3}) / bound);
      });
  window.append(sampled_inputs_, sampled_targets_, count);
}

/// Much while the network computes few cells, and little, to follow the flow, when it computes most.
void Surrogate::train(std::uint64_t step) {
  const bool learning = share_of_network < options_.learned_share;
  const auto idle = static_cast<std::uint64_t>(options_.idle_steps);
  const int steps = learning ? options_.learning_steps : step % idle == 0 ? 1 : 0;
  for (int i = 0; i < steps; ++i) {
    const auto rank = static_cast<std::uint64_t>(grid_.rank);
    const std::uint64_t batch = (step * 1024 + static_cast<std::uint64_t>(i)) * 65536 + rank;
    window.draw(stream_of(2 * batch + 1));  // odd: not the streams of select()
    const mylos::StepReport report = network.step(window.batch_inputs(), window.batch_targets());
    last_loss_ = report.loss;
    training_steps_ = report.step;
  }
}

}  // namespace reacting
