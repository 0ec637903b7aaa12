// cagectl import NAME FILE: converts the configuration of another device plugin or DRA driver.
#include <cerrno>
#include <climits>
#include <cstdio>
#include <fstream>
#include <iostream>

#include "ctl/import/device_nodes.h"
#include "ctl/import/nvidia.h"
#include "ctl/import/sriov.h"
#include "ctl/import/toml.h"
#include "ctl/import/yaml_document.h"
#include "ctl/print.h"
#include "ctl/session.h"
#include "host/model/text_rules.h"

namespace cardcage {
namespace {

namespace json = boost::json;

constexpr std::size_t kMaxSize = 1u << 20;
constexpr const char* kExitCodes =
    "What has no counterpart is listed on stderr and at the end of the result.\n"
    "Exit codes: 0 nothing is lost, 1 FILE cannot be read or has mistakes, 2 wrong usage, 4 the result is written, "
    "but\n"
    "some settings have no counterpart or are unknown.";

// A program whose configuration can be imported.
struct Importer {
  const char *name, *author, *what, *about_file, *config;  // config: the meaning of the option --config
  ImportDraft (*import)(const YamlNode& document, const std::string& chosen, ImportRecord& record);
};
constexpr Importer kImporters[] = {
    {"nvidia", "NVIDIA", "from that of NVIDIA's device plugin, DRA driver or GPU operator; needs no daemon",
     "FILE is a configuration of NVIDIA's device plugin, or Helm values of that plugin, of NVIDIA's DRA driver or of "
     "the\n"
     "GPU operator, as 'helm get values RELEASE' prints them. ",
     "of Helm values with several configurations, this one", import_nvidia},
    {"sriov", "the SR-IOV network device plugin", "from that of the SR-IOV network device plugin; needs no daemon",
     "FILE is the ConfigMap of the SR-IOV network device plugin, as 'kubectl get configmap -o yaml' prints it, or the\n"
     "JSON of one of its keys. ",
     "of a ConfigMap with several keys, this one", import_sriov},
    {"generic-device-plugin", "generic-device-plugin", "from that of squat/generic-device-plugin; needs no daemon",
     "FILE is the configuration file of generic-device-plugin, or a ConfigMap with it. ",
     "of a ConfigMap with several keys, this one", import_generic_device_plugin},
    {"smarter-device-manager", "smarter-device-manager", "from that of smarter-device-manager; needs no daemon",
     "FILE is conf.yaml of smarter-device-manager, or a ConfigMap with it. ",
     "of a ConfigMap with several keys, this one", import_smarter_device_manager}};

struct ImportOptions {
  std::string file, config;
  std::filesystem::path output;
};

// Reads a file or a pipe, or stdin for "-".
Result<std::string> read_input(const std::string& file) {
  std::ifstream opened;
  errno = 0;
  if (file != "-") opened.open(file, std::ios::binary);
  std::istream& in = file == "-" ? std::cin : opened;
  std::string text(kMaxSize + 1, '\0');
  if (!in || !in.read(text.data(), static_cast<std::streamsize>(text.size())))
    if (!in.eof()) return fail_errno(errno == 0 ? EIO : errno, fmt::format("cannot read '{}'", file));
  text.resize(static_cast<std::size_t>(in.gcount()));
  if (text.size() > kMaxSize)
    return fail(Code::kInvalidArgument, "'{}' is larger than 1 MiB: no configuration is; name the right file", file);
  return text;
}

// Never replaces a file, unlike write_file_atomically.
Status write_new_file(const std::filesystem::path& path, const std::string& text) {
  std::FILE* file = std::fopen(path.c_str(), "wxe");
  if (file == nullptr && errno == EEXIST)
    return fail(Code::kAlreadyExists, "'{}' exists: remove it, or name another file with --output", path.native());
  if (file == nullptr) return fail_errno(errno, fmt::format("cannot write '{}'", path.native()));
  const bool is_written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  if (std::fclose(file) == 0 && is_written) return {};
  const int cause = errno;
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  return fail_errno(cause, fmt::format("cannot write '{}'", path.native()));
}

bool needs_attention(Fate fate) { return fate != Fate::kTranslated && fate != Fate::kNotNeeded; }

void report(const ImportRecord& record) {
  for (const ImportedSetting& setting : record.settings())
    if (needs_attention(setting.fate))
      print_error(fmt::format("{}: {}: {}: {}", setting.position.to_string(), setting.path, word_of(setting.fate),
                              setting.text));
}

json::object import_json(const ImportOptions& options, const ImportDraft& draft, const ImportRecord& record,
                         const std::string& toml) {
  json::array settings;
  for (const ImportedSetting& setting : record.settings())
    settings.push_back({{"path", setting.path},
                        {"position", setting.position.to_string()},
                        {"state", word_of(setting.fate)},
                        {"text", text_json(setting.text)}});
  return {{"file", options.file},
          {"form", draft.form},
          {"output", text_json(options.output.native())},
          {"config", toml},
          {"settings", std::move(settings)}};
}

Status import_file(Session& session, const Importer& importer, const ImportOptions& options) {
  const auto text = read_input(options.file);
  if (!text) return std::unexpected(text.error());
  const std::string name = printable(options.file == "-" ? "stdin" : options.file, PATH_MAX);
  const auto document = read_yaml(*text, name);
  if (!document) return std::unexpected(ConfigErrors{{document.error()}}.to_error());
  ImportRecord record(name, importer.author);
  const ImportDraft draft = importer.import(*document, options.config, record);
  if (record.failed()) return std::unexpected(record.errors().to_error());
  const std::string toml =
      render_toml(fmt::format("Made by 'cagectl import {}' from {}, {}.", importer.name, name, draft.form),
                  draft.tables, record.settings());
  if (!options.output.empty())
    if (auto written = write_new_file(options.output, toml); !written) return written;
  session.incomplete = record.is_incomplete();
  report(record);
  if (session.json)
    print_json(import_json(options, draft, record, toml));
  else if (options.output.empty())
    fmt::print("{}", toml);
  else
    fmt::print("wrote '{0}'; check it: cardcage --check {0}\n", printable(options.output.native()));
  return {};
}

}  // namespace

void add_import(CLI::App& app, Session& session) {
  auto* import = app.add_subcommand("import", "write a configuration from that of another vendor's program");
  import->require_subcommand(1);
  for (const Importer& importer : kImporters) {
    auto* command = import->add_subcommand(importer.name, importer.what);
    command->footer(std::string(importer.about_file) + kExitCodes);
    auto options = std::make_shared<ImportOptions>();
    command->add_option("FILE", options->file, "YAML; - for stdin")->required();
    command->add_option("--config", options->config, importer.config)->type_name("TEXT");
    command->add_option("--output", options->output, "write to this file, which must not exist; default: stdout")
        ->type_name("PATH");
    command->callback([&session, &importer, options] { session.outcome = import_file(session, importer, *options); });
  }
}

}  // namespace cardcage
