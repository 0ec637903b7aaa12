#include "host/apiserver/credentials.h"

#include <algorithm>
#include <iterator>

#include "host/apiserver/kubeconfig.h"
#include "host/config/config.h"
#include "host/core/ascii.h"
#include "host/core/log.h"

namespace cardcage {
namespace {

constexpr std::chrono::seconds kCheckInterval{5};
constexpr std::size_t kMaxCa = std::size_t{1} << 20;

bool is_port(std::string_view text) { return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, is_digit); }

}  // namespace

ServiceAccountPlaces ServiceAccountPlaces::of_pod() {
  return {process_environment("KUBERNETES_SERVICE_HOST").value_or(""),
          process_environment("KUBERNETES_SERVICE_PORT").value_or("")};
}

Result<Credentials> Credentials::from_service_account(Clock& clock, ServiceAccountPlaces places) {
  if (places.host.empty() || !is_port(places.port))
    return fail(Code::kFailedPrecondition,
                "not in a cluster: KUBERNETES_SERVICE_HOST is '{}' and KUBERNETES_SERVICE_PORT is '{}'; run as a pod, "
                "set apiserver.kubeconfig, or set node.claims to a folder",
                places.host, places.port);
  return make(clock, [places = std::move(places)] { return load_service_account(places); });
}

Result<Credentials> Credentials::from_kubeconfig(Clock& clock, std::filesystem::path kubeconfig) {
  return make(clock, [file = std::move(kubeconfig)] { return load_kubeconfig(file); });
}

Result<Credentials> Credentials::make(Clock& clock, Load load) {
  Credentials credentials(clock, std::move(load));
  auto loaded = credentials.load_();
  if (!loaded) return std::unexpected(loaded.error());
  auto stamps = stamps_of(loaded->files);
  credentials.adopt(std::move(*loaded), std::move(stamps));
  return credentials;
}

Result<Credentials::Loaded> Credentials::load_service_account(const ServiceAccountPlaces& places) {
  Loaded loaded;
  const bool ipv6 = places.host.find(':') != std::string::npos && !places.host.starts_with('[');
  auto url =
      check_server_url(fmt::format("https://{}{}{}:{}", ipv6 ? "[" : "", places.host, ipv6 ? "]" : "", places.port));
  if (!url) return within(url.error(), "KUBERNETES_SERVICE_HOST");
  loaded.peer.url = std::move(*url);
  const auto token_file = places.folder / "token", ca_file = places.folder / "ca.crt";
  auto token = read_token(token_file);
  if (!token) return within(token.error(), "service account (does the pod set automountServiceAccountToken: false?)");
  auto ca = read_file(ca_file, kMaxCa);
  if (!ca) return within(ca.error(), "service account");
  loaded.peer.bearer_token = std::move(*token);
  loaded.peer.ca_pem = std::move(*ca);
  loaded.files = {token_file, ca_file};
  loaded.remedy = fmt::format("check that the service account still exists and that the token in '{}' is renewed",
                              token_file.native());
  return loaded;
}

Result<Credentials::Loaded> Credentials::load_kubeconfig(const std::filesystem::path& file) {
  auto kubeconfig = cardcage::load_kubeconfig(file);
  if (!kubeconfig) return std::unexpected(kubeconfig.error());
  return Loaded{std::move(kubeconfig->peer), std::move(kubeconfig->files),
                fmt::format("renew the credentials of user '{}' in kubeconfig '{}'", kubeconfig->user, file.native())};
}

std::vector<FileStamp> Credentials::stamps_of(const std::vector<std::filesystem::path>& files) {
  std::vector<FileStamp> stamps;
  std::ranges::transform(files, std::back_inserter(stamps), stamp_of);
  return stamps;
}

void Credentials::adopt(Loaded loaded, std::vector<FileStamp> stamps) {
  peer_ = std::make_shared<const HttpPeer>(std::move(loaded.peer));
  files_ = std::move(loaded.files);
  remedy_ = std::move(loaded.remedy);
  stamps_ = std::move(stamps);
  checked_at_ = clock_->now();
}

std::shared_ptr<const HttpPeer> Credentials::current() {
  if (clock_->now() - checked_at_ >= kCheckInterval) {
    checked_at_ = clock_->now();
    if (stamps_of(files_) != stamps_) refresh();
  }
  return peer_;
}

bool Credentials::differ_from(const HttpPeer& peer) {
  refresh();
  return *peer_ != peer;
}

void Credentials::refresh() {
  // Stamps are taken before the read, so that a file that changes in between is read again next time.
  auto stamps = stamps_of(files_);
  auto loaded = load_();
  if (!loaded) {
    log_limited(LogLevel::kWarn, "credentials", "keeping the last good credentials of the API server",
                {{"error", loaded.error().message}});
    return;
  }
  if (loaded->files != files_) stamps = stamps_of(loaded->files);
  adopt(std::move(*loaded), std::move(stamps));
}

}  // namespace cardcage
