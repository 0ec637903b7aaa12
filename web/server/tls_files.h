// The certificate and key of a server, in files that are renewed while it runs.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <filesystem>
#include <memory>

#include "host/core/clock.h"
#include "host/core/file.h"

namespace cardcage {

// [core] PEM files: the server's certificate with its intermediate certificates, and its key without a password.
class TlsFiles {
 public:
  static Result<std::unique_ptr<TlsFiles>> open(Clock& clock, std::filesystem::path certificate,
                                                std::filesystem::path key);

  // The context for a new connection, never null: TLS 1.2 or later. Looks at the files at most every 5 s. If changed
  // files cannot be used, the last good ones are kept and the failure is logged.
  std::shared_ptr<asio::ssl::context> current();

 private:
  struct Stamps {
    FileStamp certificate, key;
    friend bool operator==(const Stamps&, const Stamps&) = default;
  };
  TlsFiles(Clock& clock, std::filesystem::path certificate, std::filesystem::path key);
  Result<std::shared_ptr<asio::ssl::context>> load() const;
  Stamps stamps() const { return {stamp_of(certificate_), stamp_of(key_)}; }

  Clock& clock_;
  const std::filesystem::path certificate_, key_;
  std::shared_ptr<asio::ssl::context> context_;
  Stamps stamps_;
  Instant checked_at_;
};

}  // namespace cardcage
