#include "mylos/train/run/components/run_decks.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "mylos/config/keys/sizes.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

constexpr std::int64_t max_deck_bytes = std::int64_t{64} << 20;
constexpr const char* written_by_us = "# Every key with its value. Each start of the run writes this file.";

/// Leaves a file of this name alone if no run wrote it, and returns a message about it.
std::vector<std::string> write_deck(const std::string& path, const std::string& deck) {
  const auto before = text_of_file(path, max_deck_bytes);
  if (before && !before->empty() && !before->starts_with(std::string(written_by_us) + '\n'))
    return {path + " was not written by a run: left as it is"};
  publish_text(path, fmt::format("{}\n{}", written_by_us, deck));
  return {};
}

}  // namespace

std::vector<std::string> write_resolved_deck(const RunContext& run, const std::string& resolved) {
  return write_deck(run.file("resolved.toml"), with_sizes(resolved, run.options().model));
}

std::vector<std::string> write_amended_deck(const RunContext& run) {
  const std::string path = run.file("amended.toml");
  if (!run.amendments.empty()) return write_deck(path, with_sizes(run.deck, run.options().model));
  std::error_code failure;
  std::filesystem::remove(path, failure);
  return {};
}

}  // namespace mylos
