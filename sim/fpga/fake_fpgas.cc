#include "sim/fpga/fake_fpgas.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace cardcage {

using fake_fpga::Entry;

namespace fs = std::filesystem;

FakeFpgas::FakeFpgas(std::vector<Card> cards) : FakeFpgas(std::move(cards), Options{}) {}

FakeFpgas::FakeFpgas(std::vector<Card> cards, Options options)
    : options_(std::move(options)),
      own_(options_.folder.empty() ? std::make_optional<ScratchFolder>() : std::nullopt),
      root_(own_ ? own_->path() : options_.folder) {
  machine_.node_number = options_.node_number;
  for (Card& card : cards) machine_.add(std::move(card));
  Files& files = *this;
  server_.emplace(root_, "fake-fpga", files, options_.names_kept);
  worker_ = std::thread([this] { run_jobs(); });
}

FakeFpgas::~FakeFpgas() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  worker_.join();
  server_.reset();
}

fs::path FakeFpgas::port_node(const std::string& address, unsigned port) const {
  const std::lock_guard lock(mutex_);
  return devfs() / fmt::format("dfl-port.{}", card_at(address).number(fmt::format("port/{}", port)));
}

fs::path FakeFpgas::fme_node(const std::string& address) const {
  const std::lock_guard lock(mutex_);
  return devfs() / fmt::format("dfl-fme.{}", card_at(address).number("fme"));
}

fs::path FakeFpgas::port_folder(const std::string& address, unsigned port) const {
  return sysfs() / "bus/platform/devices" / port_node(address, port).filename();
}

fs::path FakeFpgas::fme_folder(const std::string& address) const {
  return sysfs() / "bus/platform/devices" / fme_node(address).filename();
}

FakeFpgas::Card FakeFpgas::look(const std::string& address) const {
  const std::lock_guard lock(mutex_);
  return card_at(address);
}

std::vector<FakeFpgas::Card> FakeFpgas::cards() const {
  const std::lock_guard lock(mutex_);
  return {machine_.cards.begin(), machine_.cards.end()};
}

void FakeFpgas::change(const std::string& address, const std::function<void(Card&)>& change) {
  const std::lock_guard lock(mutex_);
  change(card_at(address));
  tree_.reset();
}

void FakeFpgas::set_port_errors(const std::string& address, unsigned port, std::uint64_t errors) {
  const std::lock_guard lock(mutex_);
  port_at(address, port).errors = errors;
  tree_.reset();
  if (errors != 0) open_.signal({address, port});
}

void FakeFpgas::set_fatal_errors(const std::string& address, std::uint64_t errors) {
  const std::lock_guard lock(mutex_);
  card_at(address).dfl.value().errors.catfatal = errors;
  tree_.reset();
  if (errors != 0) open_.signal({address, std::nullopt});
}

void FakeFpgas::set_afu_id(const std::string& address, unsigned port, const std::string& afu_id) {
  const std::lock_guard lock(mutex_);
  port_at(address, port).afu_id = afu_id;
  tree_.reset();
}

void FakeFpgas::set_sensor(const std::string& address, const std::string& hwmon, const std::string& sensor,
                           long value) {
  change(address, [&](Card& card) {
    std::vector<fake_fpga::Hwmon*> all;
    if (card.dfl) {
      for (fake_fpga::Hwmon& each : card.dfl->hwmon) all.push_back(&each);
      if (card.dfl->bmc) all.push_back(&card.dfl->bmc->hwmon);
    }
    if (card.xrt) all.push_back(&card.xrt->hwmon);
    const auto found = std::ranges::find(all, hwmon, &fake_fpga::Hwmon::name);
    if (found == all.end()) throw std::out_of_range("the card has no hwmon called " + hwmon);
    (*found)->sensors.at(sensor) = value;
  });
}

void FakeFpgas::add_card(Card card) {
  const std::lock_guard lock(mutex_);
  machine_.add(std::move(card));
  tree_.reset();
}

