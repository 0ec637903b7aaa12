// The protection of a page that others can reach: TLS, and visitors whom the API server knows.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>

#include "web/server/tls_files.h"
#include "web/server/token_access.h"

namespace cardcage {

struct ProtectionOptions {
  bool kubernetes = false;
  std::string node;
  std::filesystem::path kubeconfig;  // empty = the service account of the pod
  std::filesystem::path certificate, key;
};

void add_protection_options(CLI::App& command, ProtectionOptions& options);

struct Protection {
  std::shared_ptr<TlsFiles> tls;        // null = plain HTTP
  std::unique_ptr<Reviews> reviews;     // null = without Kubernetes, as is
  std::unique_ptr<TokenAccess> access;  // which uses the reviews

  // `commands`: whether visitors may get commands. The clock outlives the protection.
  static Result<Protection> open(asio::io_context& core, Clock& clock, const ProtectionOptions& options, bool commands);
};

}  // namespace cardcage
