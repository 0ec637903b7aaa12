#include "modules/fpga/bitstream/checksum.h"

#include <openssl/evp.h>
#include <cardcage/sdk/text.hpp>

#include <array>

#include "modules/fpga/bitstream/uuid.h"

namespace cardcage::fpga {
namespace {

void must(int result) {
  if (result != 1)
    throw cage::Error(
        CAGE_UNAVAILABLE,
        "OpenSSL does not compute SHA-256, so no bitstream can be checked; look at this node's openssl.cnf");
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const { ::EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(::EVP_MD_CTX_new()) {
  must(context_ != nullptr ? 1 : 0);
  must(::EVP_DigestInit_ex(context_.get(), ::EVP_sha256(), nullptr));
}

void Sha256::add(std::span<const char> bytes) { must(::EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size())); }

std::string Sha256::finish() {
  std::array<std::byte, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  must(::EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(digest.data()), &size));
  return hex_of(std::span(digest).first(size));
}

}  // namespace cardcage::fpga
