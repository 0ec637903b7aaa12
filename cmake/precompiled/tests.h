// The large headers that most test programs include.
#pragma once

#include <gmock/gmock.h>

#include <boost/asio/use_future.hpp>
#include <fstream>
#include <thread>

#include "cmake/precompiled/libraries.h"
