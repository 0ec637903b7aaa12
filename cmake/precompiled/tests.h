// The same for test programs.
#pragma once

#include <gmock/gmock.h>

#include <boost/asio/use_future.hpp>
#include <fstream>
#include <thread>

#include "cmake/precompiled/libraries.h"
