// SPDX-License-Identifier: Apache-2.0
// cardcage/sdk.hpp: modules in C++17 or later. Header only; needs the standard library and module.h, nothing else.
//
// Derive from cage::Module, pass the class to CARDCAGE_MODULE, and link with module.map:
//
//   class Acme final : public cage::Module {
//    public:
//     static constexpr std::string_view id = "com.acme.card", version = "1.0.0", vendor = "Acme";
//     Acme(const cage::Call&, cage::Host host, const cage::Values& options);
//     void discover(const cage::Call&, cage::Snapshot&) override;
//     void prepare(const cage::Call&, const cage::Claim&, cage::Edits&) override;
//     void unprepare(const cage::Call&, const cage::Claim&) override;
//   };
//   CARDCAGE_MODULE(Acme)
//
// Failures are exceptions: throw cage::Error; any other exception becomes INTERNAL with its text. None leaves the
// module [R9]. Every argument is borrowed for the call [R3]: keep copies, never views. Only Host may be kept, from the
// constructor to the end of the destructor, and used from any thread.
#ifndef CARDCAGE_SDK_HPP_
#define CARDCAGE_SDK_HPP_

#if __cplusplus < 201703L
#error "cardcage/sdk.hpp needs C++17 or later: compile with -std=c++17"
#else  // leaves out the rest, whose errors would hide this one

#include <cardcage/sdk/binding.hpp>
#include <cardcage/sdk/call.hpp>
#include <cardcage/sdk/catalogue.hpp>
#include <cardcage/sdk/claim.hpp>
#include <cardcage/sdk/device.hpp>
#include <cardcage/sdk/health.hpp>
#include <cardcage/sdk/options.hpp>
#include <cardcage/sdk/reports.hpp>
#include <cardcage/sdk/sandbox.hpp>
#include <cardcage/sdk/statement.hpp>
#include <cardcage/sdk/text.hpp>
#include <cardcage/sdk/watch.hpp>

#include <array>
#include <cstring>
#include <exception>
#include <iterator>
#include <new>

namespace cage {

// A request of the device-plugin API for the devices that a container should get.
struct Wish {
  std::vector<std::string_view> available, required;  // available includes required
  std::uint32_t count = 0;                            // including the required ones
};

// One running module. One thread makes all calls; with CAGE_MODULE_CONCURRENT in flags, calls for different claims,
// such as prepare, overlap on threads of their own, also with discover, check and prefer [R8]. The
// constructor takes (const Call&, Host, const Values& options). The host sees which functions a module does not
// override.
class Module {
 public:
  // A derived class may hide these; it must define id, version and vendor.
  static constexpr std::array<Option, 0> declared_options{};
  static constexpr std::tuple<> declared_metrics{};
  static constexpr std::array<cage_str, 0> declared_kernel_log{}, declared_uevents{};
  // Its kinds of parameters [R19].
  static constexpr std::array<Schema, 0> declared_schemas{};
  // The causes of bad health and their rules. Without any, the module may state any cause [R23].
  static constexpr std::array<Cause, 0> declared_causes{};
  // With CAGE_MODULE_NO_PREPARE kubelets may leave prepare and unprepare out: they do nothing [R26].
  static constexpr std::uint32_t flags = 0, state_version = 0;
  // Limit of prepare and unprepare, if it is longer than the host's own; at most an hour.
  static constexpr std::uint32_t claim_call_limit_s = 0;
  // The oldest minor of the host's ABI that the module works with: the one that added what it depends on.
  static constexpr std::uint32_t min_host_minor = 0;
  // Ids of families without which the module cannot work, such as cage::texts(CAGE_HOST_EXEC): a host that lacks one
  // refuses the file and names it. Without an entry an older host ignores a family that it does not know [R5].
  static constexpr std::array<cage_str, 0> needed_families{};

  Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;
  virtual ~Module() = default;

  virtual void discover(const Call&, Snapshot&) = 0;
  virtual void prepare(const Call&, const Claim&, Edits&) = 0;
  virtual void unprepare(const Call&, const Claim&) = 0;

