// Registering a resource with a call on the kubelet's own socket, <device_plugins_dir>/kubelet.sock.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "host/core/backoff.h"
#include "host/core/wakeup.h"
#include "host/kubelet/clients.h"
#include "host/kubelet/registration.h"
#include "host/rpc/client_slot.h"
#include "host/rpc/unix_socket.h"

namespace cardcage {

// The kubelet answers Register after it has called back on our socket, then opens ListAndWatch. It forgets the resource
// when that stream ends or when it starts anew, and removes all sockets of the folder at its start.
//
// A socket path serves for one successful registration only. Kubelets tell registrations apart by the name of the
// resource (up to 1.36) or the path of the socket (1.37, k/k#135437), and the late end of an old one must not take down
// the new one.
class DirectRegistration final : public Registration {
 public:
  struct Options {
    std::string resource;
    std::filesystem::path folder;
    std::string nonce;  // of this start of the process
  };
  // `clients` outlives it; a set that did not reach the kubelet, or an earlier kubelet, is replaced there.
  DirectRegistration(Host host, ClientSlot<KubeletClients>& clients, Options options);
  ~DirectRegistration() override;

  Instant look(StreamCount streams) override;
  void restart() override;
  Task<void> end() override;
  RegistrationWay way() const override { return RegistrationWay::kKubelet; }
  RegistrationView view() const override { return view_; }
  std::filesystem::path socket() const override { return socket_ ? socket_->path() : std::filesystem::path(); }

 private:
  struct Call;
  void notice_kubelet();
  void notice_streams(StreamCount streams);
  void notice_answer(StreamCount streams);
  void note_failure(const grpc::Status& status);
  Status open_socket();
  Status check_kubelet() const;
  void call_kubelet(StreamCount streams);
  void show(RegistrationState state, std::string error);
  void retry_later();

  const Host host_;
  ClientSlot<KubeletClients>& clients_;
  const Options options_;
  const std::filesystem::path kubelet_socket_;
  std::unique_ptr<SocketListener> socket_;
  unsigned sockets_ = 0;      // made so far
  bool socket_used_ = false;  // a registration with it has succeeded

  std::optional<SocketIdentity> kubelet_;
  Silence silence_;
  std::shared_ptr<const KubeletClients> used_;  // by the last call
  std::shared_ptr<Call> call_;                  // on its way

  std::uint64_t opened_ = 0;
  Instant opened_at_{};
  bool open_ = false;
  std::optional<Instant> awaited_until_;  // a stream, after a registration
  std::optional<Instant> next_call_;
  bool must_call_ = false;  // even if a stream is open
  Backoff backoff_;
  RegistrationView view_;
  Wakeup ended_;
  bool ending_ = false;
};

}  // namespace cardcage