void FakeFpgas::remove_card(const std::string& address) {
  const std::lock_guard lock(mutex_);
  card_at(address);
  machine_.remove(address);
  tree_.reset();
  std::erase_if(programming_.jobs, [&](const Job& job) {
    if (job.address != address) return false;
    server_->reply(job.request, {ENODEV, ""});
    return true;
  });
  std::erase_if(waiting_, [&](const Waiting& waiting) {
    if (waiting.address != address) return false;
    server_->reply(waiting.request, {ENODEV, ""});
    return true;
  });
}

void FakeFpgas::renumber() {
  const std::lock_guard lock(mutex_);
  machine_.renumber();
  tree_.reset();
}

unsigned FakeFpgas::open_count(const fs::path& node) const {
  const std::lock_guard lock(mutex_);
  fake_fpga::Tree now = lay_out(machine_);
  const Entry* entry = now.find("dev/" + node.filename().native());
  if (entry == nullptr || entry->card == nullptr) return 0;
  const auto found =
      open_.uses.find({entry->card->address, entry->port == nullptr ? std::nullopt : std::optional(entry->port->id)});
  return found == open_.uses.end() ? 0 : found->second.count;
}

std::vector<FakeFpgas::Access> FakeFpgas::accesses() const {
  const std::lock_guard lock(mutex_);
  return accesses_;
}

std::vector<std::string> FakeFpgas::log() const {
  std::vector<std::string> texts;
  for (const Access& access : accesses()) texts.push_back(access.what);
  return texts;
}

void FakeFpgas::clear_log() {
  const std::lock_guard lock(mutex_);
  accesses_.clear();
}

fake_fpga::Tree& FakeFpgas::tree() {
  if (!tree_) tree_ = lay_out(machine_);
  return *tree_;
}

FakeFpgas::Card& FakeFpgas::card_at(const std::string& address) const {
  Card* card = machine_.card(address);
  if (card == nullptr) throw std::out_of_range("no card at " + address);
  return *card;
}

FakeFpgas::Port& FakeFpgas::port_at(const std::string& address, unsigned port) const {
  Port* found = card_at(address).port(port);
  if (found == nullptr) throw std::out_of_range(fmt::format("the card at {} has no port {}", address, port));
  return *found;
}

void FakeFpgas::record(pid_t caller, std::string what) {
  constexpr std::size_t kMost = 100000;  // bounded, since a served fake runs for a long time
  if (accesses_.size() < kMost) accesses_.push_back({caller, std::move(what)});
}

unsigned FakeFpgas::mode(const std::string& path) {
  if (path.empty()) return S_IFDIR | 0755;
  const std::lock_guard lock(mutex_);
  const Entry* entry = tree().find(path);
  if (entry == nullptr) return 0;
  if (entry->kind == Entry::Kind::kFolder) return S_IFDIR | entry->mode;
  return (entry->kind == Entry::Kind::kLink ? S_IFLNK : S_IFREG) | entry->mode;
}

std::string FakeFpgas::link(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = tree().find(path);
  return entry == nullptr ? "" : entry->text;
}

std::vector<std::string> FakeFpgas::list(const std::string& folder) {
  const std::lock_guard lock(mutex_);
  return tree().list(folder);
}

FakeFpgas::Answer FakeFpgas::open(const Request& request, const std::string& path, unsigned flags) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = tree().find(path);
  if (entry == nullptr) return Reply{ENOENT, ""};
  if (entry->kind == Entry::Kind::kFile) {
    // sysfs refuses such an open even to root.
    const unsigned access = flags & O_ACCMODE;
    const bool writes = access != O_RDONLY, reads = access != O_WRONLY;
    return Reply{(writes && (entry->mode & 0222) == 0) || (reads && (entry->mode & 0444) == 0) ? EACCES : 0, ""};
  }
  if (entry->card == nullptr) {
    record(request.caller, "open " + fs::path(path).filename().native());
    if (entry->function.empty()) return Reply{};
    const NodeKey group{entry->function, std::nullopt};
    const int error = open_.begin_use(group, true, options_.single_open);  // only one process can open a group
    if (error == 0) open_.handles[request.handle] = group;
    return Reply{error, ""};
  }
  if (entry->port != nullptr && entry->port->lacks_driver) return Reply{ENXIO, ""};
  const NodeKey key{entry->card->address, entry->port == nullptr ? std::nullopt : std::optional(entry->port->id)};
  const bool exclusive = (open_flags_of(request.caller).value_or(flags) & O_EXCL) != 0;
  record(request.caller, fmt::format("open {}{}", fs::path(path).filename().native(), exclusive ? " O_EXCL" : ""));
  const auto run = [this, request, key, exclusive]() -> Answer {
    const int error = open_.begin_use(key, exclusive, options_.single_open);
    if (error == 0) open_.handles[request.handle] = key;
    return Reply{error, ""};
  };
  return key.port ? run() : with_fme_lock(request, key.address, run);
}