  virtual void start(const Call&) {}
  virtual void stop(const Call&) {}
  // Checks one device and reports with Host::health().
  virtual void check(const Call&, std::string_view /*device*/) {}
  // Replaces all options. Only those with live() may have changed. If it throws, the module keeps its old options.
  virtual void configure(const Call&, const Values& /*options*/) {}
  // Releases the hardware, and takes it back [R12].
  virtual void quiesce(const Call&) {}
  virtual void resume(const Call&) {}
  // Do the same for one device and its partitions while the others stay in use. The host calls them only if both are
  // overridden.
  virtual void quiesce_device(const Call&, std::string_view /*device*/) {}
  virtual void resume_device(const Call&, std::string_view /*device*/) {}
  // Resets the hardware of a device and of its partitions, which no claim holds, and states its causes again [R24].
  virtual void reset(const Call&, std::string_view /*device*/) {}
  // A pod waits for devices of the claim that Snapshot::binding() was called for: begins or continues to make them
  // ready, and states their conditions. Called every few seconds; unprepare() follows if no pod waits any more [R25].
  virtual void bind(const Call&, const Claim&, Conditions&) {}
  // A pod with the prepared claim has its sandbox, and ends: moves the devices into it, and takes them back. The host
  // calls them only if both are overridden, attach() repeatedly, detach() not for every pod [R28].
  virtual void attach(const Call&, const Claim&, const Pod&) {}
  virtual void detach(const Call&, const Claim&, const Pod&) {}
  // Frees everything that no live claim holds.
  virtual void reconcile(const Call&, const std::vector<Claim>& /*live*/) {}
  virtual std::vector<std::string> prefer(const Call&, const Wish&) { return {}; }
  // Device-plugin API: resets or scrubs the device of the claim before a container starts [R15].
  virtual void pre_start(const Call&, const Claim&) {}
  // Reports every current sample of the declared metrics [R17].
  virtual void collect_metrics(const Call&, Samples&) {}
  // Reports every label that the node should have; called after each discover [R17].
  virtual void collect_labels(const Call&, Labels&) {}
  // Reports everything that claims may name in their parameters; called on an operator's request [R22].
  virtual void collect_catalogue(const Call&, Catalogue&) {}
  // Handles events that the module declares, or of a descriptor of Host::poll() [R20].
  virtual void events(const Call&, const Events&) {}
};

// Hidden even in a module that exports everything: two modules with classes of the same name would share other symbols.
#pragma GCC visibility push(hidden)
namespace detail {

// Turns exceptions into a status and an explanation, so that none leaves the module [R9].
template <class Function>
cage_status guarded(const cage_call* call, Function&& function) noexcept {
  const auto explain = [call](const char* text) {
    const std::size_t size = std::strlen(text);
    if (size > 0) call->explain(call, {text, size});
  };
  try {
    function();
    return CAGE_OK;
  } catch (const Error& error) {
    explain(error.what());
    return error.status() != CAGE_OK ? error.status() : CAGE_UNKNOWN;
  } catch (const std::bad_alloc&) {
    explain("out of memory");
    return CAGE_RESOURCE_EXHAUSTED;
  } catch (const std::exception& error) {
    explain(error.what());
    return CAGE_INTERNAL;
  } catch (...) {
    explain("threw something other than a std::exception");
    return CAGE_INTERNAL;
  }
}

// The C functions of a T, and the tables that list them.
template <class T>
struct Table {
  static T& self(cage_instance* instance) { return *reinterpret_cast<T*>(instance); }

