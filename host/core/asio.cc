// Compiles Asio's own code once: BOOST_ASIO_SEPARATE_COMPILATION keeps it out of every other file.
#include <boost/asio/impl/src.hpp>
