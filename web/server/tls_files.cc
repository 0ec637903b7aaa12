#include "web/server/tls_files.h"

#include "host/core/log.h"

namespace cardcage {
namespace {

namespace ssl = asio::ssl;

constexpr std::chrono::seconds kCheckInterval{5};
constexpr std::size_t kMaxPem = std::size_t{1} << 20;

}  // namespace

TlsFiles::TlsFiles(Clock& clock, std::filesystem::path certificate, std::filesystem::path key)
    : clock_(clock), certificate_(std::move(certificate)), key_(std::move(key)), checked_at_(clock.now()) {}

Result<std::unique_ptr<TlsFiles>> TlsFiles::open(Clock& clock, std::filesystem::path certificate,
                                                 std::filesystem::path key) {
  std::unique_ptr<TlsFiles> files(new TlsFiles(clock, std::move(certificate), std::move(key)));
  files->stamps_ = files->stamps();
  auto loaded = files->load();
  if (!loaded) return std::unexpected(loaded.error());
  files->context_ = std::move(*loaded);
  return files;
}

Result<std::shared_ptr<ssl::context>> TlsFiles::load() const {
  const auto certificate = read_file(certificate_, kMaxPem);
  if (!certificate) return std::unexpected(certificate.error());
  const auto key = read_file(key_, kMaxPem);
  if (!key) return std::unexpected(key.error());
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  // Otherwise OpenSSL would ask for the password of a key on the terminal.
  context->set_password_callback([](std::size_t, ssl::context::password_purpose) { return std::string(); });
  boost::system::error_code failed;
  context->use_certificate_chain(asio::buffer(*certificate), failed);
  if (failed)
    return fail(Code::kInvalidArgument, "'{}' has no certificate in PEM: {}", certificate_.native(), failed.message());
  context->use_private_key(asio::buffer(*key), ssl::context::pem, failed);
  if (failed)
    return fail(Code::kInvalidArgument, "'{}' is not the key of '{}', in PEM without a password: {}", key_.native(),
                certificate_.native(), failed.message());
  return context;
}

std::shared_ptr<ssl::context> TlsFiles::current() {
  if (clock_.now() - checked_at_ < kCheckInterval) return context_;
  checked_at_ = clock_.now();
  // Stamps are taken before the read, so that a file that changes in between is read again next time.
  const Stamps now = stamps();
  if (now == stamps_) return context_;
  auto loaded = load();
  if (loaded) {
    stamps_ = now;
    context_ = std::move(*loaded);
    log(LogLevel::kInfo, "using the renewed certificate", {{"file", certificate_.native()}});
  } else {
    log_limited(LogLevel::kWarn, "certificate", "keeping the last good certificate",
                {{"error", loaded.error().message}});
  }
  return context_;
}

}  // namespace cardcage
