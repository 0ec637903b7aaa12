#include "host/apiserver/http.h"

#include "host/apiserver/curl_multi.h"
#include "host/core/cancellation.h"

namespace cardcage {

HttpClient::HttpClient(asio::io_context& core, Duration silence_limit)
    : multi_(std::make_shared<CurlMulti>(core, silence_limit)) {}

HttpClient::~HttpClient() = default;

Task<Result<HttpResponse>> HttpClient::request(std::shared_ptr<const HttpPeer> peer, HttpRequest request,
                                               Duration timeout) {
  CurlTransfer transfer(multi_, std::move(peer), std::move(request), CurlTransfer::Mode::kWhole);
  if (!transfer.start(timeout)) co_return fail(Code::kInternal, "libcurl refused the request");
  while (!transfer.ended()) {
    auto progress = co_await transfer.progress();
    if (!progress) co_return std::unexpected(std::move(progress.error()));
  }
  co_return transfer.take_response();
}

Task<Result<HttpResponse>> HttpClient::stream(std::shared_ptr<const HttpPeer> peer, HttpRequest request,
                                              Duration timeout, std::function<void()> on_begin,
                                              std::function<Status(std::string_view line)> on_line) {
  CurlTransfer transfer(multi_, std::move(peer), std::move(request), CurlTransfer::Mode::kLines);
  if (!transfer.start(timeout)) co_return fail(Code::kInternal, "libcurl refused the request");
  for (bool begun = false;;) {
    if (!begun && transfer.streams_lines()) {
      begun = true;
      on_begin();
    }
    while (auto line = transfer.next_line()) {
      if (auto taken = on_line(*line); !taken) co_return std::unexpected(std::move(taken.error()));
    }
    if (transfer.ended()) co_return transfer.take_response();
    // on_line may have cancelled us
    if (is_cancelled(co_await asio::this_coro::cancellation_state))
      co_return fail(Code::kCancelled, "the stream was cancelled");
    auto progress = co_await transfer.progress();
    if (!progress) co_return std::unexpected(std::move(progress.error()));
  }
}

}  // namespace cardcage
