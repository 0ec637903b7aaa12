#include "ctl/web/protection.h"

#include "host/config/config.h"

namespace cardcage {
namespace {

Result<std::unique_ptr<Reviews>> open_reviews(asio::io_context& core, Clock& clock, const std::string& node,
                                              bool commands) {
  if (node.empty()) return fail(Code::kInvalidArgument, "--kubernetes needs --node-name, or $NODE_NAME");
  auto credentials =
      Credentials::from_service_account(clock, {process_environment("KUBERNETES_SERVICE_HOST").value_or(""),
                                                process_environment("KUBERNETES_SERVICE_PORT").value_or("")});
  if (!credentials) return within(credentials.error(), "--kubernetes");
  return std::make_unique<Reviews>(core, clock, std::move(*credentials),
                                   ReviewedResource{.resource = "nodes", .name = node}, commands);
}

}  // namespace

void add_protection_options(CLI::App& command, ProtectionOptions& options) {
  command.add_flag("--kubernetes", options.kubernetes,
                   "in a pod: visitors sign in with a token of the cluster, and need the right to get its node in "
                   "nodes.cardcage.dev");
  command.add_option("--node-name", options.node, "the node, as rights of Kubernetes name it")
      ->envname("NODE_NAME")
      ->type_name("NAME");
  auto* certificate =
      command.add_option("--tls-cert", options.certificate, "the certificate of the page, PEM")->type_name("FILE");
  auto* key = command.add_option("--tls-key", options.key, "its key, PEM")->type_name("FILE");
  certificate->needs(key);
  key->needs(certificate);
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
    auto reviews = open_reviews(core, clock, options.node, commands);
    if (!reviews) return std::unexpected(reviews.error());
    made.reviews = std::move(*reviews);
    made.access = std::make_unique<TokenAccess>(clock, *made.reviews, options.node);
  }
  return made;
}

}  // namespace cardcage
