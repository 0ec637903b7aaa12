// fake-fpga serve ROOT CARD...: serves cards below ROOT until SIGTERM or SIGINT.
// fake-fpga write FOLDER CARD...: writes them as plain files.
// fake-fpga bitstream FILE INTERFACE FUNCTION: writes a GBS file that the cards accept.
// fake-fpga ROOT COMMAND...: changes the cards that are served there.
#include <pthread.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <vector>

#include "sim/fpga/bitstream_files.h"
#include "sim/fpga/control.h"

using cardcage::FakeFpgas;
namespace fake_fpga = cardcage::fake_fpga;

namespace {

constexpr int kBadUsage = 2;

int usage() {
  std::fprintf(stderr,
               "usage: fake-fpga serve ROOT [--node-number MAJOR:MINOR] [--single-open] [--firmware FOLDER] CARD...\n"
               "  CARD is n3000, d5005, four-ports, n6001, u250 or kria, and @ADDRESS\n"
               "       fake-fpga write FOLDER CARD...\n"
               "       fake-fpga bitstream FILE INTERFACE FUNCTION\n"
               "       fake-fpga ROOT COMMAND ...\n%s",
               fake_fpga::usage().c_str());
  return kBadUsage;
}

int serve(const std::string& root, const std::vector<std::string>& words) {
  FakeFpgas::Options options{.folder = std::filesystem::absolute(root)};
  std::vector<FakeFpgas::Card> cards;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == "--single-open") {
      options.single_open = true;
    } else if (words[i] == "--node-number" && i + 1 < words.size()) {
      options.node_number = words[++i];
    } else if (words[i] == "--firmware" && i + 1 < words.size()) {
      options.firmware = words[++i];
    } else if (words[i].starts_with("-")) {
      return usage();
    } else {
      cards.push_back(fake_fpga::described(words[i]));
    }
  }
  // Block signals before the first thread starts, which would otherwise receive them.
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGTERM);
  ::sigaddset(&ending, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  // A server that was killed has left its mount behind.
  struct stat status{};
  if (::stat(options.folder.c_str(), &status) < 0 && errno == ENOTCONN) ::umount2(options.folder.c_str(), MNT_DETACH);
  std::filesystem::create_directories(options.folder);
  FakeFpgas fpgas(std::move(cards), options);
  if (!fpgas.mounted()) {
    std::fprintf(stderr, "fake-fpga: nothing can be mounted at %s: it takes root and /dev/fuse\n", root.c_str());
    return 1;
  }
  const fake_fpga::ControlSocket control(fpgas);
  std::printf("ready\n");
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&ending, &signal);
  return 0;
}

int write_bitstream(const std::string& file, const std::string& interface, const std::string& function) {
  cardcage::GbsFile gbs;
  gbs.interface_uuid = interface;
  gbs.function_uuid = function;
  gbs.data = cardcage::fake_payload(function);
  return std::ofstream(file, std::ios::binary) << cardcage::make_gbs(gbs) << std::flush ? 0 : 1;
}

int write(const std::string& folder, const std::vector<std::string>& words) {
  std::vector<FakeFpgas::Card> cards;
  for (const std::string& word : words) cards.push_back(fake_fpga::described(word));
  fake_fpga::write_tree(folder, std::move(cards));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return usage();
  const std::vector<std::string> words(argv + 2, argv + argc);
  try {
    if (std::string(argv[1]) == "serve") return serve(words[0], {words.begin() + 1, words.end()});
    if (std::string(argv[1]) == "write") return write(words[0], {words.begin() + 1, words.end()});
    if (std::string(argv[1]) == "bitstream" && words.size() == 3) return write_bitstream(words[0], words[1], words[2]);
    const auto [ok, text] = fake_fpga::ask(std::filesystem::absolute(argv[1]), words);
    if (!ok) throw std::runtime_error(words[0] + ": " + text);
    std::fputs(text.c_str(), stdout);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fake-fpga: %s\n", error.what());
    return 1;
  }
}
