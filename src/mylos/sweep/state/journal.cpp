#include "mylos/sweep/state/journal.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>

#include "mylos/base/errors/contents.hpp"
#include "mylos/base/errors/files.hpp"
#include "mylos/io/files/atomic_publish.hpp"

namespace mylos {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t max_result_bytes = 1 << 20;

/// A file of the journal: "0003-1.claim".
struct Entry {
  std::size_t member = 0;
  std::size_t rung = 0;
  std::string ending;
};

std::optional<Entry> entry_of(const std::string& name) {
  Entry entry;
  const char* end = name.data() + name.size();
  const auto member = std::from_chars(name.data(), end, entry.member);
  if (member.ec != std::errc() || member.ptr == end || *member.ptr != '-') return std::nullopt;
  const auto rung = std::from_chars(member.ptr + 1, end, entry.rung);
  if (rung.ec != std::errc() || rung.ptr == end || *rung.ptr != '.') return std::nullopt;
  entry.ending.assign(rung.ptr + 1, end);
  return entry;
}

/// Returns the files of members and rungs that the sweep has, in the order of their rungs.
std::vector<Entry> entries_of(const std::string& folder, std::size_t members, std::size_t rungs) {
  std::vector<Entry> entries;
  std::error_code failure;
  for (fs::directory_iterator file(folder, failure), end; !failure && file != end; file.increment(failure)) {
    const auto entry = entry_of(file->path().filename().string());
    if (entry && entry->member < members && entry->rung < rungs) entries.push_back(*entry);
  }
  if (failure) fail_run(errors::cannot_read, "{}: cannot be read: {}", folder, failure.message());
  std::sort(entries.begin(), entries.end(),
            [](const Entry& one, const Entry& other) { return one.rung < other.rung; });
  return entries;
}

std::string text_of(const std::string& path) {
  auto text = text_of_file(path, max_result_bytes);
  if (!text)
    fail_input(errors::damaged,
               "{}: is not the result of a member; delete it, and the member is trained again", path);
  return std::move(*text);
}

}  // namespace

Journal::Journal(std::string folder, std::size_t members, std::size_t rungs)
    : folder_(std::move(folder) + "/state"), members_(members), rungs_(rungs) {}

std::string Journal::path(std::size_t member, std::size_t rung, const char* ending) const {
  return fmt::format("{}/{}-{}.{}", folder_, member_name(member), rung, ending);
}

void Journal::begin() {
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) fail_run(errors::cannot_write, "{}: cannot be made: {}", folder_, failure.message());
  for (const Entry& entry : entries_of(folder_, members_.size(), rungs_)) {
    if (entry.ending == "claim") interrupt(entry.member, entry.rung);
    if (entry.ending != "json") continue;
    const std::string file = path(entry.member, entry.rung, "json");
    const MemberState state = parse_member_result(text_of(file), file).state;
    if (state == MemberState::failed || state == MemberState::does_not_fit) fs::remove(file, failure);
  }
}

bool Journal::refresh() {
  const std::vector<Member> before = members_;
  for (Member& member : members_) member.is_claimed = member.is_interrupted = false;
  const std::vector<Entry> entries = entries_of(folder_, members_.size(), rungs_);
  for (const Entry& entry : entries) {
    Member& member = members_[entry.member];
    if (entry.ending != "json" || entry.rung != member.results.size()) continue;  // read before
    const std::string file = path(entry.member, entry.rung, "json");
    member.results.push_back(parse_member_result(text_of(file), file));
  }
  for (const Entry& entry : entries) {
    Member& member = members_[entry.member];
    if (entry.rung != member.results.size()) continue;  // it has its result
    member.is_claimed = member.is_claimed || entry.ending == "claim";
    member.is_interrupted = member.is_interrupted || entry.ending == "interrupted";
  }
  return members_ != before;
}

std::vector<MemberProgress> Journal::progress() const {
  std::vector<MemberProgress> progress;
  for (const Member& member : members_) {
    MemberProgress& own = progress.emplace_back();
    for (const MemberResult& result : member.results) own.values.push_back(result.value);
    own.is_claimed = member.is_claimed;
    own.is_interrupted = member.is_interrupted;
    own.is_over = !member.results.empty() && member.results.back().is_over();
  }
  return progress;
}

std::vector<MemberRow> Journal::rows() const {
  std::vector<MemberRow> rows;
  for (const Member& member : members_) rows.push_back(row_of(member.results, member.is_claimed));
  return rows;
}

bool Journal::has_claims() const {
  return std::any_of(members_.begin(), members_.end(),
                     [](const Member& member) { return member.is_claimed; });
}

bool Journal::claim(std::size_t member, std::size_t rung) const {
  const std::string file = path(member, rung, "claim");
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0 && errno == EEXIST) return false;
  if (descriptor < 0) fail_run(errors::cannot_write, "{}: cannot be made: {}", file, std::strerror(errno));
  ::close(descriptor);
  return true;
}

void Journal::interrupt(std::size_t member, std::size_t rung) const {
  std::error_code failure;
  const std::string file = path(member, rung, "claim");
  fs::rename(file, path(member, rung, "interrupted"), failure);
  if (failure) fail_run(errors::cannot_write, "{}: cannot be renamed: {}", file, failure.message());
}

void Journal::finish(std::size_t member, std::size_t rung, const MemberResult& result) const {
  publish_text(path(member, rung, "json"), document_of(result));
}

}  // namespace mylos
