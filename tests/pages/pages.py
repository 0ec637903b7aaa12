"""Reads the commands of the pages that people copy from, and finds the test that runs each.

A test runs what the page says: it takes its commands from run_by(__file__). `commands.py` checks that no command is left out.
"""

import re
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "docs/install.md", "docs/troubleshooting.md", "docs/tutorial-operator.md", "docs/tutorial-vendor.md")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HERE_DOCUMENT = re.compile(r"<<-?\s*'?\"?(\w+)")


@dataclass(frozen=True)
class Block:
    """A fenced block and its heading."""
    page: str
    heading: str
    language: str
    text: str


@dataclass(frozen=True)
class Command:
    page: str
    heading: str
    text: str


@dataclass(frozen=True)
class Rule:
    """Commands of a page that one test runs, selected by headings, by their first words, or by both."""
    test: str
    page: str
    headings: tuple[str, ...] = ()  # none = all
    begins: str = ""
    # The source of the test must match this pattern. For the cluster suite, which calls its own helpers and not run_by().
    pattern: str = ""

    def has(self, command: Command) -> bool:
        return (command.page == self.page and (not self.headings or command.heading in self.headings)
                and command.text.startswith(self.begins))


# The first rule that has a command counts.
RULES = (
    Rule("tests/cluster/daemon.py", "docs/install.md", begins="kubectl -n cardcage rollout status daemonset/cardcage",
         pattern=r'kubectl\("rollout", "status", .*"daemonset/cardcage"'),
    Rule("tests/cluster/daemon.py", "docs/install.md", begins="kubectl -n cardcage exec daemonset/cardcage -- cagectl status",
         pattern=r'\bcagectl\("status"'),
    Rule("tests/cluster/daemon.py", "docs/troubleshooting.md", begins="kubectl -n cardcage exec ds/cardcage -- cagectl status",
         pattern=r'\bcagectl\("status"'),
    Rule("tests/cluster/images.py", "docs/install.md", begins="ctr --namespace k8s.io images import",
         pattern=r'"ctr", .*"--namespace=k8s\.io", "images", "import"'),
    Rule("tests/package/test_install_page.py", "docs/install.md", headings=("Packages and systemd",)),
    Rule("tests/package/test_image.py", "docs/install.md", headings=("Image",)),
    Rule("tests/chart/test_install_commands.py", "docs/install.md", headings=(
        "Helm", "Verify", "The first pod", "Figures and alerts", "Plain manifests", "Upgrade, rollback, uninstall")),
    Rule("tests/chart/test_install_commands.py", "README.md", headings=("A minute on a cluster",)),
    Rule("tests/pages/tutorial.py", "docs/tutorial-operator.md"),
    Rule("tests/chart/test_vendor_node.py", "docs/tutorial-vendor.md", headings=("A cluster in five commands",)),
    Rule("tests/pages/tutorial.py", "docs/tutorial-vendor.md"),
)


def blocks(page: str) -> list[Block]:
    text = (SOURCE / page).read_text(encoding="utf-8")
    prose = FENCE.sub(lambda found: " " * len(found[0]), text)
    headings = [(match.start(), match[1]) for match in re.finditer(r"^#+ (.*)$", prose, re.MULTILINE)]
    found = []
    for fence in FENCE.finditer(text):
        above = [title for start, title in headings if start < fence.start()]
        found.append(Block(page, above[-1] if above else "", fence[1], fence[2]))
    return found


def split(text: str) -> list[str]:
    """The commands of a shell block: continued lines are joined, and a here-document stays with its command."""
    commands: list[str] = []
    end = ""  # the end of the open here-document
    for line in text.replace("\\\n", " ").splitlines():
        if end:
            commands[-1] += "\n" + line
            end = "" if line.strip() == end else end
            continue
        if not line.strip() or line.startswith("#"):
            continue
        commands.append(line)
        if found := HERE_DOCUMENT.search(line):
            end = found[1]
    return [command if "\n" in command else " ".join(command.split()) for command in commands]


def commands(*pages: str) -> list[Command]:
    return [Command(block.page, block.heading, text) for page in pages or PAGES for block in blocks(page) if block.language == "sh"
            for text in split(block.text)]


def rule_of(command: Command) -> Rule | None:
    return next((rule for rule in RULES if rule.has(command)), None)


def run_by(test: str, page: str) -> list[str]:
    """The commands of a page that a test runs, in their order. `test` is its __file__."""
    name = str(Path(test).resolve().relative_to(SOURCE))
    return [command.text for command in commands(page) if (rule := rule_of(command)) and rule.test == name]
