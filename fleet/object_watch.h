// Follows all objects of one kind: reads them in pages, then watches that continue each other.
#pragma once

#include <functional>
#include <optional>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "host/apiserver/api_session.h"
#include "host/apiserver/json_view.h"
#include "host/core/backoff.h"

namespace cardcage {

struct WatchedKind {
  std::string what;                // for people: "ResourceSlices"
  std::vector<std::string> paths;  // versions of the API, the preferred one first
  std::string selector = {};       // "fieldSelector=...", percent-encoded
  int page = 100;                  // objects per page; fewer if these are large
  bool optional = false;           // clusters without this kind are fine
};

// [core] Gets the objects. It must copy what it keeps: the text that they point into is freed.
class ObjectSink {
 public:
  virtual ~ObjectSink() = default;
  // Identifies an object among those of its kind.
  virtual std::string key(const json::object& object) const = 0;
  virtual void put(const json::object& object) = 0;
  virtual void remove(const json::object& object) = 0;
  // A list is complete: objects that it does not name are gone.
  virtual void keep(const std::unordered_set<std::string>& keys) = 0;
};

struct WatchPace {
  Duration first_pause = std::chrono::seconds(1), longest_pause = std::chrono::seconds(15);
  // The API server ends a watch after a time between these two, so that watches do not all end at once.
  std::chrono::seconds least_time{300}, most_time{600};
  // The API server sends a bookmark every minute. Longer silence means that the connection is lost.
  Duration silence = std::chrono::seconds(150);
  // A watch that has run for this long without an error counts as connected.
  Duration settled = std::chrono::seconds(6);
  Duration page_limit = std::chrono::seconds(60);
  Duration retry_unserved = std::chrono::minutes(10);  // for an optional kind
};

// [core] Must outlive run(). What was read stays after a failure; the next attempt continues from the last event, or
// reads all pages again if the API server has forgotten it (410).
class ObjectWatch {
 public:
  struct State {
    bool listed = false;  // all objects have been read once, or the cluster lacks the kind
    bool connected = false;
    std::chrono::system_clock::time_point last_news{};  // when it was last connected
    std::string error = {};                             // why it is not connected
  };

  // Calls `state_changed` when `listed` or `connected` changes.
  ObjectWatch(asio::io_context& core, Clock& clock, ApiSession& session, WatchedKind kind, ObjectSink& sink,
              WatchPace pace, std::function<void()> state_changed);

  // Runs until the surrounding coroutine is cancelled.
  Task<void> run();

  const State& state() const { return state_; }
  // Path of the objects of a namespace, in the version of the API that the watch uses.
  std::string path_in(std::string_view name_space) const;
  // "ResourceClaims are as of 2027-01-15T08:00:00Z: API server unreachable: ..."; nothing while connected.
  std::optional<std::string> warning() const;

 private:
  const std::string& path() const { return kind_.paths[version_]; }
  Task<Status> step();
  Task<Status> list();
  Task<Result<std::string>> list_page(std::string next, int size, std::unordered_set<std::string>& keys);
  Task<Status> watch();
  Task<void> wait_for_silence();
  Duration pause_after(const Error& error);
  void set_connected();
  void set_lost(const Error& error);
  void set_listed();

  Clock& clock_;
  ApiSession& session_;
  const WatchedKind kind_;
  ObjectSink& sink_;
  const WatchPace pace_;
  const std::function<void()> state_changed_;
  asio::steady_timer timer_;
  std::minstd_rand random_{std::random_device{}()};
  Backoff retry_;
  State state_;
  std::size_t version_ = 0;       // version of the API, as an index of paths
  std::string resource_version_;  // empty = read all pages
  Instant watch_began_, last_line_;
};

}  // namespace cardcage
