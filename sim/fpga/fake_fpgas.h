// FPGA cards in a mounted /sys and /dev that respond like the kernel: errnos of read(2), errors that are cleared only
// by their own value, O_EXCL, the ioctls of DFL, slow programming, drivers that are bound and unbound.
//
// Source: drivers/fpga/dfl.c, dfl-fme-main.c, dfl-fme-pr.c, dfl-fme-mgr.c, dfl-afu-main.c, dfl-afu-error.c,
// fpga-region.c, fpga-mgr.c; include/uapi/linux/fpga-dfl.h; drivers/base/bus.c and drivers/pci/iov.c of Linux.
#pragma once

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sim/fpga/tree.h"
#include "sim/fuse/fuse_server.h"
#include "sim/scratch_folder.h"

namespace cardcage {

// Makes a bitstream's payload, without its header, for the fake's hardware: 16 bytes of the AFU id in the order in
// which afu_id shows them, then arbitrary bytes.
std::string fake_payload(const std::string& afu_id, std::size_t size = 64);

namespace fake_fpga {

// A node that is or was open, by the card's address, because numbers change.
struct NodeKey {
  std::string address;
  std::optional<unsigned> port;  // none: the FME
  auto operator<=>(const NodeKey&) const = default;
};

struct NodeUse {
  unsigned count = 0;
  bool exclusive = false;
  std::map<std::uint64_t, std::uint64_t> mappings;  // DMA mappings: address on the bus and length
  UniqueFd error_event;
};

struct OpenNodes {
  // Returns an errno, or 0.
  int begin_use(const NodeKey& key, bool exclusive, bool single_open);
  // Signals the eventfd of *_ERR_SET_IRQ.
  void signal(const NodeKey& key) const;

  std::map<NodeKey, NodeUse> uses;
  std::map<std::uint64_t, NodeKey> handles;
};

}  // namespace fake_fpga

class FakeFpgas : private FuseServer::Files {
 public:
  using Card = fake_fpga::Card;
  using Port = fake_fpga::Port;

  struct Options {
    std::filesystem::path folder;  // mount point; empty: a folder of its own
    std::string node_number;       // major:minor of all nodes, also in their files `dev`
    // Kernels before 5.10 let a node be opened once; later ones share it unless O_EXCL is given.
    bool single_open = false;
    // A PR that fails leaves the port disabled until dfl-pci is bound again: fpga_region_program_fpga() does not enable
    // the bridges, and the port counts. False: the driver enables the port again.
    bool failure_keeps_port_disabled = true;
    // Folder of the files that `firmware` of an fpga_manager names; empty: every name is found.
    std::filesystem::path firmware;
    // Time for which the kernel caches names and modes, like those of sysfs: for tests in which none change.
    std::chrono::seconds names_kept{0};
  };
  struct Failure {
    int error = EIO;
    std::string status = "reconfig CRC error";
    std::string state = "write complete error";
  };
  // An access with an effect: "open dfl-port.0", "close dfl-port.0", "ioctl dfl-port.0 PORT_RESET", "write PATH: TEXT".
  struct Access {
    pid_t caller = 0;  // the thread; 0 for a close, whose caller the kernel does not name
    std::string what;
  };

  explicit FakeFpgas(std::vector<Card> cards);
  FakeFpgas(std::vector<Card> cards, Options options);
  FakeFpgas(const FakeFpgas&) = delete;
  FakeFpgas& operator=(const FakeFpgas&) = delete;
  // Ends waiting accesses.
  ~FakeFpgas() override;

  // Returns false if this process may not mount file systems.
  bool mounted() const { return server_->mounted(); }
  std::filesystem::path root() const { return root_; }
  std::filesystem::path sysfs() const { return root_ / "sys"; }
  std::filesystem::path devfs() const { return root_ / "dev"; }
  std::filesystem::path procfs() const { return root_ / "proc"; }
  std::filesystem::path function(const std::string& address) const { return sysfs() / "bus/pci/devices" / address; }
  // Return /dev/dfl-port.M and /dev/dfl-fme.N with their current numbers, and the folders in /sys.
  std::filesystem::path port_node(const std::string& address, unsigned port = 0) const;
  std::filesystem::path fme_node(const std::string& address) const;
  std::filesystem::path port_folder(const std::string& address, unsigned port = 0) const;
  std::filesystem::path fme_folder(const std::string& address) const;

