// SPDX-License-Identifier: Apache-2.0
// The call and the host, which every function gets. Included by sdk.hpp.
#ifndef CARDCAGE_SDK_CALL_HPP_
#define CARDCAGE_SDK_CALL_HPP_

#include <poll.h>
#include <cardcage/sdk/health.hpp>
#include <cardcage/sdk/text.hpp>
#include <cardcage/sdk/write.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <sstream>
#include <type_traits>

namespace cage {

class Call {
 public:
  using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

  explicit Call(const cage_call* call) : call_(call) {}

  std::string_view id() const { return detail::view(call_->id); }
  // Returns the number of times that the host has tried this call for the claim since it last succeeded, this one
  // included.
  std::uint32_t attempt() const { return call_->attempt; }
  // Returns why a function of the host has failed in this call, or the module's later explanation.
  std::string explained() const {
    return CAGE_CAN(call_, explained) ? std::string(detail::view(call_->explained(call_))) : std::string();
  }
  bool cancelled() const { return call_->cancelled(call_) != 0; }
  int cancel_fd() const { return call_->cancel_fd; }  // poll it beside your own descriptors
  const cage_call* raw() const { return call_; }
  std::optional<Clock::time_point> deadline() const {
    if (call_->deadline_ns == 0) return std::nullopt;
    return Clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>(call_->deadline_ns)));
  }

  // Reports the progress of the call, for the people who wait for it; without a percentage if it is unknown.
  void progress(std::string_view text, std::uint32_t percent = UINT32_MAX) const {
    if (CAGE_CAN(call_, progress)) call_->progress(call_, percent, detail::raw(text));
  }
  // Throws if no caller waits for the result any more. Call it between the steps of long work.
  void checkpoint() const {
    if (cancelled()) throw Error(CAGE_CANCELLED, "cancelled by the host");
    if (deadline() && Clock::now() >= *deadline()) throw Error(CAGE_DEADLINE_EXCEEDED, "not done at the deadline");
  }
  // Sleeps, and throws at the deadline or when the call is cancelled.
  void sleep(std::chrono::nanoseconds time) const {
    const Clock::time_point wanted = Clock::now() + std::chrono::duration_cast<Clock::duration>(time);
    const Clock::time_point end = deadline() ? std::min(wanted, *deadline()) : wanted;
    for (;;) {
      checkpoint();
      const auto left = end - Clock::now();
      if (left <= left.zero()) return;
      const auto rounded_up = std::chrono::duration_cast<std::chrono::milliseconds>(left).count() + 1;
      pollfd cancel{call_->cancel_fd, POLLIN, 0};
      (void)::poll(&cancel, 1, static_cast<int>(std::min<std::int64_t>(rounded_up, 60000)));
    }
  }
  // Checks the condition, with pauses, until it is true; returns false if it is not within the limit. For conditions
  // that no event announces. Throws as sleep() does.
  template <class Condition>
  bool wait_for(std::chrono::nanoseconds limit, std::chrono::nanoseconds pause, const Condition& condition) const {
    const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(limit);
    while (!condition()) {
      if (Clock::now() >= end) return false;
      sleep(pause);
    }
    return true;
  }

 private:
  const cage_call* call_;
};

// One line of the host's log, written when it goes out of scope: host.info() << "found " << count;
class LogLine {
 public:
  LogLine(const cage_host* host, std::uint32_t level) : host_(host), level_(level) {
    if (host_->log_enabled(host_, level_) != 0) text_.emplace();
  }
  LogLine(LogLine&&) = delete;
  ~LogLine() {
    if (!text_) return;
    try {
      const std::string line = text_->str();
      host_->log(host_, level_, detail::raw(line));
    } catch (...) {  // out of memory: drop the line
    }
  }
  template <class T>
  LogLine& operator<<(const T& value) {
    if (text_) *text_ << value;
    return *this;
  }

 private:
  const cage_host* host_;
  std::uint32_t level_;
  std::optional<std::ostringstream> text_;
};

