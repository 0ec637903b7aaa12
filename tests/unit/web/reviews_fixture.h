// Reviews by the fake API server, with a service account in a scratch folder.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <memory>

#include "host/core/file.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/core_fixture.h"
#include "tests/fakes/fake_api_server.h"
#include "tests/fakes/fake_clock.h"
#include "web/server/reviews.h"

namespace cardcage {

class ReviewsFixture : public CoreFixture {
 protected:
  static constexpr const char* kNode = "cardcage.dev/nodes/n1";

  void SetUp() override {
    ASSERT_TRUE(write_file_atomically(account / "ca.crt", api.certificates().ca, 0600, false));
    ASSERT_TRUE(write_file_atomically(account / "token", "of-the-page", 0600, false));
    api.require_token("of-the-page");
    api.know_user("alices", "alice");
    api.know_user("bobs", "bob");
    api.allow("alice", "get", kNode);
    make_reviews(true);
  }
  void make_reviews(bool commands) {
    const std::string url = api.url();
    auto credentials =
        Credentials::from_service_account(clock, {"127.0.0.1", url.substr(url.rfind(':') + 1), account.path()});
    ASSERT_TRUE(credentials) << credentials.error().message;
    const ApiPace pace{.request_timeout = std::chrono::seconds(20),
                       .first_pause = std::chrono::milliseconds(1),
                       .longest_pause = std::chrono::milliseconds(20)};
    reviews = std::make_unique<Reviews>(core, clock, std::move(*credentials),
                                        ReviewedResource{.resource = "nodes", .name = "n1"}, commands, pace);
  }
  // Runs the core until `done`, and moves the clock while something sleeps, so that retries come to an end.
  bool finishes(const std::function<bool()>& done) {
    const Instant end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!done() && std::chrono::steady_clock::now() < end) {
      core.restart();
      core.run_for(std::chrono::milliseconds(1));
      if (clock.sleepers() > 0) clock.advance(std::chrono::milliseconds(100));
    }
    return done();
  }
  Result<Visitor> visitor(const std::string& token) {
    std::optional<Result<Visitor>> ended;
    spawn(core, ask(*reviews, token, ended));
    if (!finishes([&] { return ended.has_value(); })) return fail(Code::kInternal, "no decision within a minute");
    return *ended;
  }
  static Task<void> ask(Reviews& reviews, std::string token, std::optional<Result<Visitor>>& ended) {
    ended = co_await reviews.visitor(std::move(token));
  }
  Code code_of(const std::string& token) {
    const auto reviewed = visitor(token);
    return reviewed ? Code::kOk : reviewed.error().code;
  }
  std::size_t count(const std::string& part) {
    const auto requests = api.requests();
    return static_cast<std::size_t>(std::ranges::count_if(
        requests, [&](const HttpsRequest& request) { return request.target.find(part) != std::string::npos; }));
  }

  FakeApiServer api;
  ScratchFolder account;
  FakeClock clock;
  std::unique_ptr<Reviews> reviews;
};

}  // namespace cardcage
