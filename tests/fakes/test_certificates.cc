#include "tests/fakes/test_certificates.h"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <stdexcept>

namespace cardcage {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

void require(bool good) {
  if (!good) throw std::runtime_error("OpenSSL refused to make a test certificate");
}

Key make_key() {
  Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  require(key != nullptr);
  return key;
}

void add_extension(X509* certificate, X509* issuer, int kind, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, decltype(&X509_EXTENSION_free)> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value), &X509_EXTENSION_free);
  require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

struct Issued {
  Certificate certificate{nullptr, &X509_free};
  Key key{nullptr, &EVP_PKEY_free};
};

// A null `issuer` makes a self-signed authority, null `alternatives` make a client certificate.
Issued issue(const char* name, long serial, const Issued* issuer, const char* alternatives) {
  Issued issued{Certificate(X509_new(), &X509_free), make_key()};
  X509* const certificate = issued.certificate.get();
  require(certificate != nullptr);
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 24L * 3600);
  X509_set_pubkey(certificate, issued.key.get());
  X509_NAME* const subject = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
  X509* const signer = issuer != nullptr ? issuer->certificate.get() : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(signer));
  add_extension(certificate, signer, NID_basic_constraints,
                issuer != nullptr ? "critical,CA:FALSE" : "critical,CA:TRUE");
  if (issuer != nullptr)
    add_extension(certificate, signer, NID_ext_key_usage, alternatives != nullptr ? "serverAuth" : "clientAuth");
  if (alternatives != nullptr) add_extension(certificate, signer, NID_subject_alt_name, alternatives);
  require(X509_sign(certificate, issuer != nullptr ? issuer->key.get() : issued.key.get(), EVP_sha256()) > 0);
  return issued;
}

template <class Write>
std::string pem(Write write) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> memory(BIO_new(BIO_s_mem()), &BIO_free);
  require(write(memory.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(const Certificate& certificate) {
  return pem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate.get()); });
}
std::string pem_of(const Key& key) {
  return pem([&](BIO* bio) { return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr); });
}

}  // namespace

TestCertificates TestCertificates::make(const std::string& authority_name) {
  const Issued authority = issue(authority_name.c_str(), 1, nullptr, nullptr);
  const Issued server = issue("localhost", 2, &authority, "DNS:localhost,IP:127.0.0.1,IP:::1");
  const Issued client = issue("system:node:test", 3, &authority, nullptr);
  return {pem_of(authority.certificate), pem_of(server.certificate), pem_of(server.key), pem_of(client.certificate),
          pem_of(client.key)};
}

}  // namespace cardcage