  static cage_status create(const cage_call* call, const cage_host* host, const cage_values* options,
                            cage_instance** out) noexcept {
    return guarded(call,
                   [&] { *out = reinterpret_cast<cage_instance*>(new T(Call(call), Host(host), Values(options))); });
  }
  static void destroy(cage_instance* instance) noexcept { delete &self(instance); }
  static cage_status discover(cage_instance* instance, const cage_call* call, cage_snapshot* sink) noexcept {
    return guarded(call, [&] {
      Snapshot snapshot(sink);
      self(instance).discover(Call(call), snapshot);
    });
  }
  static cage_status prepare(cage_instance* instance, const cage_call* call, const cage_claim* claim,
                             cage_edits* sink) noexcept {
    return guarded(call, [&] {
      Edits edits(sink);
      self(instance).prepare(Call(call), Claim(claim), edits);
    });
  }
  static cage_status unprepare(cage_instance* instance, const cage_call* call, const cage_claim* claim) noexcept {
    return guarded(call, [&] { self(instance).unprepare(Call(call), Claim(claim)); });
  }
  static cage_status check(cage_instance* instance, const cage_call* call, cage_str device) noexcept {
    return guarded(call, [&] { self(instance).check(Call(call), view(device)); });
  }
  static cage_status quiesce_device(cage_instance* instance, const cage_call* call, cage_str device) noexcept {
    return guarded(call, [&] { self(instance).quiesce_device(Call(call), view(device)); });
  }
  static cage_status resume_device(cage_instance* instance, const cage_call* call, cage_str device) noexcept {
    return guarded(call, [&] { self(instance).resume_device(Call(call), view(device)); });
  }
  static cage_status reset(cage_instance* instance, const cage_call* call, cage_str device) noexcept {
    return guarded(call, [&] { self(instance).reset(Call(call), view(device)); });
  }
  static cage_status bind(cage_instance* instance, const cage_call* call, const cage_claim* claim,
                          cage_bind_sink* sink) noexcept {
    return guarded(call, [&] {
      Conditions conditions(sink);
      self(instance).bind(Call(call), Claim(claim), conditions);
    });
  }
  static cage_status pre_start(cage_instance* instance, const cage_call* call, const cage_claim* claim) noexcept {
    return guarded(call, [&] { self(instance).pre_start(Call(call), Claim(claim)); });
  }
  static cage_status attach(cage_instance* instance, const cage_call* call, const cage_claim* claim,
                            const cage_pod* pod) noexcept {
    return guarded(call, [&] { self(instance).attach(Call(call), Claim(claim), Pod(pod)); });
  }
  static cage_status detach(cage_instance* instance, const cage_call* call, const cage_claim* claim,
                            const cage_pod* pod) noexcept {
    return guarded(call, [&] { self(instance).detach(Call(call), Claim(claim), Pod(pod)); });
  }
  static cage_status configure(cage_instance* instance, const cage_call* call, const cage_values* options) noexcept {
    return guarded(call, [&] { self(instance).configure(Call(call), Values(options)); });
  }
  template <void (Module::*Function)(const Call&)>
  static cage_status simple(cage_instance* instance, const cage_call* call) noexcept {
    return guarded(call, [&] { (static_cast<Module&>(self(instance)).*Function)(Call(call)); });
  }
  static cage_status keep(cage_instance* instance, const cage_call* call, const cage_claim* const* live,
                          std::uint32_t live_count) noexcept {
    return guarded(call, [&] {
      std::vector<Claim> claims;
      for (std::uint32_t i = 0; i < live_count; ++i) claims.emplace_back(live[i]);
      self(instance).reconcile(Call(call), claims);
    });
  }
  static cage_status choose(cage_instance* instance, const cage_call* call, const cage_str* available,
                            std::uint32_t available_count, const cage_str* required, std::uint32_t required_count,
                            std::uint32_t want, cage_id_sink* sink) noexcept {
    return guarded(call, [&] {
      const Wish wish{views(available, available_count), views(required, required_count), want};
      for (const std::string& id : self(instance).prefer(Call(call), wish)) must(sink->id(sink, raw(id)));
    });
  }

  static cage_status collect_metrics(cage_instance* instance, const cage_call* call, cage_metrics_sink* sink) noexcept {
    return guarded(call, [&] {
      Samples samples(sink, metric_addresses.data(), metric_addresses.size());
      self(instance).collect_metrics(Call(call), samples);
    });
  }
  static cage_status collect_labels(cage_instance* instance, const cage_call* call, cage_label_sink* sink) noexcept {
    return guarded(call, [&] {
      Labels labels(sink);
      self(instance).collect_labels(Call(call), labels);
    });
  }
  static cage_status collect_catalogue(cage_instance* instance, const cage_call* call,
                                       cage_catalogue_sink* sink) noexcept {
    return guarded(call, [&] {
      Catalogue catalogue(sink);
      self(instance).collect_catalogue(Call(call), catalogue);
    });
  }

  static cage_status events(cage_instance* instance, const cage_call* call, const cage_event* const* list,
                            std::uint32_t count, std::uint32_t event_flags) noexcept {
    return guarded(call, [&] { self(instance).events(Call(call), copied_events(list, count, event_flags)); });
  }

