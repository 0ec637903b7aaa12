#include "host/kubelet/plugin_registration.h"

#include "host/core/log.h"
#include "host/core/utf8.h"
#include "host/rpc/status.h"
#include "host/rpc/unary_call.h"

namespace cardcage {

std::string_view to_string(RegistrationState state) {
  switch (state) {
    case RegistrationState::kWaiting: return "waiting";
    case RegistrationState::kAsked: return "asked";
    case RegistrationState::kRegistered: return "registered";
    case RegistrationState::kRefused: return "refused";
  }
  return "unknown";
}

// Both calls return at once; the core learns of them afterwards.
class PluginRegistration::Service final : public api::registration::Registration::CallbackService {
 public:
  Service(PluginRegistration& registration, api::registration::PluginInfo info)
      : registration_(registration), info_(std::move(info)) {}

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const api::registration::InfoRequest*,
                                    api::registration::PluginInfo* response) override {
    *response = info_;
    post(RegistrationState::kAsked, "");
    return finish_at_once(*context, grpc::Status::OK);
  }
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(grpc::CallbackServerContext* context,
                                                     const api::registration::RegistrationStatus* request,
                                                     api::registration::RegistrationStatusResponse*) override {
    post(request->plugin_registered() ? RegistrationState::kRegistered : RegistrationState::kRefused,
         cut_utf8(request->error(), kMaxErrorText));
    return finish_at_once(*context, grpc::Status::OK);
  }

 private:
  void post(RegistrationState state, std::string error) {
    asio::post(registration_.core_, [this, state, error = std::move(error)] { registration_.record(state, error); });
  }

  PluginRegistration& registration_;
  const api::registration::PluginInfo info_;
};

PluginRegistration::PluginRegistration(asio::io_context& core, Clock& clock, api::registration::PluginInfo info,
                                       std::function<void()> changed)
    : core_(core),
      clock_(clock),
      kind_(info.type() == "DRAPlugin" ? "driver" : "resource"),
      name_(info.name()),
      changed_(std::move(changed)),
      service_(std::make_unique<Service>(*this, std::move(info))) {
  reset();
}

PluginRegistration::~PluginRegistration() = default;

grpc::Service* PluginRegistration::service() { return service_.get(); }

void PluginRegistration::reset() { view_ = {RegistrationState::kWaiting, "", clock_.wall()}; }

void PluginRegistration::record(RegistrationState state, std::string error) {
  // Probes and cagectl call GetInfo, too; such a call does not undo the kubelet's report.
  if (state == RegistrationState::kAsked && view_.state != RegistrationState::kWaiting) return;
  view_ = {state, std::move(error), clock_.wall()};
  if (state == RegistrationState::kRegistered)
    log(LogLevel::kInfo, "registered with the kubelet", {{"kind", kind_}, {"name", name_}});
  if (state == RegistrationState::kRefused)
    log_limited(LogLevel::kError, "refused " + name_, "the kubelet refused the " + kind_,
                {{"kind", kind_}, {"name", name_}, {"error", view_.error}});
  changed_();
}

}  // namespace cardcage
