#include "host/apiserver/kubeconfig.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>

#include "host/apiserver/json_view.h"
#include "host/apiserver/yaml.h"
#include "host/core/file.h"

namespace cardcage {
namespace {

constexpr std::size_t kMaxKubeconfig = std::size_t{1} << 20;
constexpr std::size_t kMaxPem = std::size_t{1} << 20;
constexpr std::size_t kMaxToken = std::size_t{64} << 10;

struct Unsupported {
  std::string_view key, why;
};
constexpr std::array kUnsupportedUser = {
    Unsupported{"exec",
                "exec credential plugins are not run, since the daemon is root; use a token or a client certificate"},
    Unsupported{"auth-provider", "authentication providers are not supported; use a token or a client certificate"},
    Unsupported{"username", "basic authentication is not supported; use a token or a client certificate"},
    Unsupported{"as", "impersonation is not supported; use the credentials of the user itself"},
};
constexpr std::array kUnsupportedCluster = {
    Unsupported{"insecure-skip-tls-verify",
                "the server's certificate is always verified; set certificate-authority instead"},
    Unsupported{"proxy-url", "proxies are not supported; reach the API server directly"},
    Unsupported{"tls-server-name", "another name is not supported; use a server name that the certificate contains"},
};

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(kSpace) - begin + 1));
}

Result<std::string> check_token(std::string_view text) {
  std::string token = trimmed(text);
  if (token.empty()) return fail(Code::kInvalidArgument, "is empty");
  if (std::ranges::any_of(token, [](unsigned char c) { return c <= ' ' || c >= 0x7f; }))
    return fail(Code::kInvalidArgument, "contains a character that no token may contain");
  return token;
}

Result<std::string> decode_base64(std::string_view text) {
  std::string compact(text);
  std::erase_if(compact, [](unsigned char c) { return c == '\n' || c == '\r' || c == ' '; });
  std::string decoded(compact.size() / 4 * 3, '\0');
  const int size =
      compact.empty() || compact.size() > kMaxPem
          ? -1
          : EVP_DecodeBlock(reinterpret_cast<unsigned char*>(decoded.data()),
                            reinterpret_cast<const unsigned char*>(compact.data()), static_cast<int>(compact.size()));
  if (size < 0) return fail(Code::kInvalidArgument, "is not base64");
  const auto padding = std::min<std::ptrdiff_t>(2, std::ranges::count(compact, '='));
  decoded.resize(static_cast<std::size_t>(size - padding));
  return decoded;
}

// Reads one kubeconfig.
struct Reader {
  std::filesystem::path file;
  json::object root;
  std::vector<std::filesystem::path> files;

  template <class... Args>
  std::unexpected<Error> refuse(fmt::format_string<Args...> format, Args&&... args) const {
    return fail(Code::kInvalidArgument, "kubeconfig '{}': {}", file.native(),
                fmt::format(format, std::forward<Args>(args)...));
  }

  // The entry called `name` of the list `list`, for example `user` of `users`.
  Result<json::object> entry(std::string_view list, std::string_view member, std::string_view name) const {
    std::string known;
    for (const auto& item : array_at(root, list)) {
      const auto& object = as_object(item);
      if (text_at(object, "name") == name) return object_at(object, member);
      known += fmt::format("{}'{}'", known.empty() ? "" : ", ", text_at(object, "name"));
    }
    return refuse("{} has no entry '{}'; it has {}", list, name, known.empty() ? "none" : known);
  }

  std::filesystem::path named(std::string_view path) {
    return files.emplace_back(std::filesystem::path(path).is_absolute() ? std::filesystem::path(path)
                                                                        : file.parent_path() / path);
  }

  // `key`-data in base64, or the content of the file `key`; empty if there is neither.
  Result<std::string> pem(const json::object& object, const std::string& key) {
    const auto data = text_at(object, key + "-data");
    if (!data.empty()) {
      auto decoded = decode_base64(data);
      if (!decoded) return refuse("{}-data {}", key, decoded.error().message);
      return decoded;
    }
    const auto path = text_at(object, key);
    if (path.empty()) return std::string();
    auto content = read_file(named(path), kMaxPem);
    if (!content) return refuse("{}: {}", key, content.error().message);
    return content;
  }

