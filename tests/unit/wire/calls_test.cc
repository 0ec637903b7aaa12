// Calls and replies reach a worker and the host unchanged.
#include "host/wire/calls.h"

#include <gmock/gmock.h>

#include <utility>
#include <vector>

namespace cardcage {
namespace {

using ::testing::ElementsAre;

// Returns the call as the worker reads it.
ModuleCall received(const ModuleCall& call) {
  wire::Request sent, arrived;
  write(call, sent);
  EXPECT_TRUE(arrived.ParseFromString(sent.SerializeAsString()));
  const auto read = read_call(arrived);
  EXPECT_TRUE(read) << name_of(call);
  return read.value_or(StopCall());
}

template <std::size_t... Index>
std::vector<ModuleCall> one_of_each(std::index_sequence<Index...>) {
  return {ModuleCall(std::in_place_index<Index>)...};
}

TEST(CallsTest, EveryCallArrivesAsItself) {
  for (const ModuleCall& call : one_of_each(std::make_index_sequence<std::variant_size_v<ModuleCall>>()))
    EXPECT_EQ(received(call).index(), call.index()) << name_of(call);
}

TEST(CallsTest, CallsArriveWithTheirArguments) {
  ModuleClaim claim;
  claim.ref.uid = "u1";
  EXPECT_EQ(std::get<PrepareCall>(received(PrepareCall(claim))).claim, claim);
  EXPECT_EQ(std::get<PrepareCall>(received(PrepareCall(claim, 3))).attempt, 3u);
  OptionValues options;
  options.entries["mode"] = {OptionValue("a"), true};
  EXPECT_EQ(std::get<ConfigureCall>(received(ConfigureCall(options))).options.entries, options.entries);
  const auto start = std::get<StartCall>(received(StartCall(options, {"/s", "/p", "/d", "/r"})));
  EXPECT_EQ(start.options.entries, options.entries);
  EXPECT_THAT((std::array{start.roots.sysfs, start.roots.procfs, start.roots.devfs, start.roots.driver}),
              ElementsAre("/s", "/p", "/d", "/r"));
  EXPECT_EQ(std::get<UnprepareCall>(received(UnprepareCall(claim))).claim, claim);
  EXPECT_EQ(std::get<BindCall>(received(BindCall(claim, 2))).claim, claim);
  EXPECT_EQ(std::get<BindCall>(received(BindCall(claim, 2))).attempt, 2u);
  const SandboxedPod pod{"p1", "ns", "pod", {}, {}};
  const auto attach = std::get<AttachCall>(received(AttachCall(claim, pod, 2)));
  EXPECT_EQ(attach.claim, claim);
  EXPECT_THAT((std::array{attach.pod.uid, attach.pod.name_space, attach.pod.name}), ElementsAre("p1", "ns", "pod"));
  EXPECT_EQ(attach.attempt, 2u);
  EXPECT_EQ(std::get<DetachCall>(received(DetachCall(claim, pod))).pod.name, "pod");
  EXPECT_EQ(std::get<PreStartCall>(received(PreStartCall(claim))).claim, claim);
  EXPECT_THAT(std::get<CheckCall>(received(CheckCall({"dev-1", "dev-0"}))).device_ids, ElementsAre("dev-1", "dev-0"));
  EXPECT_EQ(std::get<ResetCall>(received(ResetCall("dev-0"))).device_id, "dev-0");
  EXPECT_EQ(std::get<QuiesceDeviceCall>(received(QuiesceDeviceCall("dev-0"))).device_id, "dev-0");
  EXPECT_EQ(std::get<ResumeDeviceCall>(received(ResumeDeviceCall("dev-0"))).device_id, "dev-0");
  const EventBatch batch{{{EventType::kKernelLog, Instant(std::chrono::nanoseconds(7)), "NVRM: Xid"},
                          {EventType::kDescriptor, Instant(), "", 9}},
                         true};
  EXPECT_EQ(std::get<EventsCall>(received(EventsCall(batch))).batch, batch);
  const auto choose = std::get<ChooseCall>(received(ChooseCall({"a", "b"}, {"b"}, 2)));
  EXPECT_THAT(choose.available, ElementsAre("a", "b"));
  EXPECT_THAT(choose.required, ElementsAre("b"));
  EXPECT_EQ(choose.want, 2u);
}

TEST(CallsTest, OtherRequestsAreNotCalls) {
  wire::Request request;
  EXPECT_FALSE(read_call(request));
  request.mutable_ping();
  EXPECT_FALSE(read_call(request));
  request.mutable_live_claim();
  EXPECT_FALSE(read_call(request));
}

TEST(CallsTest, AReplyForAnotherNumberOfDevicesIsAnError) {
  PreparedEdits edits;
  edits.allocations.resize(2);
  wire::Answer answer;
  write(ModuleReply(edits), answer);
  EXPECT_EQ(std::get<PreparedEdits>(*ReplyReader(wire::Request::kPrepare, 2).finish(answer)), edits);
  EXPECT_EQ(ReplyReader(wire::Request::kPrepare, 3).finish(answer).error(),
            (Error{Code::kInternal, "its worker answered for 2 devices of 3"}));
}

TEST(CallsTest, ConditionsOfABindingArrive) {
  using Status = DeviceCondition::Status;
  const BindProgress progress{{},
                              {{"Ready", Status::kTrue, "Loaded", "", {}},
                               {"example.com/Attached", Status::kUnknown, "Asked", "no answer yet", {}},
                               {"Failed", Status::kFalse, "NoFault", "", {}}}};
  wire::Answer answer;
  write(ModuleReply(progress), answer);
  EXPECT_EQ(std::get<BindProgress>(*ReplyReader(wire::Request::kBind, 2).finish(answer)), progress);
  EXPECT_EQ(ReplyReader(wire::Request::kBind, 1).finish(answer).error(),
            (Error{Code::kInternal, "its worker answered for 2 devices of 1"}));
  answer.mutable_bound()->mutable_allocations(1)->mutable_conditions(0)->set_status(99);
  EXPECT_EQ(std::get<BindProgress>(*ReplyReader(wire::Request::kBind, 2).finish(answer))[1][0].status,
            Status::kUnknown);
}

TEST(CallsTest, NoMoreDevicesWereCheckedThanAsked) {
  wire::Answer answer;
  write(ModuleReply(std::size_t{2}), answer);
  EXPECT_EQ(std::get<std::size_t>(*ReplyReader(wire::Request::kCheck, 3).finish(answer)), 2u);
  EXPECT_EQ(ReplyReader(wire::Request::kCheck, 1).finish(answer).error(),
            (Error{Code::kInternal, "its worker has checked 2 devices of 1"}));
}

TEST(CallsTest, ASnapshotArrivesInParts) {
  const Device one{.id = "gpu-0", .name = "gpu-0", .kind = "gpu"}, two{.id = "gpu-1", .name = "gpu-1", .kind = "gpu"};
  wire::Answer first, second;
  write(one, *first.mutable_snapshot()->add_devices());
  write(two, *second.mutable_snapshot()->add_devices());
  second.mutable_snapshot()->add_left_out()->set_id("gpu 2");
  wire::LeftOutDevice& hidden = *second.mutable_snapshot()->add_not_offered();
  hidden.set_id("0000:3b:00.0");
  hidden.set_why("no\ndriver");
  ReplyReader reader(wire::Request::kDiscover, 0);
  reader.take(first);
  reader.take(second);
  const auto reply = reader.finish({});
  ASSERT_TRUE(reply) << reply.error().message;
  const Snapshot& snapshot = *std::get<SnapshotPtr>(*reply);
  EXPECT_THAT(snapshot.devices, ElementsAre(one, two));
  EXPECT_TRUE(snapshot.left_out.contains("gpu 2"));
  EXPECT_THAT(snapshot.not_offered, ElementsAre(::testing::Pair("0000:3b:00.0", "no?driver")));
}

TEST(CallsTest, ACatalogueArrivesInParts) {
  const CatalogueEntry one{.kind = "bitstream", .name = "aes", .detail = "AES", .attributes = {{"ecc", true}}},
      two{.kind = "bitstream", .name = "old", .refused = true};
  wire::Answer first, second;
  write(one, *first.mutable_catalogue()->add_entries());
  write(LeftOut{3, "catalogue entry 'x': why"}, *first.mutable_catalogue()->mutable_left_out());
  write(two, *second.mutable_catalogue()->add_entries());
  ReplyReader reader(wire::Request::kCollectCatalogue, 0);
  reader.take(first);
  reader.take(second);
  const auto reply = reader.finish({});
  ASSERT_TRUE(reply) << reply.error().message;
  const auto& catalogue = std::get<Catalogue>(*reply);
  EXPECT_THAT(catalogue.entries, ElementsAre(one, two));
  EXPECT_EQ(catalogue.left_out, (LeftOut{3, "catalogue entry 'x': why"}));
}

TEST(CallsTest, ACatalogueOfAHostileWorkerIsBounded) {
  wire::Answer answer;
  for (std::size_t i = 0; i < kMaxCatalogueEntries + 10; ++i)
    write(CatalogueEntry{.kind = "bitstream", .name = fmt::format("n{}", i), .detail = std::string(2000, 'x')},
          *answer.mutable_catalogue()->add_entries());
  answer.mutable_catalogue()->mutable_entries(0)->set_name("two\nlines");
  answer.mutable_catalogue()->mutable_entries(1)->set_kind("\xff");
  const auto reply = ReplyReader(wire::Request::kCollectCatalogue, 0).finish(answer);
  ASSERT_TRUE(reply) << reply.error().message;
  const auto& entries = std::get<Catalogue>(*reply).entries;
  EXPECT_EQ(entries.size(), kMaxCatalogueEntries);
  EXPECT_EQ(entries.front().name, "n2");
  EXPECT_EQ(entries.front().detail.size(), kMaxEntryDetail);
  EXPECT_EQ(std::get<Catalogue>(*reply).left_out.count, 10u);
  EXPECT_THAT(std::get<Catalogue>(*reply).left_out.first, ::testing::StartsWith("catalogue entry 'two?lines' breaks"));
}

TEST(CallsTest, TheTextOfACatalogueOfAHostileWorkerIsBounded) {
  ReplyReader reader(wire::Request::kCollectCatalogue, 0);
  Attributes attributes;
  for (int i = 0; i < 32; ++i) attributes[fmt::format("a{}", i)] = std::string(64, 'x');
  constexpr std::uint64_t kParts = 32, kEntries = 128;
  for (std::uint64_t part = 0; part < kParts; ++part) {
    wire::Answer answer;
    for (std::uint64_t i = 0; i < kEntries; ++i)
      write(CatalogueEntry{.kind = "bitstream", .name = fmt::format("n{}", i), .attributes = attributes},
            *answer.mutable_catalogue()->add_entries());
    reader.take(answer);
  }
  const auto reply = reader.finish({});
  ASSERT_TRUE(reply) << reply.error().message;
  const auto& catalogue = std::get<Catalogue>(*reply);
  EXPECT_GT(catalogue.entries.size(), 1000u);
  EXPECT_LT(catalogue.entries.size(), kMaxCatalogueText / (32 * 64));
  EXPECT_EQ(catalogue.entries.size() + catalogue.left_out.count, kParts * kEntries);
}

TEST(CallsTest, AnEntryOfAHostileWorkerWithBadAttributesIsLeftOut) {
  wire::Answer answer;
  const auto add = [&answer](const Attributes& attributes) {
    write(CatalogueEntry{.kind = "bitstream", .name = "aes", .attributes = attributes},
          *answer.mutable_catalogue()->add_entries());
  };
  Attributes many;
  for (int i = 0; i < 32; ++i) many[fmt::format("a{}", i)] = true;
  add(many);
  many["one_more"] = true;
  add(many);
  add({{"not a name", true}});
  add({{"long", std::string(65, 'x')}});
  add({{"broken", std::vector<std::string>{"good", "\xff"}}});
  add({{"version", SemVer{"1"}}});
  add({{"numbers", std::vector<std::int64_t>(49)}});
  const auto reply = ReplyReader(wire::Request::kCollectCatalogue, 0).finish(answer);
  ASSERT_TRUE(reply) << reply.error().message;
  const auto& catalogue = std::get<Catalogue>(*reply);
  EXPECT_EQ(catalogue.entries.size(), 1u);
  EXPECT_EQ(catalogue.left_out.count, 6u);
}

TEST(CallsTest, APartThatCannotBeReadFailsTheCall) {
  wire::Answer broken;
  write(Device{.id = "gpu-0"}, *broken.mutable_snapshot()->add_devices());
  broken.mutable_snapshot()->mutable_devices(0)->add_attributes()->set_kind(99);
  ReplyReader reader(wire::Request::kDiscover, 0);
  reader.take(broken);
  EXPECT_FALSE(reader.finish({}));
  wire::Answer entry;
  write(CatalogueEntry{.kind = "bitstream", .name = "aes"}, *entry.mutable_catalogue()->add_entries());
  wire::AttributeValue& attribute = *entry.mutable_catalogue()->mutable_entries(0)->add_attributes();
  attribute.set_name("ecc");
  attribute.set_kind(99);
  EXPECT_THAT(ReplyReader(wire::Request::kCollectCatalogue, 0).finish(entry).error().message,
              ::testing::StartsWith("catalogue entry 'aes': "));
}

}  // namespace
}  // namespace cardcage
