// Programming, which takes time: FME_PORT_PR, and a name written to `firmware`.
#include <fmt/format.h>
#include <linux/fpga-dfl.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "sim/fpga/fake_fpgas.h"

namespace cardcage {
namespace {

constexpr std::size_t kIdBytes = 16, kWord = 4;

std::string hex_of(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

fake_fpga::Xrt& xrt_at(fake_fpga::Machine& machine, const std::string& address) {
  fake_fpga::Card* card = machine.card_of_function(address);
  if (card == nullptr || !card->xrt) throw std::runtime_error("no card of XRT at " + address);
  return *card->xrt;
}

}  // namespace

std::string fake_payload(const std::string& afu_id, std::size_t size) {
  std::string payload;
  for (std::size_t i = 0; i + 1 < afu_id.size() && payload.size() < kIdBytes; i += 2) {
    unsigned byte = 0;
    std::from_chars(afu_id.data() + i, afu_id.data() + i + 2, byte, 16);
    payload.push_back(static_cast<char>(byte));
  }
  payload.resize(std::max(size, kIdBytes), '\x5a');
  return payload;
}

void FakeFpgas::set_programming_time(std::chrono::milliseconds time) {
  const std::lock_guard lock(mutex_);
  programming_.time = time;
}

void FakeFpgas::fail_next(const Failure& failure) {
  const std::lock_guard lock(mutex_);
  programming_.next_failure = failure;
}

void FakeFpgas::hold() {
  const std::lock_guard lock(mutex_);
  programming_.holding = true;
}

void FakeFpgas::release() {
  const std::lock_guard lock(mutex_);
  programming_.holding = false;
  for (Job& job : programming_.jobs) job.held = false;
  changed_.notify_all();
}

std::size_t FakeFpgas::programming() const {
  const std::lock_guard lock(mutex_);
  return programming_.jobs.size() + programming_.loading;
}

std::string FakeFpgas::last_payload() const {
  const std::lock_guard lock(mutex_);
  return programming_.last_payload;
}

void FakeFpgas::load_xclbin(const std::string& address, const std::string& uuid) {
  std::unique_lock lock(mutex_);
  record(0, fmt::format("xclbin {} {}", address, uuid));
  xrt_at(machine_, address);
  const auto failure = std::exchange(programming_.next_failure, std::nullopt);
  const Clock::time_point end = Clock::now() + programming_.time;
  ++programming_.loading;
  if (programming_.holding) changed_.wait(lock, [&] { return !programming_.holding || stopping_; });
  changed_.wait_until(lock, end, [&] { return stopping_; });
  --programming_.loading;
  if (failure) throw std::runtime_error("Failed to load xclbin: " + failure->status);
  xrt_at(machine_, address).xclbin_uuid = uuid;
  tree_.reset();
}

void FakeFpgas::reset_xrt(const std::string& address) {
  const std::lock_guard lock(mutex_);
  record(0, "reset " + address);
  fake_fpga::Xrt& xrt = xrt_at(machine_, address);
  xrt.xclbin_uuid = fake_fpga::Xrt{}.xclbin_uuid;
  xrt.firewall_level = xrt.firewall_status = 0;
  tree_.reset();
}

// Follows the order of fme_pr(): arguments and memory are checked before the lock is taken.
FakeFpgas::Answer FakeFpgas::program(const Request& request, const std::string& address, std::uint64_t argument) {
  dfl_fpga_fme_port_pr call{};
  if (!read_memory(request.caller, argument, &call, sizeof call)) return Reply{EFAULT, ""};
  if (call.argsz < sizeof call || call.flags != 0) return Reply{EINVAL, ""};
  if (call.port_id >= card_at(address).dfl->ports.size()) return Reply{EINVAL, ""};
  if (call.buffer_size == 0) return Reply{ENOMEM, ""};  // vmalloc(0)
  std::string payload((call.buffer_size + kWord - 1) / kWord * kWord, '\0');
  if (!read_memory(request.caller, call.buffer_address, payload.data(), call.buffer_size)) return Reply{EFAULT, ""};
  return with_fme_lock(request, address, [this, request, address, port = call.port_id, payload]() -> Answer {
    Card& card = card_at(address);
    card.dfl->programming = true;
    card.dfl->manager.state = "write";
    card.dfl->manager.status.clear();
    ++card.port(port)->disabled;
    start({.request = request, .address = address, .port = port, .payload = payload});
    return std::nullopt;
  });
}

FakeFpgas::Answer FakeFpgas::write_firmware(const Request& request, Card& card, const std::string& text) {
  const std::string name = text.substr(0, text.find('\n'));
  if (std::ranges::any_of(programming_.jobs, [&](const Job& job) { return job.address == card.address; }))
    return Reply{EBUSY, ""};
  tree_.reset();
  if (!options_.firmware.empty() && !std::filesystem::is_regular_file(options_.firmware / name)) {
    card.soc->manager.state = "firmware request error";
    return Reply{ENOENT, ""};
  }
  card.soc->manager.state = "write";
  start({.request = request, .address = card.address, .payload = name});
  return std::nullopt;
}

void FakeFpgas::start(Job job) {
  job.failure = std::exchange(programming_.next_failure, std::nullopt);
  job.end = Clock::now() + programming_.time;
  job.held = programming_.holding;
  programming_.jobs.push_back(std::move(job));
  tree_.reset();
  changed_.notify_all();
}

void FakeFpgas::run_jobs() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto due = [](const Job& job) { return !job.held && job.end <= Clock::now(); };
    const auto ended = std::ranges::find_if(programming_.jobs, due);
    if (ended != programming_.jobs.end()) {
      const Job job = std::move(*ended);
      programming_.jobs.erase(ended);
      finish(job);
      continue;
    }
    Clock::time_point next = Clock::time_point::max();
    for (const Job& job : programming_.jobs) {
      if (!job.held) next = std::min(next, job.end);
    }
    if (next == Clock::time_point::max()) {
      changed_.wait(lock);
    } else {
      changed_.wait_until(lock, next);
    }
  }
}

