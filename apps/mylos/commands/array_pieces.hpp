// Reads an array of a file piece by piece: while one thread reads a piece, others process theirs.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

namespace mylos::app {

/// The bytes that a thread reads at a time, or one row if that is larger: a piece stays in the thread's
/// cache.
inline constexpr std::int64_t bytes_of_piece = std::int64_t{1} << 20;

/// Processes `rows` rows of `columns` numbers. read(first_row, count, destination) reads some rows and
/// compute(span of T) computes a result; several threads call both at the same time. take(result) is called
/// in the order of the pieces. If several pieces throw, the exception of the first piece is rethrown.
template <class T, class Read, class Compute, class Take>
void for_each_piece(std::int64_t rows, std::int64_t columns, int threads, const Read& read,
                    const Compute& compute, const Take& take) {
  if (rows == 0 || columns == 0) return;
  const auto row_bytes = columns * static_cast<std::int64_t>(sizeof(T));
  const std::int64_t most = std::min(rows, std::max<std::int64_t>(1, bytes_of_piece / row_bytes));
  const std::int64_t pieces = (rows + most - 1) / most;
  using Result = decltype(compute(std::span<const T>()));
  std::atomic<std::int64_t> next = 0;
  std::mutex mutex;  // of what follows
  std::int64_t taken = 0;
  std::map<std::int64_t, Result> waiting;
  std::map<std::int64_t, std::exception_ptr> failures;

  const auto work = [&] {
    std::vector<T> values(static_cast<std::size_t>(most * columns));
    for (std::int64_t piece = next++; piece < pieces; piece = next++) {
      try {
        const std::int64_t count = std::min(most, rows - piece * most);
        read(piece * most, count, values.data());
        Result result = compute(std::span<const T>(values.data(), static_cast<std::size_t>(count * columns)));
        const std::lock_guard lock(mutex);
        waiting.emplace(piece, std::move(result));
        for (auto first = waiting.begin(); first != waiting.end() && first->first == taken; ++taken) {
          take(first->second);
          first = waiting.erase(first);
        }
      } catch (...) {
        const std::lock_guard lock(mutex);
        failures.emplace(piece, std::current_exception());
        next = pieces;
      }
    }
  };
  std::vector<std::thread> others;
  const std::int64_t busy = std::min<std::int64_t>(threads, pieces);
  while (static_cast<std::int64_t>(others.size()) + 1 < busy) others.emplace_back(work);
  work();
  for (std::thread& other : others) other.join();
  if (!failures.empty()) std::rethrow_exception(failures.begin()->second);
}

}  // namespace mylos::app
