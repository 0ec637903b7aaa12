// Registers a resource with a call on the kubelet's own socket, <device_plugins_dir>/kubelet.sock.
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

// The kubelet calls back on our socket before it responds to Register, then opens ListAndWatch. It forgets the resource
// when that stream ends or when it restarts, and removes all sockets of the folder when it starts.
//
// A socket path is used for one successful registration only. Kubelets tell registrations apart by the name of the
// resource (up to 1.36) or by the path of the socket (from 1.37 on, k/k#135437), and the late end of an old one must
// not take down the new one.
class DirectRegistration final : public Registration {
 public:
  struct Options {
    std::string resource;
    std::filesystem::path folder;
    std::string nonce;  // identifies the server; part of its sockets' names
  };
  // `clients` outlives it. A set of clients that did not reach the kubelet, or that reached an earlier one, is
  // replaced.
  DirectRegistration(Host host, ClientSlot<KubeletClients>& clients, Options options);
  ~DirectRegistration() override;

  Instant maintain(StreamCount streams) override;
  void restart() override;
  Task<void> end() override;
  RegistrationWay way() const override { return RegistrationWay::kKubelet; }
  RegistrationView view() const override { return view_; }
  std::filesystem::path socket() const override { return socket_ ? socket_->path() : std::filesystem::path(); }

 private:
  struct Call;
  void check_for_new_kubelet();
  void follow_streams(StreamCount streams);
  void take_response(StreamCount streams);
  void record_failure(const grpc::Status& status);
  Status open_socket();
  Status check_kubelet() const;
  void call_kubelet(StreamCount streams);
  void set_view(RegistrationState state, std::string error);
  void call_after_pause();

  const Host host_;
  ClientSlot<KubeletClients>& clients_;
  const Options options_;
  const std::filesystem::path kubelet_socket_;
  std::unique_ptr<SocketListener> socket_;
  unsigned sockets_ = 0;      // number of sockets made
  bool socket_used_ = false;  // a registration with it has succeeded

  std::optional<SocketIdentity> kubelet_;
  LongSilence silence_;
  std::shared_ptr<const KubeletClients> used_;  // clients of the last call
  std::shared_ptr<Call> call_;                  // the open call; null if there is none

  std::uint64_t streams_opened_ = 0;  // at the last look
  Instant stream_opened_at_{};
  bool stream_open_ = false;
  std::optional<Instant> stream_deadline_;  // for the stream that follows a registration
  std::optional<Instant> next_call_;
  bool must_call_ = false;  // also while a stream is open
  Backoff backoff_;
  RegistrationView view_;
  Wakeup ended_;
  bool ending_ = false;
};

}  // namespace cardcage
