// The part of a kubeconfig that a node daemon uses: https server, CA, client certificate or token.
#pragma once

#include <filesystem>
#include <vector>

#include "host/apiserver/http.h"

namespace cardcage {

struct Kubeconfig {
  HttpPeer peer;
  std::string context, user;
  std::vector<std::filesystem::path> files;  // the kubeconfig and all that it names
};

// Uses current-context. Relative paths are relative to the kubeconfig's folder; "-data" wins over a file, tokenFile
// over token. What would weaken or change the connection and is not supported (exec and auth-provider plugins, basic
// auth, impersonation, insecure-skip-tls-verify, proxy-url, tls-server-name) is refused, not ignored.
Result<Kubeconfig> load_kubeconfig(const std::filesystem::path& file);

// "https://host:port" without a trailing slash; plain http is refused: it would show the token to the network.
Result<std::string> check_server_url(std::string_view url);
// A token without surrounding space; refuses an empty one and control characters.
Result<std::string> read_token(const std::filesystem::path& file);

}  // namespace cardcage