  // These throw std::out_of_range if there is no such card.
  Card look(const std::string& address) const;
  std::vector<Card> cards() const;
  // Changes the description, for members that have no function of their own here.
  void change(const std::string& address, const std::function<void(Card&)>& change);
  // These also signal the eventfd of *_ERR_SET_IRQ.
  void set_port_errors(const std::string& address, unsigned port, std::uint64_t errors);
  void set_fatal_errors(const std::string& address, std::uint64_t errors);
  void set_afu_id(const std::string& address, unsigned port, const std::string& afu_id);
  void set_sensor(const std::string& address, const std::string& hwmon, const std::string& sensor, long value);
  void add_card(Card card);
  // Pulls the card: calls that run on it end with ENODEV.
  void remove_card(const std::string& address);
  // Changes the numbers of regions, nodes and IOMMU groups, like a reboot. No node may be open.
  void renumber();

  // These act like XRT: loading takes the time of programming, and may fail or hang like it. The address is that of the
  // user function. They throw std::runtime_error.
  void load_xclbin(const std::string& address, const std::string& uuid);
  void reset_xrt(const std::string& address);

  void set_programming_time(std::chrono::milliseconds time);
  // Makes the next programming fail, on any card, after its time.
  void fail_next(const Failure& failure);
  void fail_next() { fail_next(Failure{}); }
  // Keeps programmings that start from now on from ending before release().
  void hold();
  void release();
  // Returns the number of running programmings.
  std::size_t programming() const;
  // Returns the payload of the last PR as the hardware got it, padded to four bytes.
  std::string last_payload() const;

  // Returns the number of open descriptors of the node.
  unsigned open_count(const std::filesystem::path& node) const;
  std::vector<Access> accesses() const;
  std::vector<std::string> log() const;  // `what` of the accesses
  void clear_log();

 private:
  using Request = FuseServer::Request;
  using Reply = FuseServer::Reply;
  using Answer = FuseServer::Answer;
  using Clock = std::chrono::steady_clock;

  using NodeKey = fake_fpga::NodeKey;
  using NodeUse = fake_fpga::NodeUse;
  // A running programming, which ends even if its caller is killed.
  struct Job {
    Request request;
    std::string address;
    std::optional<unsigned> port;  // none: the fpga_manager of an SoC
    std::string payload;           // payload, or the name of a firmware
    std::optional<Failure> failure;
    Clock::time_point end;
    bool held = false;
  };
  struct Programming {
    std::chrono::milliseconds time{0};
    std::optional<Failure> next_failure;
    bool holding = false;  // none ends
    std::vector<Job> jobs;
    std::size_t loading = 0;  // running loads of an xclbin
    std::string last_payload;
  };
  // An access that waits for the lock of an FME.
  struct Waiting {
    std::string address;
    Request request;
    std::function<Answer()> run;
  };

  unsigned mode(const std::string& path) override;
  std::string link(const std::string& path) override;
  std::vector<std::string> list(const std::string& folder) override;
  Answer open(const Request& request, const std::string& path, unsigned flags) override;
  Answer read(const Request& request, const std::string& path) override;
  Answer write(const Request& request, const std::string& path, std::string text) override;
  Answer ioctl(const Request& request, const std::string& path, const FuseServer::Ioctl& call) override;
  void closed(std::uint64_t handle) override;

  // All following functions need the lock.
  fake_fpga::Tree& tree();
  Card& card_at(const std::string& address) const;
  Port& port_at(const std::string& address, unsigned port) const;
  void record(pid_t caller, std::string what);
  Reply read_now(const std::string& path);
  Reply write_now(const std::string& path, const std::string& text);
  Answer write_firmware(const Request& request, Card& card, const std::string& text);
  // Runs `run` now, or when the programming of the card has ended.
  Answer with_fme_lock(const Request& request, const std::string& address, std::function<Answer()> run);

  Answer fme_ioctl(const Request& request, const NodeKey& key, const FuseServer::Ioctl& call);
  Answer port_ioctl(const Request& request, const NodeKey& key, const FuseServer::Ioctl& call);
  Reply set_interrupt(const Request& request, const NodeKey& key, const FuseServer::Ioctl& call);
  int set_released(const std::string& address, int port, bool released);

  Answer program(const Request& request, const std::string& address, std::uint64_t argument);
  void start(Job job);
  void run_jobs();
  void finish(const Job& job);
  int finish_port(const Job& job, Card& card);
  void run_waiting(const std::string& address);

  const Options options_;
  std::optional<ScratchFolder> own_;
  const std::filesystem::path root_;
  mutable std::mutex mutex_;
  mutable fake_fpga::Machine machine_;
  std::optional<fake_fpga::Tree> tree_;  // none: the cards have changed
  fake_fpga::OpenNodes open_;
  std::vector<Access> accesses_;
  Programming programming_;
  std::vector<Waiting> waiting_;
  bool stopping_ = false;
  std::condition_variable changed_;
  std::optional<FuseServer> server_;
  std::thread worker_;  // ends jobs
};

}  // namespace cardcage