  // The type of a member that T overrides names T, not Module. The table lists only such members.
  template <class Member>
  static constexpr bool overrides(Member) {
    return !std::is_same_v<Member, void (Module::*)(const Call&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, std::string_view)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, const Values&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, const std::vector<Claim>&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, const Claim&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, const Claim&, Conditions&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, const Claim&, const Pod&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, Samples&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, Labels&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, Catalogue&)> &&
           !std::is_same_v<Member, void (Module::*)(const Call&, const Events&)> &&
           !std::is_same_v<Member, std::vector<std::string> (Module::*)(const Call&, const Wish&)>;
  }

  static const void* extension(const char* id) noexcept {
    static constexpr cage_preferred preferred{sizeof(cage_preferred), 0, choose};
    static constexpr cage_pre_start before_start{sizeof(cage_pre_start), 0, pre_start};
    static constexpr cage_configure reconfigure{sizeof(cage_configure), 0, configure};
    static constexpr cage_quiesce quiesce{sizeof(cage_quiesce), 0, quiesce_device, resume_device};
    static constexpr cage_reset renew{sizeof(cage_reset), 0, reset};
    static constexpr cage_bind binder{sizeof(cage_bind), 0, bind};
    static constexpr cage_sandbox sandbox{sizeof(cage_sandbox), 0, attach, detach};
    static constexpr cage_reconcile reconcile{sizeof(cage_reconcile), 0, keep};
    static constexpr cage_metrics metrics{sizeof(cage_metrics), static_cast<std::uint32_t>(metric_list.size()),
                                          metric_list.data(), collect_metrics};
    static constexpr cage_labels labels{sizeof(cage_labels), 0, collect_labels};
    static constexpr cage_catalogue catalogue{sizeof(cage_catalogue), 0, collect_catalogue};
    static constexpr cage_watch watch{sizeof(cage_watch),
                                      0,
                                      kernel_log.data(),
                                      uevents.data(),
                                      static_cast<std::uint32_t>(kernel_log.size()),
                                      static_cast<std::uint32_t>(uevents.size()),
                                      events};
    if (overrides(&T::events) && std::strcmp(id, CAGE_EXT_WATCH) == 0) return &watch;
    if (overrides(&T::collect_metrics) && std::strcmp(id, CAGE_EXT_METRICS) == 0) return &metrics;
    if (overrides(&T::collect_labels) && std::strcmp(id, CAGE_EXT_LABELS) == 0) return &labels;
    if (overrides(&T::collect_catalogue) && std::strcmp(id, CAGE_EXT_CATALOGUE) == 0) return &catalogue;
    if (overrides(&T::prefer) && std::strcmp(id, CAGE_EXT_PREFERRED) == 0) return &preferred;
    if (overrides(&T::pre_start) && std::strcmp(id, CAGE_EXT_PRE_START) == 0) return &before_start;
    if (overrides(&T::configure) && std::strcmp(id, CAGE_EXT_CONFIGURE) == 0) return &reconfigure;
    if (overrides(&T::quiesce_device) && overrides(&T::resume_device) && std::strcmp(id, CAGE_EXT_QUIESCE) == 0)
      return &quiesce;
    if (overrides(&T::reset) && std::strcmp(id, CAGE_EXT_RESET) == 0) return &renew;
    if (overrides(&T::bind) && std::strcmp(id, CAGE_EXT_BIND) == 0) return &binder;
    if (overrides(&T::attach) && overrides(&T::detach) && std::strcmp(id, CAGE_EXT_SANDBOX) == 0) return &sandbox;
    if (overrides(&T::reconcile) && std::strcmp(id, CAGE_EXT_RECONCILE) == 0) return &reconcile;
    return nullptr;
  }

