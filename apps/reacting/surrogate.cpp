#include "surrogate.hpp"

#include <algorithm>
#include <utility>

#include "clock.hpp"
#include "random.hpp"

namespace reacting {

namespace {

enum Kind : unsigned char { by_network, integrated, sampled };

Rows first_rows(const Rows& rows, int count) {
  return Kokkos::subview(rows, std::pair<std::size_t, std::size_t>(0, static_cast<std::size_t>(count)),
                         Kokkos::ALL);
}

}  // namespace

Surrogate::Surrogate(const Grid& grid, const SurrogateOptions& options)
    : network(mylos::read_deck(options.deck), grid.ranks),
      trust(options.error_bound),
      window(options.window, static_cast<int>(network.max_samples())),
      grid_(grid),
      options_(options) {
  const auto cells = static_cast<std::size_t>(grid.own_cells());
  const auto rows = static_cast<std::size_t>(grid.rows) + 1;
  const auto columns = static_cast<std::size_t>(grid.columns) + 1;
  kinds_ = decltype(kinds_)("kinds", rows, columns);
  inputs_ = decltype(inputs_)("inputs", rows, columns);
  by_network_ = Kokkos::View<Cell*>("by network", cells);
  sampled_ = Kokkos::View<Cell*>("sampled", cells);
  integrated_ = Kokkos::View<Cell*>("integrated", cells);
  sampled_before_ = Kokkos::View<CellState*>("sampled before", cells);
  network_inputs_ = Rows("network inputs", cells, inputs_of_network);
  network_outputs_ = Rows("network outputs", cells, 1);
  sampled_inputs_ = Rows("sampled inputs", cells, inputs_of_network);
  sampled_outputs_ = Rows("sampled outputs", cells, 1);
  targets_ = Rows("targets", cells, 1);
}

Work Surrogate::react(const Fields& fields, Kinetics& kinetics, std::uint64_t step, double dt) {
  Work work;
  const double begin = now();
  const Counts counts = select(fields, step);
  const double selected = now();
  work.rosenbrock_steps = kinetics.integrate(fields, integrated_, counts.integrated, dt);
  const double after_kinetics = now();
  predict(fields, counts.by_network, dt);
  check(fields, counts.sampled, dt);
  trust.merge(grid_.ranks);
  double shares[2] = {static_cast<double>(counts.by_network), static_cast<double>(grid_.own_cells())};
  MPI_Allreduce(MPI_IN_PLACE, shares, 2, MPI_DOUBLE, MPI_SUM, grid_.ranks);
  share_of_network = shares[0] / shares[1];
  const double used = now();
  train(step);
  work.by_network = counts.by_network;
  work.kinetics_s = after_kinetics - selected;
  work.network_s = selected - begin + (used - after_kinetics);
  work.training_s = now() - used;
  return work;
}

/// Chooses what computes each cell, and lists the cells of each kind with their inputs.
Surrogate::Counts Surrogate::select(const Fields& fields, std::uint64_t step) {
  const int first_row = grid_.first_row;
  const int first_column = grid_.first_column;
  const int side = grid_.cells;
  const double check_share = options_.check_share;
  const double explore_share = options_.explore_share;
  const auto kinds = kinds_;
  const auto inputs = inputs_;
  const auto trusted = trust.trusted;
  const std::uint64_t stream = stream_of(2 * step);
  for_each_cell(
      "choose", grid_, KOKKOS_LAMBDA(int row, int column) {
        float x[inputs_of_network];
        encode(cell_state(fields, {row, column}), x);
        for (int i = 0; i < inputs_of_network; ++i) inputs(row, column, i) = x[i];
        const int bin = bin_of(x);
        const bool known = bin >= 0 && trusted(bin) != 0;
        const int place = (first_row + row - 1) * side + first_column + column - 1;  // in the square
        const double drawn = random_unit(stream, static_cast<std::uint64_t>(place));
        const bool is_sampled = bin >= 0 && drawn < (known ? check_share : explore_share);
        kinds(row, column) = is_sampled ? sampled : known ? by_network : integrated;
      });

  const int columns = grid_.columns;
  const auto network_list = by_network_;
  const auto sampled_list = sampled_;
  const auto integrated_list = integrated_;
  const auto network_inputs = network_inputs_;
  const auto sampled_inputs = sampled_inputs_;
  const auto before = sampled_before_;
  Counts counts;
  Kokkos::parallel_scan(
      "list", grid_.own_cells(),
      KOKKOS_LAMBDA(int number, Counts& next, bool is_final) {
        const Cell cell{number / columns + 1, number % columns + 1};
        const unsigned char kind = kinds(cell.row, cell.column);
        if (kind == by_network) {
          if (is_final) {
            network_list(next.by_network) = cell;
            for (int i = 0; i < inputs_of_network; ++i) {
              network_inputs(next.by_network, i) = inputs(cell.row, cell.column, i);
            }
          }
          ++next.by_network;
          return;
        }
        if (kind == sampled) {
          if (is_final) {
            sampled_list(next.sampled) = cell;
            before(next.sampled) = cell_state(fields, cell);
            for (int i = 0; i < inputs_of_network; ++i)
              sampled_inputs(next.sampled, i) = inputs(cell.row, cell.column, i);
          }
          ++next.sampled;
        }
        if (is_final) integrated_list(next.integrated) = cell;
        ++next.integrated;
      },
      counts);
  return counts;
}

/// Replaces the states of the cells that the network computes.
void Surrogate::predict(const Fields& fields, int count, double dt) {
  if (count == 0) return;
  network.infer(first_rows(network_inputs_, count), first_rows(network_outputs_, count));
  const auto list = by_network_;
  const auto outputs = network_outputs_;
  Kokkos::parallel_for(
      "predict", count, KOKKOS_LAMBDA(int i) {
        const CellState before = cell_state(fields, list(i));
        const Pair<double> after = decode(before, outputs(i, 0), dt);
        const auto [row, column] = list(i);
        fields(y1, row, column) = before.total - after.y3 - after.y2;
        fields(y2, row, column) = after.y2;
        fields(y3, row, column) = after.y3;
      });
}

/// Compares predictions of the sampled cells with what was integrated there, which also becomes samples.
void Surrogate::check(const Fields& fields, int count, double dt) {
  if (count == 0) return;
  network.infer(first_rows(sampled_inputs_, count), first_rows(sampled_outputs_, count));
  const double bound = options_.error_bound;
  const auto list = sampled_;
  const auto inputs = sampled_inputs_;
  const auto outputs = sampled_outputs_;
  const auto targets = targets_;
  const auto states = sampled_before_;
  const auto checks = trust.checks;
  Kokkos::parallel_for(
      "check", count, KOKKOS_LAMBDA(int i) {
        const CellState before = states(i);
        const CellState after = cell_state(fields, list(i));
        targets(i, 0) = target_of(before, after.y3, dt);
        const float x[inputs_of_network] = {inputs(i, 0), inputs(i, 1), inputs(i, 2)};
        checks.add(bin_of(x),
                   error_of(before, decode(before, outputs(i, 0), dt), {after.y2, after.y3}) / bound);
      });
  window.append(sampled_inputs_, targets_, count);
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