int fake_fpga::OpenNodes::begin_use(const NodeKey& key, bool exclusive, bool single_open) {
  NodeUse& use = uses[key];
  if (use.exclusive || ((exclusive || single_open) && use.count > 0)) return EBUSY;
  use.exclusive = exclusive;
  ++use.count;
  return 0;
}

void FakeFpgas::closed(std::uint64_t handle) {
  const std::lock_guard lock(mutex_);
  const auto found = open_.handles.find(handle);
  if (found == open_.handles.end()) return;
  const NodeKey key = found->second;
  open_.handles.erase(found);
  NodeUse& use = open_.uses[key];
  use.exclusive = false;
  Card* card = machine_.card(key.address);
  const std::string number = key.port ? fmt::format("port/{}", *key.port) : "fme";
  if (card != nullptr) record(0, fmt::format("close dfl-{}.{}", key.port ? "port" : "fme", card->number(number)));
  if (--use.count > 0) return;
  use.mappings.clear();
  use.error_event = UniqueFd();
  if (card != nullptr && key.port) ++card->port(*key.port)->resets;
  run_waiting(key.address);
}

FakeFpgas::Answer FakeFpgas::read(const Request& request, const std::string& path) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = tree().find(path);
  if (entry != nullptr && entry->fme_locked)
    return with_fme_lock(request, entry->card->address, [this, path] { return read_now(path); });
  return read_now(path);
}

FakeFpgas::Reply FakeFpgas::read_now(const std::string& path) {
  const Entry* entry = tree().find(path);
  if (entry == nullptr) return {ENODEV, ""};
  if (entry->kind == Entry::Kind::kNode) return {EINVAL, ""};
  return {entry->read_error, entry->text};
}

FakeFpgas::Answer FakeFpgas::write(const Request& request, const std::string& path, std::string text) {
  const std::lock_guard lock(mutex_);
  record(request.caller, fmt::format("write {}: {}", path, text.substr(0, text.find('\n'))));
  const Entry* entry = tree().find(path);
  // The kernel waits until the device is closed.
  const std::string address = text.substr(0, text.find('\n'));
  if (path == "sys/bus/pci/drivers/vfio-pci/unbind" && open_.uses[{address, std::nullopt}].count > 0) {
    waiting_.push_back({address, request, [this, path, text] { return write_now(path, text); }});
    return std::nullopt;
  }
  if (entry != nullptr && entry->takes_firmware) return write_firmware(request, *entry->card, text);
  if (entry != nullptr && entry->fme_locked)
    return with_fme_lock(request, entry->card->address, [this, path, text] { return write_now(path, text); });
  return write_now(path, text);
}

FakeFpgas::Reply FakeFpgas::write_now(const std::string& path, const std::string& text) {
  const Entry* entry = tree().find(path);
  if (entry == nullptr) return {ENODEV, ""};
  if (!entry->write) return {EINVAL, ""};
  const int error = entry->write(text);
  tree_.reset();
  return {error, ""};
}

FakeFpgas::Answer FakeFpgas::with_fme_lock(const Request& request, const std::string& address,
                                           std::function<Answer()> run) {
  const Card* card = machine_.card(address);
  if (card == nullptr) return Reply{ENODEV, ""};
  if (!card->dfl || !card->dfl->programming) return run();
  waiting_.push_back({address, request, std::move(run)});
  return std::nullopt;
}

void fake_fpga::OpenNodes::signal(const NodeKey& key) const {
  const auto found = uses.find(key);
  if (found != uses.end() && found->second.error_event) ::eventfd_write(found->second.error_event.get(), 1);
}

}  // namespace cardcage
