// One watch on the ResourceSlices of a node, for all drivers of the daemon.
//
// A watch per driver would cost the API server as many connections' worth of bookmarks and renewals; at 10,000 nodes
// they are its largest load. The server finds slices by the name of their node, so the filter by driver is here.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "host/core/clock.h"
#include "host/core/wakeup.h"
#include "host/model/cluster.h"

namespace cardcage {

// [core] One of the followers runs the watch; if it is cancelled, another one continues. Followers share the feed,
// since their coroutines may be destroyed after its owner.
class SliceFeed : public std::enable_shared_from_this<SliceFeed> {
 public:
  // Runs the watch from a version, and hands out its lines.
  using Watch = std::function<Task<Status>(std::string since, std::function<Status(std::string_view line)> on_line)>;

  SliceFeed(asio::io_context& core, Clock& clock, Watch watch);
  SliceFeed(const SliceFeed&) = delete;
  SliceFeed& operator=(const SliceFeed&) = delete;

  // As Cluster::watch_slices(). The watch starts again, for all, if it has passed an event that this follower lacks.
  // After a lost connection the next watch waits for a random time, since all nodes lose theirs together.
  Task<Status> follow(std::string driver, std::string& version, std::function<void(SliceEvent)> on_event);
  // Ends the watch for all followers, whose versions are void.
  void end(const Status& how);
  // Returns the newest version that a follower came with or got since the last end(); "0" before that.
  const std::string& newest_version() const { return newest_version_; }

 private:
  struct Follower {
    Follower(asio::io_context& core, std::string of_driver, std::string& from, std::function<void(SliceEvent)> take)
        : driver(std::move(of_driver)), version(from), on_event(std::move(take)), wakeup(core) {}
    std::string driver;
    std::string& version;
    std::function<void(SliceEvent)> on_event;
    Wakeup wakeup;
    bool behind = false;  // the watch has passed events that it lacks, and is about to start again
    std::optional<Status> end;
  };
  class Membership;

  Task<std::optional<Status>> lead(const Follower& leader);
  void note(const std::string& version);
  Status take_line(std::string_view line);
  bool has_passed(const Follower& follower) const;
  std::string oldest_version() const;
  void end_followers(const Status& how);
  void end_all(const Status& how);

  asio::io_context& core_;
  Clock& clock_;
  const Watch watch_;
  std::list<Follower> followers_;
  const Follower* leader_ = nullptr;
  bool watching_ = false;
  Wakeup restart_;
  std::string start_, version_;                // the running watch began after start_, and has delivered version_
  std::map<std::string, std::string> newest_;  // by driver: its newest event in the running watch
  std::string newest_version_ = "0";
  Instant not_before_ = Instant::min();
  std::minstd_rand random_{std::random_device{}()};
};

}  // namespace cardcage
