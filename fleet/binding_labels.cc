#include "fleet/binding_labels.h"

#include <algorithm>
#include <boost/asio/experimental/awaitable_operators.hpp>

#include "fleet/object_key.h"
#include "host/apiserver/binding_label.h"
#include "host/core/cancellation.h"
#include "host/core/log.h"
#include "host/core/timestamp.h"
#include "host/model/namespaced_name.h"

namespace cardcage {
namespace {

using namespace std::chrono_literals;

// Daemons look at the Lease every two minutes.
constexpr Duration kRenewal = 30s;
// A label that is wrong for longer ends the renewals, so that daemons watch all claims themselves.
constexpr Duration kOverdue = 30s;
constexpr Duration kWriteLimit = 5s, kFirstPause = 1s, kLongestPause = 60s;
constexpr std::size_t kMaxResponse = std::size_t{4} << 20;

// The node that the scheduler chose; empty if the devices may be on several nodes.
std::string chosen_node(const json::object& allocation) {
  const json::array& terms = array_at(object_at(allocation, "nodeSelector"), "nodeSelectorTerms");
  if (terms.size() != 1) return "";
  for (const json::value& item : array_at(as_object(terms[0]), "matchFields")) {
    const json::object& field = as_object(item);
    const json::array& values = array_at(field, "values");
    if (text_at(field, "key") == "metadata.name" && text_at(field, "operator") == "In" && values.size() == 1 &&
        values[0].is_string())
      return std::string(values[0].get_string());
  }
  return "";
}

// Returns the label that the claim should have; empty = none.
std::string right_label(const json::object& claim, const std::set<std::string>& drivers) {
  const json::object& allocation = object_at(object_at(claim, "status"), "allocation");
  const bool binds =
      std::ranges::any_of(array_at(object_at(allocation, "devices"), "results"), [&](const json::value& item) {
        const json::object& result = as_object(item);
        return !array_at(result, "bindingConditions").empty() &&
               drivers.contains(std::string(text_at(result, "driver")));
      });
  return binds ? binding_label_of(chosen_node(allocation)) : "";
}

HttpRequest patch_request(std::string path, const json::object& changes) {
  HttpRequest request;
  request.method = "PATCH";
  request.path = std::move(path);
  request.content_type = "application/merge-patch+json";
  request.body = json::serialize(changes);
  request.max_body = kMaxResponse;
  return request;
}

}  // namespace

Result<BindingLabelOptions> binding_label_options(const std::vector<std::string>& drivers, std::string_view lease) {
  auto parts = parse_namespaced_name(lease);
  if (drivers.empty() || !parts)
    return fail(Code::kInvalidArgument, "labels for claims take a driver and a Lease, NAMESPACE/NAME; give both");
  return BindingLabelOptions{.drivers = {drivers.begin(), drivers.end()},
                             .name_space = std::move(parts->name_space),
                             .lease = std::move(parts->rest)};
}

BindingLabels::BindingLabels(asio::io_context& core, Clock& clock, ApiSession& session, BindingLabelOptions options)
    : clock_(clock), session_(session), options_(std::move(options)), changed_(core) {}

std::string BindingLabels::key(const json::object& claim) const { return key_of(claim); }

void BindingLabels::put(const json::object& claim) {
  const json::object& metadata = object_at(claim, "metadata");
  std::string right = right_label(claim, options_.drivers);
  if (text_at(object_at(metadata, "labels"), kBindingLabel) == right) {
    wrong_.erase(key_of(claim));
    return;
  }
  const Instant now = clock_.now();
  const auto [entry, is_new] = wrong_.try_emplace(key_of(claim));
  Wrong& wrong = entry->second;
  if (is_new) wrong.since = wrong.due = now;
  wrong.name_space = namespace_of(claim);
  wrong.name = name_of(claim);
  wrong.uid = text_at(metadata, "uid");
  wrong.label = std::move(right);
  changed_.wake();
}

void BindingLabels::remove(const json::object& claim) { wrong_.erase(key_of(claim)); }

void BindingLabels::keep(const std::unordered_set<std::string>& keys) {
  std::erase_if(wrong_, [&](const auto& known) { return !keys.contains(known.first); });
}

Task<void> BindingLabels::run(const ObjectWatch& claims) {
  using namespace asio::experimental::awaitable_operators;
  co_await (write_labels(claims) && renew(claims));
}

Task<void> BindingLabels::write_labels(const ObjectWatch& claims) {
  while (true) {
    const auto next = std::ranges::min_element(wrong_, {}, [](const auto& known) { return known.second.due; });
    if (next != wrong_.end() && next->second.due <= clock_.now())
      co_await write(claims, next->first);
    else
      co_await changed_.wait_until(clock_, next == wrong_.end() ? Instant::max() : next->second.due);
    const bool over = co_await cancelled();
    if (over) co_return;
  }
}

// May be repeated, also by another fleet. The UID protects a newer claim with the same name.
Task<void> BindingLabels::write(const ObjectWatch& claims, std::string which) {
  const Wrong wrong = wrong_.at(which);
  json::value label;
  if (!wrong.label.empty()) label = wrong.label;
  const json::object changes{
      {"metadata", json::object{{"uid", wrong.uid}, {"labels", json::object{{kBindingLabel, std::move(label)}}}}}};
  ApiCall call;
  call.what = fmt::format("label ResourceClaim '{}'", which);
  call.request = patch_request(claims.path_in(wrong.name_space) + "/" + wrong.name, changes);
  call.kind = CallKind::kUpdate;
  const auto written = co_await session_.call(std::move(call), clock_.now() + kWriteLimit);
  const auto known = wrong_.find(which);
  if (known == wrong_.end()) co_return;
  const bool replaced = !written && (written.error().code == Code::kNotFound || written.error().code == Code::kAborted);
  // If the claim has changed meanwhile, the next write covers the change.
  if ((written || replaced) && known->second.label == wrong.label && known->second.uid == wrong.uid) {
    wrong_.erase(known);
    co_return;
  }
  if (written || replaced) co_return;
  const int doublings = std::min(known->second.failures++, 6);
  known->second.due = clock_.now() + std::min(kFirstPause * (1 << doublings), kLongestPause);
  log_limited(LogLevel::kWarn, "binding-label", "cannot label a claim, so daemons may not find it by its label",
              {{"claim", which}, {"error", written.error().message}});
}

bool BindingLabels::is_complete(const ObjectWatch& claims) {
  const bool up_to_date = claims.state().listed && claims.state().connected;
  caught_up_ = up_to_date && (caught_up_ || wrong_.empty());
  const Instant overdue = clock_.now() - kOverdue;
  return caught_up_ && std::ranges::all_of(wrong_, [&](const auto& known) { return known.second.since > overdue; });
}

Task<void> BindingLabels::renew(const ObjectWatch& claims) {
  const std::string path =
      fmt::format("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{}", options_.name_space, options_.lease);
  while (true) {
    const bool complete = is_complete(claims);
    if (complete) {
      std::string now = timestamp(clock_.wall());
      now.insert(now.size() - 1, ".000000");  // a MicroTime of the API
      ApiCall call;
      call.what = fmt::format("renew Lease '{}/{}'", options_.name_space, options_.lease);
      call.request = patch_request(
          path, {{"spec", json::object{{"holderIdentity", "cardcage-fleet"}, {"renewTime", std::move(now)}}}});
      call.kind = CallKind::kUpdate;
      const auto renewed = co_await session_.call(std::move(call), clock_.now() + kWriteLimit);
      if (!renewed)
        log_limited(LogLevel::kWarn, "binding-lease", "cannot tell daemons that claims are labelled",
                    {{"error", renewed.error().message}});
    }
    // Check often until the first lists are complete.
    co_await clock_.sleep_for(complete ? kRenewal : kFirstPause);
    const bool over = co_await cancelled();
    if (over) co_return;
  }
}

}  // namespace cardcage
