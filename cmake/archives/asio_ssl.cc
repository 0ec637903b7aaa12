// Asio's TLS; host/core/asio.cc has the rest of Asio.
#include <boost/asio/ssl/impl/src.hpp>
