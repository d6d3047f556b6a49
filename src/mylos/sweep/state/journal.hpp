// Journal: the state of a sweep on disk, in the folder `state` of the sweep. Groups of ranks share it by
// files alone: a group claims a job by creating a file that must not exist, and publishes a result as a
// complete file or none. So no group waits for another, and a sweep that is killed at any time continues from
// here.
//
//   0003-1.claim        a group trains member 3 to rung 1
//   0003-1.interrupted  an earlier start of the sweep was training it, or was to train it
//   0003-1.json         the result (MemberResult)
#pragma once

#include <string>
#include <vector>

#include "mylos/sweep/schedule/halving.hpp"
#include "mylos/sweep/state/member_result.hpp"
#include "mylos/sweep/state/sweep_table.hpp"

namespace mylos {

class Journal {
 public:
  /// `folder`: of the sweep. Reads nothing.
  Journal(std::string folder, std::size_t members, std::size_t rungs);

  /// Makes the folder, and marks the jobs of an earlier start as interrupted. Removes the results of members
  /// that failed or did not fit, whose cause may be gone: they are trained again. Called once, by the only
  /// process that uses the journal. Throws Error (failed) if the folder cannot be written.
  void begin();

  /// Reads what has been written since the last call. Returns whether a result or a claim is new.
  bool refresh();
  [[nodiscard]] const std::vector<MemberResult>& results(std::size_t member) const {
    return members_[member].results;
  }
  [[nodiscard]] std::vector<MemberProgress> progress() const;
  [[nodiscard]] std::vector<MemberRow> rows() const;
  /// Whether a group trains a member.
  [[nodiscard]] bool has_claims() const;

  /// Returns false if another group was first. Throws Error (failed) if the file cannot be written.
  [[nodiscard]] bool claim(std::size_t member, std::size_t rung) const;
  /// Gives a claimed job up: a later start takes it.
  void interrupt(std::size_t member, std::size_t rung) const;
  void finish(std::size_t member, std::size_t rung, const MemberResult& result) const;

 private:
  struct Member {
    std::vector<MemberResult> results;
    bool is_claimed = false;
    bool is_interrupted = false;
    bool operator==(const Member&) const = default;
  };
  [[nodiscard]] std::string path(std::size_t member, std::size_t rung, const char* ending) const;

  std::string folder_;
  std::vector<Member> members_;
  std::size_t rungs_;
};

}  // namespace mylos
