#include "mylos/train/run/components/run_decks.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "mylos/base/errors/file_text.hpp"
#include "mylos/config/keys/sizes.hpp"

namespace mylos {
namespace {

constexpr const char* written_by_us = "# Every key with its value. Each start of the run writes this file.";

/// Leaves a file of this name alone if no run wrote it, and returns a message about it.
std::vector<std::string> write_deck(const std::string& path, const std::string& deck) {
  std::string first_line;
  std::ifstream before(path);
  const bool has_line = static_cast<bool>(std::getline(before, first_line));
  if (!has_line) require_read(before, path);
  if (has_line && first_line != written_by_us) return {path + " was not written by a run: left as it is"};
  std::ofstream file(path, std::ios::trunc);
  file << written_by_us << '\n' << deck << std::flush;
  if (!file) fail_run(ErrorId::cannot_write, "{}: cannot be written: {}", path, std::strerror(errno));
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
