// An admin server over a fake daemon, on a core of its own.
#pragma once

#include <gtest/gtest.h>

#include <thread>

#include "host/admin/admin_server.h"
#include "host/core/clock.h"
#include "sim/scratch_folder.h"
#include "tests/fakes/fake_daemon.h"

namespace cardcage {

class AdminFixture : public ::testing::Test {
 protected:
  void SetUp() override { start(); }
  void TearDown() override { stop(); }

  void start() {
    server = make_server();
    const Status listening = server->restore();
    ASSERT_TRUE(listening) << listening.error().message;
    core.restart();
    thread = std::thread([this] {
      const auto work = asio::make_work_guard(core);
      core.run();
    });
  }
  virtual std::unique_ptr<AdminServer> make_server() {
    return std::make_unique<AdminServer>(core, clock, socket, daemon);
  }
  // Stops the server on the core, as the daemon does.
  void stop() {
    if (!thread.joinable()) return;
    asio::post(core, [this] { spawn(core, stop_server(*this)); });
    thread.join();
  }
  static Task<void> stop_server(AdminFixture& fixture) {
    co_await fixture.server->stop();
    fixture.server.reset();
    fixture.core.stop();
  }

  ScratchFolder folder;
  const std::filesystem::path socket = folder / "run/admin.sock";
  FakeDaemon daemon = FakeDaemon::busy_node();
  SystemClock clock;
  asio::io_context core;
  std::unique_ptr<AdminServer> server;
  std::thread thread;
};

}  // namespace cardcage
