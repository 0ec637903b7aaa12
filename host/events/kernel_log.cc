#include <fcntl.h>

#include <array>
#include <cerrno>

#include "host/events/kernel_sources.h"

namespace cardcage {
namespace {

using Outcome = RecordReader::Outcome;

// A read into a smaller buffer than the record fails; the kernel's own has 8 KiB at most.
using Buffer = std::array<char, 16u << 10>;

Error cannot_read(int error_number, const std::filesystem::path& place) {
  const Error why = fail_errno(error_number, fmt::format("cannot read '{}'", place.native())).error();
  return {why.code, why.message + ": the daemon needs this file, and root or CAP_SYSLOG to read it"};
}

Result<Outcome> read_record(int descriptor, Buffer& buffer, const std::filesystem::path& place,
                            const std::function<void(const KernelMessage&)>& heard) {
  const ssize_t size = ::read(descriptor, buffer.data(), buffer.size());
  if (size == 0) return std::unexpected(cannot_read(EPIPE, place));  // a pipe without a writer, in tests
  if (size > 0) {
    if (const auto message = read_kernel_record({buffer.data(), static_cast<std::size_t>(size)})) heard(*message);
    return Outcome::kRead;
  }
  switch (errno) {
    case EAGAIN: return Outcome::kNothing;
    case EPIPE: return Outcome::kLost;  // the log has overwritten the next record
    case EINTR: return Outcome::kRead;
    default: return std::unexpected(cannot_read(errno, place));
  }
}

}  // namespace

Result<std::unique_ptr<RecordReader>> watch_kernel_log(asio::io_context& core, Clock& clock,
                                                       const std::filesystem::path& place,
                                                       KernelListener<KernelMessage> listener) {
  UniqueFd file(::open(place.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
  if (!file) return std::unexpected(cannot_read(errno, place));
  if (::lseek(file.get(), 0, SEEK_END) < 0 && errno != ESPIPE) return std::unexpected(cannot_read(errno, place));
  RecordReader::Listener records;
  records.read = [buffer = std::make_shared<Buffer>(), place, heard = std::move(listener.heard)](int descriptor) {
    return read_record(descriptor, *buffer, place, heard);
  };
  records.lost = std::move(listener.lost);
  records.failed = std::move(listener.failed);
  return std::make_unique<RecordReader>(core, clock, std::move(file), std::move(records));
}

}  // namespace cardcage