void FakeFpgas::finish(const Job& job) {
  Card& card = card_at(job.address);
  int error = job.failure ? job.failure->error : 0;
  if (job.port) {
    error = finish_port(job, card);
  } else {
    card.soc->manager.state = job.failure ? job.failure->state : "operating";
    if (!job.failure) card.soc->firmware = job.payload;
  }
  tree_.reset();
  server_->reply(job.request, {error, ""});
  run_waiting(job.address);
}

int FakeFpgas::finish_port(const Job& job, Card& card) {
  Port& port = *card.port(*job.port);
  fake_fpga::Manager& manager = card.dfl->manager;
  card.dfl->programming = false;
  programming_.last_payload = job.payload;
  if (job.failure) {
    manager.state = job.failure->state;
    manager.status = job.failure->status;
    if (!options_.failure_keeps_port_disabled) --port.disabled;
    return job.failure->error;
  }
  manager.state = "operating";
  --port.disabled;
  // An OFS card shows its accelerators only through virtual functions.
  if (port.afu_id) port.afu_id = hex_of(std::string_view(job.payload).substr(0, kIdBytes));
  return 0;
}

// Runs waiting accesses in order. One that programs the card makes those behind it wait again.
void FakeFpgas::run_waiting(const std::string& address) {
  std::vector<Waiting> all = std::exchange(waiting_, {});
  for (Waiting& waiting : all) {
    const Card* card = machine_.card(waiting.address);
    if (waiting.address != address || (card != nullptr && card->dfl->programming)) {
      waiting_.push_back(std::move(waiting));
      continue;
    }
    if (const Answer answer = waiting.run()) server_->reply(waiting.request, *answer);
  }
}

}  // namespace cardcage
