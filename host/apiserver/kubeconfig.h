// The part of a kubeconfig that a node daemon uses: an https server, its CA, and a client certificate or token.
#pragma once

#include <filesystem>
#include <vector>

#include "host/apiserver/http.h"

namespace cardcage {

struct Kubeconfig {
  HttpPeer peer;
  std::string context, user;
  std::vector<std::filesystem::path> files;  // the kubeconfig and all files that it names
};

// Uses current-context. Relative paths are relative to the kubeconfig's folder; "-data" wins over a file, tokenFile
// over token. Unsupported settings that would weaken or change the connection are refused, not ignored: exec and
// auth-provider plugins, basic auth, impersonation, insecure-skip-tls-verify, proxy-url, tls-server-name.
Result<Kubeconfig> load_kubeconfig(const std::filesystem::path& file);

// Returns "https://host:port" without a trailing slash. Refuses plain http, which would send the token unencrypted.
Result<std::string> check_server_url(std::string_view url);
// Returns the token without surrounding space. Refuses an empty token and control characters.
Result<std::string> read_token(const std::filesystem::path& file);

}  // namespace cardcage
