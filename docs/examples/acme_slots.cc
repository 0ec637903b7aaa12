// SPDX-License-Identifier: Apache-2.0
// Cards of two slots each: what a module does beyond discover, prepare and unprepare. A file stands in for each card
// (acme0), for its fault (acme0.hot) and for what a slot is programmed with (acme0-slot-1.user).
#include <signal.h>
#include <cardcage/sdk.hpp>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>

namespace {

namespace fs = std::filesystem;

class Slots final : public cage::Module {
 public:
  static constexpr std::string_view id = "com.acme.slots", version = "1.0.0", vendor = "Acme";
  static constexpr std::uint32_t state_version = 1;
  static constexpr cage::Option declared_options[] = {cage::Option::text("dev_dir", "/dev", "where the cards are")};
  static constexpr auto programmed = cage::gauge("slot_programmed", "1 while a claim uses the slot");
  static constexpr auto declared_metrics = std::tie(programmed);

  Slots(const cage::Call&, cage::Host host, const cage::Values& options)
      : host_(host), dir_(std::string(options.text("dev_dir"))) {}

  void start(const cage::Call&) override {
    watcher_ = std::thread([this] { watch(); });
  }
  void stop(const cage::Call&) override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    woken_.notify_all();
    if (watcher_.joinable()) watcher_.join();  // no thread is left after stop [R9]
  }

  // Partitions: two slots share the memory of their card, so a claim for the whole card and one for a slot exclude
  // each other. Without counters the slots must not be listed.
  void discover(const cage::Call&, cage::Snapshot& out) override {
    for (const std::string& card : cards()) {
      out.add(cage::Device(card, "card").capacity("memory", cage::Quantity::gib(8)));
      if (!out.has_counters()) continue;
      out.counter_set(card, {{"memory", cage::Quantity::gib(8)}});
      out.consumes(card, card, {{"memory", cage::Quantity::gib(8)}});
      for (const char* slot : {"-slot-0", "-slot-1"}) {
        out.add(cage::Device(card + slot, "slot").parent(card).capacity("memory", cage::Quantity::gib(4)));
        out.consumes(card + slot, card, {{"memory", cage::Quantity::gib(4)}});
      }
    }
  }

  // Journal and state: a prepare that died may have programmed some devices. The next call finds its notes and undoes
  // them. What succeeded is saved for unprepare.
  void prepare(const cage::Call& call, const cage::Claim& claim, cage::Edits& edits) override {
    clear(claim.journal());
    std::string devices;
    for (const cage::Allocation& device : claim.allocations()) devices += std::string(device.device()) + "\n";
    if (edits.has_journal()) edits.journal(devices);
    for (const cage::Allocation& device : claim.allocations()) {
      call.checkpoint();
      std::ofstream(user_file(device.device())) << claim.uid();
      edits.of(device).env_list("ACME_DEVICES", device.device());
    }
    // A hook of the container runtime: links the libraries in each container of the claim.
    edits.of_claim().hook({"createContainer", "/usr/bin/acme-hook", {"acme-hook", "link-libraries"}});
    edits.save(devices);
  }
  void unprepare(const cage::Call&, const cage::Claim& claim) override {
    clear(claim.state());
    clear(claim.journal());
  }

  // Frees what no live claim holds: after a crash, or after claims that ended while the node was off.
  void reconcile(const cage::Call&, const std::vector<cage::Claim>& live) override {
    std::set<std::string> held;
    for (const cage::Claim& claim : live) {
      for (const cage::Allocation& device : claim.allocations()) held.emplace(device.device());
    }
    for (const auto& entry : fs::directory_iterator(dir_)) {
      const fs::path& file = entry.path();
      if (file.extension() == ".user" && held.count(file.stem().string()) == 0) fs::remove(file);
    }
  }

  void collect_metrics(const cage::Call&, cage::Samples& out) override {
    for (const std::string& card : cards()) {
      for (const char* slot : {"-slot-0", "-slot-1"}) {
        out.add(programmed, card + slot, fs::exists(user_file(card + slot)) ? 1 : 0);
      }
    }
  }

 private:
  // Reports what changes. A driver has events to wait for; a module that polls does so rarely.
  void watch() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals belong to the host [R9]
    std::set<std::string> known = cards();
    std::map<std::string, bool> was_hot;
    std::unique_lock lock(mutex_);
    do {
      std::set<std::string> now = cards();
      if (now != known) host_.rescan();  // the host calls discover
      known = std::move(now);
      for (const std::string& card : known) {
        const bool hot = fs::exists(dir_ / (card + ".hot"));
        const auto [before, first] = was_hot.emplace(card, hot);
        if (!first && before->second == hot) continue;
        before->second = hot;
        const cage::Health health = hot ? cage::Health::bad("TooHot", "above 90 degrees") : cage::Health::ok();
        host_.health(card, health.about("Thermal"));
      }
    } while (!woken_.wait_for(lock, std::chrono::seconds(1), [this] { return stopping_; }));
  }

  std::set<std::string> cards() const {
    std::set<std::string> found;
    std::error_code gone;  // the thread must not throw
    for (const auto& entry : fs::directory_iterator(dir_, gone)) {
      const std::string name = entry.path().filename().string();
      if (name.rfind("acme", 0) == 0 && name.find_first_of(".-") == std::string::npos) found.insert(name);
    }
    return found;
  }
  fs::path user_file(std::string_view device) const { return dir_ / (std::string(device) + ".user"); }
  void clear(std::string_view devices) const {
    std::istringstream lines{std::string(devices)};
    for (std::string device; std::getline(lines, device);) fs::remove(user_file(device));
  }

  cage::Host host_;
  const fs::path dir_;
  std::mutex mutex_;
  std::condition_variable woken_;
  bool stopping_ = false;
  std::thread watcher_;
};

}  // namespace

CARDCAGE_MODULE(Slots)