  // Copies, because what T declares is visible as T is.
  template <const auto& Declared, std::size_t... I>
  static constexpr std::array<decltype(Declared[0].raw), sizeof...(I)> copies(std::index_sequence<I...>) {
    return {Declared[I].raw...};
  }
  template <const auto& Declared, std::size_t... I>
  static constexpr std::array<decltype(&Declared[0]), sizeof...(I)> pointers(std::index_sequence<I...>) {
    return {&Declared[I]...};
  }
  template <std::size_t... I>
  static constexpr std::array<cage_cause, sizeof...(I)> copied_causes(std::index_sequence<I...>) {
    return {T::declared_causes[I].raw()...};
  }
  template <std::size_t N>
  static constexpr cage_metric copy(const Metric<N>& metric) {
    return {sizeof(cage_metric),
            metric.type,
            raw(metric.name),
            raw(metric.help),
            metric.labels.data(),
            static_cast<std::uint32_t>(N),
            0};
  }
  template <std::size_t... I>
  static constexpr std::array<cage_metric, sizeof...(I)> copied_metrics(std::index_sequence<I...>) {
    return {copy(std::get<I>(T::declared_metrics))...};
  }
  template <std::size_t... I>
  static constexpr std::array<const cage_metric*, sizeof...(I)> listed_metrics(std::index_sequence<I...>) {
    return {&metric_copies[I]...};
  }
  template <std::size_t... I>
  static constexpr std::array<const void*, sizeof...(I)> addresses(std::index_sequence<I...>) {
    return {&std::get<I>(T::declared_metrics)...};
  }
  using MetricIndices = std::make_index_sequence<std::tuple_size_v<std::remove_cv_t<decltype(T::declared_metrics)> > >;
  static constexpr auto metric_copies = copied_metrics(MetricIndices());
  static constexpr auto metric_list = listed_metrics(MetricIndices());
  static constexpr auto metric_addresses = addresses(MetricIndices());

  static constexpr auto kernel_log = T::declared_kernel_log;
  static constexpr auto uevents = T::declared_uevents;
  static constexpr auto needs = T::needed_families;

  using OptionIndices = std::make_index_sequence<std::size(T::declared_options)>;
  using SchemaIndices = std::make_index_sequence<std::size(T::declared_schemas)>;
  static constexpr auto option_copies = copies<T::declared_options>(OptionIndices());
  static constexpr auto option_list = pointers<option_copies>(OptionIndices());
  static constexpr auto schema_copies = copies<T::declared_schemas>(SchemaIndices());
  static constexpr auto schema_list = pointers<schema_copies>(SchemaIndices());

  using CauseIndices = std::make_index_sequence<std::size(T::declared_causes)>;
  static constexpr auto cause_copies = copied_causes(CauseIndices());
  static constexpr auto cause_list = pointers<cause_copies>(CauseIndices());

  static_assert(T::min_host_minor <= CAGE_ABI_MINOR, "min_host_minor is newer than this header");
  static constexpr cage_module table{
      CAGE_MAGIC,
      sizeof(cage_module),
      CAGE_ABI_MINOR,
      T::min_host_minor,
      T::flags,
      T::state_version,
      raw(T::id),
      raw(T::version),
      raw(T::vendor),
      option_list.data(),
      schema_list.data(),
      cause_list.data(),
      needs.data(),
      static_cast<std::uint32_t>(option_list.size()),
      static_cast<std::uint32_t>(schema_list.size()),
      static_cast<std::uint32_t>(cause_list.size()),
      static_cast<std::uint32_t>(needs.size()),
      T::claim_call_limit_s,
      0,
      create,
      overrides(&T::start) ? simple<&Module::start> : nullptr,
      discover,
      prepare,
      unprepare,
      overrides(&T::check) ? check : nullptr,
      overrides(&T::quiesce) ? simple<&Module::quiesce> : nullptr,
      overrides(&T::resume) ? simple<&Module::resume> : nullptr,
      overrides(&T::stop) ? simple<&Module::stop> : nullptr,
      destroy,
      extension,
  };
};

}  // namespace detail
#pragma GCC visibility pop
}  // namespace cage

// Defines the only symbol that a module exports. Use it once per module, at namespace scope.
#define CARDCAGE_MODULE(Type)                                                             \
  extern "C" CAGE_EXPORT const cage_module* cage_module_v1(uint32_t /*host_minor*/) {     \
    static_assert(std::is_base_of_v<cage::Module, Type>, #Type " is not a cage::Module"); \
    return &cage::detail::Table<Type>::table;                                             \
  }

#endif  // C++17
#endif  // CARDCAGE_SDK_HPP_
