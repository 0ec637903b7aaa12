#include "ctl/web/protection.h"

namespace cardcage {
namespace {

Result<Credentials> open_credentials(Clock& clock, const std::filesystem::path& kubeconfig) {
  if (!kubeconfig.empty()) return Credentials::from_kubeconfig(clock, kubeconfig);
  auto pod = ServiceAccountPlaces::of_pod();
  if (pod.host.empty())
    return fail(Code::kFailedPrecondition,
                "KUBERNETES_SERVICE_HOST is not set, so this is not a pod; add --kubeconfig");
  return Credentials::from_service_account(clock, std::move(pod));
}

Result<std::unique_ptr<Reviews>> open_reviews(asio::io_context& core, Clock& clock, const ProtectionOptions& options,
                                              bool commands) {
  if (options.node.empty()) return fail(Code::kInvalidArgument, "--kubernetes needs --node-name, or $NODE_NAME");
  auto credentials = open_credentials(clock, options.kubeconfig);
  if (!credentials) return within(credentials.error(), "--kubernetes");
  ReviewedResource resource;
  resource.resource = "nodes";
  resource.name = options.node;
  return std::make_unique<Reviews>(core, clock, std::move(*credentials), std::move(resource), commands);
}

}  // namespace

void add_protection_options(CLI::App& command, ProtectionOptions& options) {
  auto* kubernetes = command.add_flag("--kubernetes", options.kubernetes,
                                      "visitors sign in with a token of the cluster, and need the right to get this "
                                      "node in nodes.cardcage.dev");
  command.add_option("--node-name", options.node, "the node, as rights of Kubernetes name it")
      ->envname("NODE_NAME")
      ->type_name("NODE");
  command.add_option("--kubeconfig", options.kubeconfig, "how to reach the API server; default: as a pod does")
      ->needs(kubernetes)
      ->type_name("FILE");
  auto* certificate = command.add_option("--tls-cert", options.certificate, "the certificate of the page, PEM");
  auto* key = command.add_option("--tls-key", options.key, "its key, PEM");
  certificate->type_name("FILE")->needs(key);
  key->type_name("FILE")->needs(certificate);
}

Result<Protection> Protection::open(asio::io_context& core, Clock& clock, const ProtectionOptions& options,
                                    bool commands) {
  Protection made;
  if (!options.certificate.empty()) {
    auto tls = TlsFiles::open(clock, options.certificate, options.key);
    if (!tls) return within(tls.error(), "--tls-cert");
    made.tls = std::move(*tls);
  }
  if (options.kubernetes) {
    auto reviews = open_reviews(core, clock, options, commands);
    if (!reviews) return std::unexpected(reviews.error());
    made.reviews = std::move(*reviews);
    made.access = std::make_unique<TokenAccess>(clock, *made.reviews, options.node);
  }
  return made;
}

}  // namespace cardcage