// A program of the node; the key `programs` of the module's configuration must contain its path.
struct Program {
  std::string name;                                 // "nvidia-smi"
  std::vector<std::string> arguments, environment;  // without the name; "NAME=value", the whole environment
  std::chrono::milliseconds limit{0};               // 0 = until the deadline of the call
  std::string input = {};                           // standard input; a service has none
};
struct ProgramResult {
  std::int32_t exit_status = -1, signal = 0;  // -1 if a signal ended it
  bool timed_out = false;                     // it was killed
  bool cut = false;                           // it printed more than 1 MiB
  std::string out, err;
};

// The host's services. Any thread may call a function, and none blocks, unless its comment says otherwise.
class Host {
 public:
  explicit Host(const cage_host* host) : host_(host) {}

  std::string_view version() const { return detail::view(host_->version); }
  // Where the node's files are: "/sys", "/proc" and "/dev" unless the host runs in a container.
  std::string_view sysfs() const { return CAGE_HAS(host_, sysfs) ? detail::view(host_->sysfs) : "/sys"; }
  std::string_view procfs() const { return CAGE_HAS(host_, procfs) ? detail::view(host_->procfs) : "/proc"; }
  std::string_view devfs() const { return CAGE_HAS(host_, devfs) ? detail::view(host_->devfs) : "/dev"; }
  // Below it are the programs and libraries of the vendor's driver.
  std::string_view driver_root() const { return CAGE_HAS(host_, driver_root) ? detail::view(host_->driver_root) : "/"; }
  LogLine debug() const { return LogLine(host_, CAGE_LOG_DEBUG); }
  LogLine info() const { return LogLine(host_, CAGE_LOG_INFO); }
  LogLine warn() const { return LogLine(host_, CAGE_LOG_WARN); }
  LogLine error() const { return LogLine(host_, CAGE_LOG_ERROR); }

  // Requests discover(), after devices came or went.
  void rescan() const { host_->rescan(host_); }
  void health(std::string_view device, const Health& health) const {
    const cage_health raw = health.raw(device);
    host_->health(host_, &raw);
  }
  // Runs the program as a child of the daemon and waits for its end. Throws if it does not start. On the call's thread.
  bool has_programs() const { return exec() != nullptr; }
  ProgramResult run(const Call& call, const Program& program) const {
    if (!has_programs()) throw Error(CAGE_UNIMPLEMENTED, "running a program needs a host with " CAGE_HOST_EXEC);
    const RawCommand command(program);
    ProgramResult result;
    must(call, exec()->run(host_, call.raw(), &command.raw, &result, take_result));
    return result;
  }

  // The daemon keeps the program running for the claim of the call until the claim is released, beyond the end of this
  // process. Does nothing if it runs already with the same arguments. Throws if it does not start. On the call's
  // thread.
  bool has_services() const { return services() != nullptr; }
  void start_service(const Call& call, std::string_view name, const Program& program) const {
    const RawCommand command(program);
    must(call, must_have_services().start(host_, call.raw(), detail::raw(name), &command.raw));
  }
  // Returns once it has ended; the host does this after unprepare.
  void stop_service(const Call& call, std::string_view name) const {
    must(call, must_have_services().stop(host_, call.raw(), detail::raw(name)));
  }

  // A process of the daemon makes the following accesses, which may take until the limit. They throw on failure; the
  // device is stuck if one has not ended at the limit. On the call's thread.
  bool has_writes() const { return writes() != nullptr; }
  void write_file(const Call& call, const FileWrite& write) const {
    const cage_file_write raw = write.raw();
    must(call, must_write().file(host_, call.raw(), &raw));
  }
  // `argument` is the request's struct, without pointers; it is read and written back.
  template <class Argument>
  void ioctl(const Call& call, const Ioctl& ioctl, Argument& argument) const {
    static_assert(std::is_trivially_copyable_v<Argument>);
    const cage_ioctl raw = ioctl.raw(&argument, sizeof argument);
    must(call, must_write().ioctl(host_, call.raw(), &raw));
  }
  // A request without an argument.
  void ioctl(const Call& call, const Ioctl& ioctl) const {
    const cage_ioctl raw = ioctl.raw(nullptr, 0);
    must(call, must_write().ioctl(host_, call.raw(), &raw));
  }
  // Binds the PCI function of the device to the driver, or to none: "none".
  void bind_driver(const Call& call, std::string_view device, std::string_view pci_bus_id,
                   std::string_view driver) const {
    if (driver.empty()) throw Error(CAGE_INVALID_ARGUMENT, "bind_driver needs a driver; restore_driver undoes it");
    must(call,
         must_write().driver(host_, call.raw(), detail::raw(device), detail::raw(pci_bus_id), detail::raw(driver)));
  }
  // Binds it to the driver that it had before the first bind_driver; does nothing if that was never called.
  void restore_driver(const Call& call, std::string_view device, std::string_view pci_bus_id) const {
    must(call, must_write().driver(host_, call.raw(), detail::raw(device), detail::raw(pci_bus_id), {}));
  }

