// The parts of a kube-apiserver that Cardcage uses: objects with resourceVersions, watches with bookmarks, and faults
// on command. Serves HTTPS on loopback from its own thread; every method may be called from the test's thread.
//
// Checked against a real kube-apiserver: tests/cluster/client runs the same client there.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/fakes/https_server.h"

namespace cardcage {

// How to treat the next `times` requests that match.
struct Fault {
  enum class Kind {
    kStatus,       // respond with `status` and a Status object
    kReset,        // reset the connection without a response
    kActAndReset,  // execute the request, then reset the connection
    kTruncate,     // the right response, cut in half
    kHuge,         // a body of 32 MiB
    kSilence,      // no response
    kDelay,        // the right response, 100 ms late
  };
  Kind kind = Kind::kStatus;
  unsigned status = 500;
  std::string headers = {};  // "Retry-After: 1\r\n"
  std::string method = {};   // empty = any
  std::string target = {};   // part of path or query; empty = any
  int times = 1;
  boost::json::array causes = {};  // causes in the Status object
  std::string message = {};        // "injected fault 500" if it is empty
};

class FakeApiServer {
 public:
  explicit FakeApiServer(std::vector<std::string> versions = {"v1", "v1beta2", "v1beta1"});
  FakeApiServer(const FakeApiServer&) = delete;
  FakeApiServer& operator=(const FakeApiServer&) = delete;
  ~FakeApiServer();

  std::string url() const { return server_.url(); }
  const TestCertificates& certificates() const { return server_.certificates(); }

  // `collection` is the path after the version: "nodes", "resourceslices", "namespaces/ns/resourceclaims",
  // "namespaces/default/events". Lists and watches of "resourceclaims" have those of all namespaces,
  // unless a test puts claims there.
  void put(std::string collection, boost::json::object object);
  std::optional<boost::json::object> get(std::string collection, std::string name);
  void remove(std::string collection, std::string name);
  std::vector<std::string> names(std::string collection);

  void serve_versions(std::vector<std::string> versions);
  // Responds 401 to requests without this token; with an empty token, accepts every client.
  void require_token(std::string token);
  // Drops the field from all writes, at any depth, as a disabled feature gate does.
  void drop_field(std::string field);
  // Reviews of tokens and rights. `resource` is "group/resource/name" or "group/resource/subresource/namespace/name".
  // The client itself is the user kSelf.
  static constexpr const char* kSelf = "self";
  void know_user(std::string token, std::string user);
  void expire_token(std::string token);
  void allow(std::string user, std::string verb, std::string resource);
  void inject(Fault fault);
  void go_down() { server_.go_down(); }
  void come_up() { server_.come_up(); }

  void bookmark();                         // to every watch
  void send_to_watches(std::string text);  // raw bytes, as one chunk
  void end_watches();
  void compact();  // watches from older versions get an ERROR event with 410
  // Goes back to an earlier version, as a server whose etcd was restored from a backup: it refuses lists that ask for a
  // later version, and watches from one get no event before the version is reached again.
  void go_back(std::uint64_t version);
  std::size_t watches();

  std::vector<HttpsRequest> requests();
  std::size_t connections() { return server_.connections(); }

 private:
  // All members below belong to the server's thread.
  struct Event {
    std::uint64_t version = 0;
    std::string collection;  // empty = for every watch
    std::string text;        // empty = end
    std::string driver, node_name;
    boost::json::object labels = {}, labels_before = {};
  };
  struct Target {
    std::string collection, name, version;
    bool status = false;  // the subresource
    std::map<std::string, std::string> query;
  };
  using Exchange = std::shared_ptr<HttpsExchange>;
  struct Response {
    unsigned status = 200;
    std::string body;
  };

  static Task<void> handle(FakeApiServer& fake, Exchange exchange);
  static Task<void> misbehave(FakeApiServer& fake, Exchange exchange, Fault fault);
  static Task<void> watch(FakeApiServer& fake, Exchange exchange, Target target);
  static Task<void> send_events(FakeApiServer& fake, Exchange exchange, Target target);
  std::optional<Fault> take_fault(const HttpsRequest& request);
  std::optional<Target> parse(const std::string& target) const;
  Response execute(const HttpsRequest& request, Target target);
  // Returns nothing if the request is for another resource.
  std::optional<Response> review(const HttpsRequest& request) const;
  Response groups() const;
  // Whether lists and watches of `wanted` have the objects of the collection.
  bool lists(const std::string& collection, const std::string& wanted) const;
  Response list(const Target& target) const;
  Response table(const Target& target) const;
  Response create(const Target& target, boost::json::object object);
  Response update(const Target& target, boost::json::object object);
  Response patch(const Target& target, const HttpsRequest& request, const boost::json::object& changes);
  Response apply_status(const Target& target, const HttpsRequest& request, const boost::json::object& applied);
  Response erase(const Target& target, const boost::json::object& options);
  void store(const std::string& collection, const char* type, boost::json::object object);
  void drop_or_mark(const std::string& collection, boost::json::object object);
  void publish(Event event);

  std::vector<std::string> versions_;
  std::string token_;
  std::vector<std::string> dropped_;
  std::map<std::string, std::string> users_;  // by token
  std::set<std::string> rights_;              // "user verb group/resource/name"
  std::vector<Fault> faults_;
  std::map<std::string, std::map<std::string, boost::json::object>> objects_;
  std::map<std::string, std::map<std::string, std::set<std::string>>> applied_;  // by UID and manager
  std::vector<Event> events_;
  std::uint64_t version_ = 100, oldest_ = 100;
  std::uint64_t created_ = 0;
  std::vector<HttpsRequest> requests_;
  std::vector<asio::steady_timer*> watches_;
  HttpsServer server_;  // last: its thread ends first
};

}  // namespace cardcage