  template <std::size_t N>
  Status check(const json::object& object, std::string_view what, const std::array<Unsupported, N>& unsupported) const {
    for (const auto& [key, why] : unsupported) {
      const auto* value = object.if_contains(key);
      if (value == nullptr || value->is_null() || *value == json::value(false)) continue;
      return refuse("{} sets {}: {}", what, key, why);
    }
    return {};
  }

  Status read_cluster(const json::object& cluster, HttpPeer& peer) {
    if (auto known = check(cluster, "the cluster", kUnsupportedCluster); !known) return known;
    auto url = check_server_url(text_at(cluster, "server"));
    if (!url) return refuse("{}", url.error().message);
    auto ca = pem(cluster, "certificate-authority");
    if (!ca) return std::unexpected(ca.error());
    peer.url = std::move(*url);
    peer.ca_pem = std::move(*ca);
    return {};
  }

  Status read_user(const json::object& user, HttpPeer& peer) {
    if (auto known = check(user, "the user", kUnsupportedUser); !known) return known;
    auto certificate = pem(user, "client-certificate");
    if (!certificate) return std::unexpected(certificate.error());
    auto key = pem(user, "client-key");
    if (!key) return std::unexpected(key.error());
    if (certificate->empty() != key->empty())
      return refuse("client-certificate and client-key must be set together, one is missing");
    peer.client_certificate_pem = std::move(*certificate);
    peer.client_key_pem = std::move(*key);
    if (const auto path = text_at(user, "tokenFile"); !path.empty()) {
      auto token = read_token(named(path));
      if (!token) return refuse("tokenFile: {}", token.error().message);
      peer.bearer_token = std::move(*token);
    } else if (const auto text = text_at(user, "token"); !text.empty()) {
      auto token = check_token(text);
      if (!token) return refuse("token {}", token.error().message);
      peer.bearer_token = std::move(*token);
    }
    if (peer.bearer_token.empty() && peer.client_certificate_pem.empty())
      return refuse("the user has no credentials; set token, tokenFile, or client-certificate and client-key");
    return {};
  }
};

}  // namespace

Result<std::string> check_server_url(std::string_view url) {
  if (url.empty()) return fail(Code::kInvalidArgument, "the cluster has no server");
  if (!url.starts_with("https://"))
    return fail(Code::kInvalidArgument,
                "server '{}' is not an https:// address; plain http would send the token unencrypted", url);
  if (std::ranges::any_of(url,
                          [](unsigned char c) { return c <= ' ' || c >= 0x7f || c == '?' || c == '#' || c == '@'; }))
    return fail(Code::kInvalidArgument, "server '{}' is not an address", url);
  while (url.ends_with('/')) url.remove_suffix(1);
  return std::string(url);
}

Result<std::string> read_token(const std::filesystem::path& file) {
  auto content = read_file(file, kMaxToken);
  if (!content) return std::unexpected(content.error());
  auto token = check_token(*content);
  if (!token) return fail(Code::kInvalidArgument, "token file '{}' {}", file.native(), token.error().message);
  return token;
}

Result<Kubeconfig> load_kubeconfig(const std::filesystem::path& file) {
  auto text = read_file(file, kMaxKubeconfig);
  if (!text) return within(text.error(), "kubeconfig");
  auto root = parse_yaml(*text, fmt::format("kubeconfig '{}'", file.native()));
  if (!root) return std::unexpected(root.error());
  Reader reader{file, as_object(*root), {file}};

  Kubeconfig kubeconfig;
  kubeconfig.context = text_at(reader.root, "current-context");
  if (kubeconfig.context.empty())
    return reader.refuse("current-context is not set; 'kubectl config use-context NAME' sets it");
  const auto context = reader.entry("contexts", "context", kubeconfig.context);
  if (!context) return std::unexpected(context.error());
  kubeconfig.user = text_at(*context, "user");
  const auto cluster = reader.entry("clusters", "cluster", text_at(*context, "cluster"));
  if (!cluster) return std::unexpected(cluster.error());
  const auto user = reader.entry("users", "user", kubeconfig.user);
  if (!user) return std::unexpected(user.error());
  if (auto read = reader.read_cluster(*cluster, kubeconfig.peer); !read) return std::unexpected(read.error());
  if (auto read = reader.read_user(*user, kubeconfig.peer); !read) return std::unexpected(read.error());
  kubeconfig.files = std::move(reader.files);
  return kubeconfig;
}

}  // namespace cardcage
