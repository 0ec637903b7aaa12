// NVIDIA GPUs and their driver, below a folder: a loadable libnvidia-ml.so.1, nvidia-smi, and the kernel's files in
// /sys, /proc and /dev. All processes that load the library see the same GPUs, and changes at once.
//
// Source: NVML API reference; NVIDIA Multi-Instance GPU User Guide; the README of NVIDIA's Linux driver, chapter "The
// /proc File System Interface"; Documentation/ABI/testing/sysfs-bus-pci.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/nvml/world.h"

namespace cardcage {

struct FakeNode {
  std::string product = "h100";  // a file of products/
  int gpus = 1;
  std::string driver = "580.65.06";
  bool own_domains =
      false;  // each GPU at the same place in a PCI domain of its own, whose number has more than 16 bits
};

class FakeGpus {
 public:
  using Return = nvml::Return;
  static constexpr int kForever = -1;
  // The majors that proc/devices lists for nvidia, nvidia-caps and nvidia-uvm.
  static constexpr unsigned kMajor = 195, kCapsMajor = 235, kUvmMajor = 509;

  // Replaces the content of the folder.
  explicit FakeGpus(std::filesystem::path root, const FakeNode& node = {});
  // Attaches to a folder that another process or an earlier object has filled.
  static FakeGpus open(const std::filesystem::path& root) { return {root, map(root)}; }
  FakeGpus(const FakeGpus&) = delete;
  FakeGpus& operator=(const FakeGpus&) = delete;
  ~FakeGpus() = default;

  const std::filesystem::path& root() const { return root_; }
  std::filesystem::path sysfs() const { return root_ / "sys"; }
  std::filesystem::path procfs() const { return root_ / "proc"; }
  std::filesystem::path devfs() const { return root_ / "dev"; }
  std::filesystem::path driver_root() const { return root_ / "driver"; }
  std::filesystem::path library() const { return library_folder() / "libnvidia-ml.so.1"; }
  std::string driver_version() const;
  std::string uuid(int gpu) const;
  std::string mig_uuid(int gpu, unsigned gi, unsigned ci = 0) const;
  std::string bus_id(int gpu) const;  // 0000:3b:00.0
  // The command lines of nvidia-smi, one per line.
  std::string smi_log() const;

  // Gives access to everything that has no function here: `gpus.state()->gpus[0].power_mw = 1`. It holds the lock of
  // all processes, so do not keep one.
  class Guard {
   public:
    explicit Guard(fake_nvml::State& state) : state_(state), lock_(state) {}
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    ~Guard() { fake_nvml::announce(state_); }
    fake_nvml::State* operator->() const { return &state_; }
    fake_nvml::State& operator*() const { return state_; }

   private:
    fake_nvml::State& state_;
    fake_nvml::StateLock lock_;
  };
  Guard state() const { return Guard(*state_); }

  // Events reach only the event sets that have registered the GPU for them.
  void raise_xid(int gpu, unsigned long long xid, unsigned gi = nvml::kNoInstance, unsigned ci = nvml::kNoInstance);
  void raise_event(int gpu, unsigned long long type, unsigned long long data);
  // The same in event sets that have registered another GPU.
  void raise_xid_in_sets_of(int registered, int gpu, unsigned long long xid);
  // Raises kEventRecoveryAction and changes field 230.
  void set_recovery_action(int gpu, nvml::RecoveryAction action);

  // The GPU has fallen off the bus: all calls return GPU_IS_LOST.
  void lose(int gpu);
  // The GPU has left the bus and is not counted.
  void remove(int gpu);
  // Ends lose() and remove(). Old handles stay dead.
  void restore(int gpu);
  // Unbinds the GPU and binds it to the driver: "nvidia", "vfio-pci". NVML counts only its own.
  void bind(int gpu, const std::string& driver);
  // Counted, but calls return NO_PERMISSION.
  void deny(int gpu, bool denied = true);

  // These change the GPU as another program would. They throw if NVML refuses.
  void set_mig_mode(int gpu, bool on);
  // Also creates one compute instance of all slices. Returns the id of the GPU instance.
  unsigned create_instance(int gpu, unsigned profile_id, unsigned start);
  void destroy_instance(int gpu, unsigned gi);
  // Resets the GPU even if it is in use; nvidia-smi --gpu-reset refuses that.
  void reset(int gpu);

  void add_process(int gpu, unsigned pid, unsigned long long bytes, unsigned gi = nvml::kNoInstance,
                   unsigned ci = nvml::kNoInstance, fake_nvml::Process::Kind kind = fake_nvml::Process::kCompute);
  void remove_process(int gpu, unsigned pid);

  // Overrides what nvmlDeviceGetFieldValues returns for the id, in every scope.
  void set_field(int gpu, unsigned id, unsigned long long value, Return code = nvml::kSuccess);
  void set_ecc(int gpu, nvml::EccErrorType type, nvml::EccCounter counter, unsigned long long errors);
  void set_remapped_rows(int gpu, const nvml::RemappedRows2& rows);
  // The margin follows.
  void set_temperature(int gpu, unsigned celsius);
  void set_link_width(int gpu, unsigned lanes);
  void set_fabric(int gpu, nvml::FabricState state, Return status = nvml::kSuccess, unsigned clique = 0,
                  unsigned health_mask = 0, unsigned char summary = 0);
  // The GPU has joined the fabric of a cluster of several nodes.
  void join_fabric(int gpu, unsigned clique);
  // nvidia-imex-ctl says that the node's IMEX daemon and its domain are in these states: "READY", "UP".
  void run_imex(std::string_view daemon, std::string_view domain = "UP");
  // It finds no daemon.
  void end_imex();
  // The command lines of nvidia-imex-ctl, one per line.
  std::string imex_log() const;
  // Links the GPU to a peer, or to a switch if there is none.
  void set_nvlink(int gpu, unsigned link, std::optional<int> peer = {});
  void cut_nvlink(int gpu, unsigned link);

  // These apply to every call of the function in all processes. They throw if the library has no such function.
  void fail(std::string_view function, Return code, int times = 1);
  void delay(std::string_view function, unsigned ms);
  // Calls hang until release(), at most 120 s.
  void hang(std::string_view function);
  void release();
  unsigned long long calls(std::string_view function) const;

  // Replaces the library files and the kernel module. Libraries that are loaded return LIB_RM_VERSION_MISMATCH.
  void upgrade_driver(const std::string& version);
  // Replaces the library files only, as a package upgrade without a reboot does.
  void mismatch(const std::string& version = "580.126.20");
  void unload_driver();
  void load_driver();

 private:
  using Mapped = std::shared_ptr<fake_nvml::State>;
  FakeGpus(std::filesystem::path root, Mapped state) : root_(std::move(root)), state_(std::move(state)) {}
  static Mapped map(const std::filesystem::path& root);
  std::filesystem::path library_folder() const { return driver_root() / "usr/lib64"; }
  static fake_nvml::Gpu& gpu_at(const Guard& world, int gpu);
  static fake_nvml::Function& function_at(const Guard& world, std::string_view function);
  void forget_instances(fake_nvml::State& world) const;

  std::filesystem::path root_;
  Mapped state_;
};

}  // namespace cardcage
