#include "ctl/module_new.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "ctl/print.h"
#include "host/core/file.h"
#include "host/model/naming.h"

namespace cardcage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxName = 32;  // leaves room for the socket paths of the template's desk.toml
constexpr std::size_t kMaxTemplate = 1u << 20;

struct NewModule {
  std::string name, language;
  fs::path folder, templates;
};

// Checks the name, which becomes a part of file names, identifiers, a driver's name and the module's id.
Status check_name(const std::string& name) {
  if (is_dns_label(name) && name.size() <= kMaxName && name[0] >= 'a') return {};
  return fail(Code::kInvalidArgument,
              "'{}' cannot name a module: write at most {} lower-case letters, digits and '-', a letter first and no "
              "'-' at the end",
              name, kMaxName);
}

// Finds the templates beside this program, wherever the installation is.
Result<fs::path> installed_templates() {
  std::error_code failed;
  const fs::path self = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return fail(Code::kUnavailable, "cannot find the templates: /proc/self/exe: {}", failed.message());
  return (self.parent_path() / CARDCAGE_TEMPLATES).lexically_normal();
}

std::string replaced(std::string text, std::string_view word, std::string_view value) {
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; at += value.size())
    text.replace(at, word.size(), value);
  return text;
}

std::string filled_in(std::string text, const NewModule& module) {
  std::string identifier = module.name;
  std::ranges::replace(identifier, '-', '_');
  text = replaced(std::move(text), "@NAME@", module.name);
  return replaced(std::move(text), "@IDENT@", identifier);
}

Result<std::vector<fs::path>> files_below(const fs::path& folder) {
  std::error_code failed;
  std::vector<fs::path> files;
  for (fs::recursive_directory_iterator each(folder, failed), end; !failed && each != end; each.increment(failed))
    if (each->is_regular_file()) files.push_back(each->path());
  if (failed)
    return fail(Code::kNotFound,
                "no templates in '{}' ({}): install Cardcage's files for vendors, or name their folder with "
                "--templates",
                folder.native(), failed.message());
  std::ranges::sort(files);
  return files;
}

// Appends the names of the written files to `written`.
Status copy_template(const NewModule& module, const fs::path& from, std::vector<std::string>& written) {
  const auto files = files_below(from);
  if (!files) return std::unexpected(files.error());
  for (const fs::path& file : *files) {
    const auto text = read_file(file, kMaxTemplate);
    if (!text) return std::unexpected(text.error());
    const fs::path name = file.lexically_relative(from);
    const fs::path target = module.folder / name;
    if (auto made = make_folder(target.parent_path(), 0755); !made) return made;
    if (auto saved = write_file_atomically(target, filled_in(*text, module), 0644, false); !saved) return saved;
    written.push_back(name.native());
  }
  return {};
}

// A module in Rust contains the crate, so that it builds on every machine, and changes with the vendor's own commits.
Status copy_crate(const NewModule& module) {
  const fs::path from = module.templates.parent_path() / "rust", to = module.folder / "cardcage";
  std::error_code failed;
  fs::create_directory(to, failed);
  for (const char* part : {"Cargo.toml", "src"})
    if (!failed) fs::copy(from / part, to / part, fs::copy_options::recursive, failed);
  if (!failed) return {};
  return fail(Code::kNotFound, "cannot copy the crate in '{}' ({}): install Cardcage's files for vendors",
              from.native(), failed.message());
}

Result<std::vector<std::string>> write_module(const NewModule& module) {
  std::error_code failed;
  if (fs::exists(fs::symlink_status(module.folder, failed)))
    return fail(Code::kAlreadyExists, "'{}' exists: remove it, or name another folder with --folder",
                module.folder.native());
  std::vector<std::string> written;
  Status copied = copy_template(module, module.templates / "common", written);
  if (copied) copied = copy_template(module, module.templates / module.language, written);
  if (copied && module.language == "rust") copied = copy_crate(module);
  if (!copied) {
    fs::remove_all(module.folder, failed);
    return std::unexpected(copied.error());
  }
  std::ranges::sort(written);
  return written;
}

Status create_module(const Session& session, NewModule module) {
  if (auto checked = check_name(module.name); !checked) return checked;
  if (module.folder.empty()) module.folder = module.name;
  if (module.templates.empty()) {
    auto installed = installed_templates();
    if (!installed) return std::unexpected(installed.error());
    module.templates = std::move(*installed);
  }
  module.templates = fs::absolute(module.templates / "").parent_path();  // removes a trailing slash
  const auto files = write_module(module);
  if (!files) return std::unexpected(files.error());
  if (session.json) {
    print_json({{"module", module.name},
                {"language", module.language},
                {"folder", module.folder.native()},
                {"files", strings_json(*files)}});
    return {};
  }
  fmt::print("module '{}' is in '{}': {}\n", module.name, printable(module.folder.native()), fmt::join(*files, ", "));
  fmt::print("README.md says how to build and try it\n");
  return {};
}

}  // namespace

void add_module_new(CLI::App& module, Session& session) {
  auto* command = module.add_subcommand("new", "write a new module that builds and runs, to start from");
  auto options = std::make_shared<NewModule>();
  command->add_option("NEW", options->name, "the module's name: lower-case letters, digits and '-'")->required();
  command->add_option("--language", options->language, "c, cpp or rust")
      ->required()
      ->type_name("LANGUAGE")
      ->check(CLI::IsMember({"c", "cpp", "rust"}));
  command->add_option("--folder", options->folder, "where to write it; default: a folder with its name")
      ->type_name("FOLDER");
  command->add_option("--templates", options->templates, "where the templates are; default: as installed")
      ->type_name("FOLDER");
  command->callback([&session, options] { session.outcome = create_module(session, *options); });
}

}  // namespace cardcage
