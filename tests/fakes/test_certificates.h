// A certificate authority for one test, created when the test runs: the tree holds no keys and none expires.
#pragma once

#include <string>

namespace cardcage {

// PEM. The server's certificate is for localhost, 127.0.0.1 and ::1; the client's is for "system:node:test".
struct TestCertificates {
  std::string ca;
  std::string server, server_key;
  std::string client, client_key;

  static TestCertificates make(const std::string& authority = "cardcage test authority");
};

}  // namespace cardcage
