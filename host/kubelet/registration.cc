#include "host/kubelet/registration.h"

#include "host/core/log.h"
#include "host/core/utf8.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxError = 1024;

api::registration::PluginInfo plugin_info(const std::string& driver, const std::filesystem::path& endpoint) {
  api::registration::PluginInfo info;
  info.set_type("DRAPlugin");
  info.set_name(driver);
  info.set_endpoint(endpoint.native());
  for (const char* version :
       {"v1.DRAPlugin", "v1beta1.DRAPlugin", "v1.DRAResourceHealth", "v1alpha1.DRAResourceHealth"})
    info.add_supported_versions(version);
  return info;
}

}  // namespace

std::string_view to_string(RegistrationState state) {
  switch (state) {
    case RegistrationState::kWaiting: return "waiting";
    case RegistrationState::kAsked: return "asked";
    case RegistrationState::kRegistered: return "registered";
    case RegistrationState::kRefused: return "refused";
  }
  return "unknown";
}

// Both calls are answered at once, the core hears of them afterwards.
class RegistrationService::Service final : public api::registration::Registration::CallbackService {
 public:
  Service(RegistrationService& registration, api::registration::PluginInfo info)
      : registration_(registration), info_(std::move(info)) {}

  grpc::ServerUnaryReactor* GetInfo(grpc::CallbackServerContext* context, const api::registration::InfoRequest*,
                                    api::registration::PluginInfo* response) override {
    *response = info_;
    tell(RegistrationState::kAsked, "");
    return finish(context);
  }
  grpc::ServerUnaryReactor* NotifyRegistrationStatus(grpc::CallbackServerContext* context,
                                                     const api::registration::RegistrationStatus* request,
                                                     api::registration::RegistrationStatusResponse*) override {
    tell(request->plugin_registered() ? RegistrationState::kRegistered : RegistrationState::kRefused,
         cut_utf8(request->error(), kMaxError));
    return finish(context);
  }

 private:
  void tell(RegistrationState state, std::string error) {
    asio::post(registration_.core_, [this, state, error = std::move(error)] { registration_.record(state, error); });
  }
  static grpc::ServerUnaryReactor* finish(grpc::CallbackServerContext* context) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(grpc::Status::OK);
    return reactor;
  }

  RegistrationService& registration_;
  const api::registration::PluginInfo info_;
};

RegistrationService::RegistrationService(asio::io_context& core, Clock& clock, std::string driver,
                                         const std::filesystem::path& endpoint, std::function<void()> changed)
    : core_(core),
      clock_(clock),
      driver_(std::move(driver)),
      changed_(std::move(changed)),
      service_(std::make_unique<Service>(*this, plugin_info(driver_, endpoint))) {
  view_.since = clock_.wall();
}

RegistrationService::~RegistrationService() = default;

grpc::Service* RegistrationService::service() { return service_.get(); }

void RegistrationService::record(RegistrationState state, std::string error) {
  // A probe or cagectl may ask, too: that does not undo what the kubelet has said.
  if (state == RegistrationState::kAsked && view_.state != RegistrationState::kWaiting) return;
  view_ = {state, std::move(error), clock_.wall()};
  if (state == RegistrationState::kRegistered)
    log(LogLevel::kInfo, "registered with the kubelet", {{"driver", driver_}});
  if (state == RegistrationState::kRefused)
    log_limited(LogLevel::kError, "refused " + driver_, "the kubelet refused the driver",
                {{"driver", driver_}, {"error", view_.error}});
  changed_();
}

}  // namespace cardcage