  // Module::events() is called each time that the descriptor becomes ready [R20]. Close it after stop_polling() only.
  // Any thread; throws if the host does not watch the descriptor.
  bool has_poll() const { return polling() != nullptr; }
  void poll(int descriptor) const { must_poll(polling() ? polling()->add(host_, descriptor) : CAGE_UNIMPLEMENTED); }
  void stop_polling(int descriptor) const {
    must_poll(polling() ? polling()->remove(host_, descriptor) : CAGE_UNIMPLEMENTED);
  }
  const cage_host* raw() const { return host_; }

 private:
  const cage_poll* polling() const { return static_cast<const cage_poll*>(host_->extension(host_, CAGE_HOST_POLL)); }
  static void must_poll(cage_status status) {
    if (status == CAGE_UNIMPLEMENTED) throw Error(status, "waiting for descriptors needs a host with " CAGE_HOST_POLL);
    if (status != CAGE_OK) throw Error(status, "the host does not wait for the descriptor; its log says why");
  }
  // The error has the text of the host's explanation, for modules that add their own context.
  static void must(const Call& call, cage_status status) {
    if (status != CAGE_OK) throw Error(status, call.explained());
  }
  const cage_write* writes() const { return static_cast<const cage_write*>(host_->extension(host_, CAGE_HOST_WRITE)); }
  const cage_write& must_write() const {
    if (!has_writes()) throw Error(CAGE_UNIMPLEMENTED, "writing to hardware needs a host with " CAGE_HOST_WRITE);
    return *writes();
  }
  const cage_exec* exec() const { return static_cast<const cage_exec*>(host_->extension(host_, CAGE_HOST_EXEC)); }
  // Valid while the program lives.
  struct RawCommand {
    explicit RawCommand(const Program& program)
        : arguments(detail::raw_list(program.arguments)), environment(detail::raw_list(program.environment)) {
      raw.struct_size = sizeof raw;
      raw.timeout_ms = static_cast<std::uint32_t>(program.limit.count());
      raw.program = detail::raw(program.name);
      raw.args = arguments.data();
      raw.env = environment.data();
      raw.arg_count = static_cast<std::uint32_t>(arguments.size());
      raw.env_count = static_cast<std::uint32_t>(environment.size());
      raw.input = {program.input.data(), program.input.size()};
    }
    RawCommand(const RawCommand&) = delete;
    RawCommand& operator=(const RawCommand&) = delete;
    std::vector<cage_str> arguments, environment;
    cage_command raw{};
  };
  const cage_service* services() const {
    return static_cast<const cage_service*>(host_->extension(host_, CAGE_HOST_SERVICE));
  }
  const cage_service& must_have_services() const {
    if (!has_services()) throw Error(CAGE_UNIMPLEMENTED, "a service needs a host with " CAGE_HOST_SERVICE);
    return *services();
  }
  static void take_result(void* user, const cage_command_result* from) {
    ProgramResult& to = *static_cast<ProgramResult*>(user);
    to.exit_status = from->exit_status;
    to.signal = from->signal;
    to.timed_out = (from->flags & CAGE_COMMAND_TIMED_OUT) != 0;
    to.cut = (from->flags & CAGE_COMMAND_CUT) != 0;
    to.out.assign(static_cast<const char*>(from->out.data), from->out.size);
    to.err.assign(static_cast<const char*>(from->err.data), from->err.size);
  }

  const cage_host* host_;
};

}  // namespace cage

#endif  // CARDCAGE_SDK_CALL_HPP_
